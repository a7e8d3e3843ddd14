// The fuzzer's bytes become messages of two members to a third one, which takes some, keeps some, sends some and withdraws
// some. Whatever arrives, nothing is written outside of the messages' memory, none ends twice, what comes early is bounded,
// and at the end every message has ended.
#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "base/fuzz_target.hpp"
#include "p2p/fuzz_carrier.hpp"

namespace {

using namespace sumac;
using namespace sumac::p2p;

constexpr std::uint32_t kSize = 3, kGroup = 7;
constexpr std::uint64_t kEagerMax = 128, kPartMax = 300;
constexpr std::size_t kMargin = 64, kMost = 1500;

struct Message {
  std::vector<std::byte> memory;
  std::size_t bytes = 0;
  bool is_over = false;
};

class User final : public MessageEvents {
 public:
  explicit User(fuzz::Input& in) : in_(in) {}
  Message& make(std::size_t bytes) {
    return messages.emplace_back(Message{std::vector<std::byte>(bytes + 2 * kMargin, std::byte{0x33}), bytes});
  }
  void end(void* cookie) {
    auto& message = *static_cast<Message*>(cookie);
    fuzz::must(!message.is_over, "a message ends once");
    message.is_over = true;
  }

  std::deque<Message> messages;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offers;  ///< Those to be answered: member and number.
  std::vector<std::uint64_t> sizes;
  std::array<std::uint32_t, kSize> kept{}, extended{};

 private:
  bool on_arrived(std::uint32_t peer, std::uint32_t, std::span<const std::byte> bytes) override {
    fuzz::must(bytes.size() + sizeof(wire::MessageBody) <= kEagerMax, "a short message is short");
    const bool is_kept = in_.byte() % 2 == 0;
    kept[peer] += is_kept ? 1 : 0;
    return !is_kept;
  }
  Answer on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t, std::uint64_t bytes) override {
    const auto what = in_.byte() % 3;
    if (what == 0 || bytes > kMost) return {.what = Answer::What::drop};
    if (what == 1) {
      offers.emplace_back(peer, number);
      sizes.push_back(bytes);
      return {};
    }
    Message& message = make(bytes);
    return {Answer::What::take, message.memory.data() + kMargin, &message};
  }
  void on_received(void* cookie) override { end(cookie); }
  void on_sent(void* cookie) override { end(cookie); }
  void on_note(std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void on_left(std::uint32_t) override { has_left = true; }
  void on_failed(const Error&) override { has_failed = true; }

 public:
  bool has_left = false, has_failed = false;

 private:
  fuzz::Input& in_;
};

}  // namespace

SUMAC_FUZZ(messages) {
  fuzz::Input in(data, size);
  FuzzCarrier carrier;
  BufferPool pool(64u << 20);
  User user(in);
  Engine engine(
      {.rank = 0, .size = kSize, .group = kGroup, .eager_max = kEagerMax, .messages = &user, .part_max = kPartMax},
      carrier, pool);
  Messages& messages = *engine.messages();
  std::array<std::uint32_t, kSize> next{};
  while (!in.empty() && !engine.failure()) {
    const auto what = in.byte();
    const std::uint32_t peer = 1 + (what & 1);
    switch ((what >> 1) & 7) {
      case 0: {
        const std::size_t bytes = in.byte() * 6;
        Message& message = user.make(bytes);
        if (!messages.post(peer, in.byte(), std::span(message.memory).subspan(kMargin, bytes), &message))
          message.is_over = true;
        continue;
      }
      case 1: {
        if (user.offers.empty()) continue;
        const auto [from, number] = user.offers.back();
        Message& message = user.make(user.sizes.back());
        user.offers.pop_back();
        user.sizes.pop_back();
        if (!messages.take(from, number, message.memory.data() + kMargin, &message)) message.is_over = true;
        continue;
      }
      case 2:
        if (!user.messages.empty()) {
          Message& message = user.messages[in.byte() % user.messages.size()];
          const bool is_known = messages.withdraw(&message);
          fuzz::must(is_known != message.is_over || user.has_left, "messages under way are known");
          message.is_over = true;
        }
        continue;
      case 3:
        if (messages.is_stuck(peer)) messages.extend(peer), ++user.extended[peer];
        engine.on_writable(peer);
        continue;
      default: break;
    }
    wire::PeerHeader h;
    h.group = kGroup;
    h.kind = static_cast<wire::PeerKind>(9 + in.byte() % 7);
    if (h.kind == wire::PeerKind::leave && in.byte() != 0) h.kind = wire::PeerKind::part;
    const auto some = in.byte();
    wire::MessageBody body{
        .bytes = std::uint64_t{in.byte()} * (some & 7u), .tag = some, .reserved = in.byte() == 255 ? 1u : 0};
    std::size_t payload = 0;
    h.sequence = h.kind == wire::PeerKind::leave ? 0 : some & 15;
    if (h.kind == wire::PeerKind::message || h.kind == wire::PeerKind::offer) {
      payload = sizeof body + (h.kind == wire::PeerKind::message ? body.bytes : 0);
      if (some != 0) h.sequence = next[peer]++;
    }
    if (h.kind == wire::PeerKind::take || h.kind == wire::PeerKind::note) h.index = 1 + (some >> 7);
    if (h.kind == wire::PeerKind::part) {
      h.index = some >> 4;
      payload = (what & 0x80) != 0 ? kPartMax : body.bytes;
    }
    h.payload_bytes = static_cast<std::uint32_t>(payload);
    std::vector<std::byte> message(wire::kPeerHeaderBytes + payload, std::byte{0x11});
    wire::store(message.data(), h);
    if (payload >= sizeof body) wire::store(message.data() + wire::kPeerHeaderBytes, body);
    arrive(engine, pool, peer, message, kEagerMax);
    engine.settle({});
    fuzz::must(user.kept[peer] <= kMessagesAhead * (1 + user.extended[peer]), "what comes early is bounded");
  }
  engine.fail({Errc::lost, "the end"});
  fuzz::must(user.has_failed, "the user was told");
  for (Message& message : user.messages) {
    fuzz::must(!messages.withdraw(&message), "no message is under way behind the end");
    for (std::size_t i = 0; i < message.memory.size(); ++i)
      if (i < kMargin || i >= kMargin + message.bytes)
        fuzz::must(message.memory[i] == std::byte{0x33}, "nothing is written outside");
  }
  return 0;
}
