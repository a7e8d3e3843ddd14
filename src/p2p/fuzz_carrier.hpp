#pragma once
// The fuzzers of this folder share two things: a carrier that refuses every seventh message, and the arrival of a message.
#include <algorithm>
#include <array>
#include <vector>

#include "base/fuzz_input.hpp"
#include "p2p/engine.hpp"

namespace sumac::p2p {

class FuzzCarrier final : public Carrier {
 public:
  Errc send(std::uint32_t peer, std::span<const std::byte> head, const Payload& body) override {
    if (++sends_ % 7 == 0) return Errc::again;
    taken_.at(peer) += head.size() + body.bytes.size();
    return Errc::ok;
  }
  std::uint64_t taken(std::uint32_t peer) const override { return taken_.at(peer); }
  std::uint64_t left(std::uint32_t peer) const override { return taken_.at(peer); }
  void on_failed() override { has_failed = true; }
  void detach(std::uint32_t) override {}
  bool has_failed = false;

 private:
  std::array<std::uint64_t, 3> taken_{};
  unsigned sends_ = 0;
};

/// Hands a message to the engine as the transport does: into memory that the engine names, or else whole. Up to `whole_max`
/// bytes of payload always come whole.
inline void arrive(Engine& engine, BufferPool& pool, std::uint32_t peer, const std::vector<std::byte>& message,
                   std::size_t whole_max) {
  const std::size_t payload = message.size() - wire::kPeerHeaderBytes;
  const auto head = std::span(message).first<wire::kPeerHeaderBytes>();
  const auto place = payload > whole_max ? engine.on_head(peer, head, payload) : std::span<std::byte>{};
  if (!place.empty()) {
    fuzz::must(place.size() == payload, "the memory has the message's size");
    std::ranges::fill(place, std::byte{0x22});
    engine.on_placed(peer);
    return;
  }
  const BufferRef frame = pool.acquire(message.size());
  std::ranges::copy(message, frame.data());
  engine.on_message(peer, frame);
}

}  // namespace sumac::p2p
