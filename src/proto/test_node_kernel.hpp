#pragma once
// For tests and seeds: a node's kernel in the datagram way, made of the machine of src/hop. It does what program.bpf.c does with a frame.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "hop/machine.h"
#include "proto/datagram_node.hpp"
#include "wire/hop_frame.hpp"

namespace sumac::proto::test {

class TestKernel final : public DatagramNode {
 public:
  /// Takes what the kernel sends.
  class Wire {
   public:
    virtual void carry(const TestKernel& from, LinkId to, std::span<const std::byte> datagram) = 0;
    /// The frame differs from what the others have sent, the first of them `other`: it goes to the daemon.
    virtual void differs(const HopHeader& frame, std::uint64_t agreed, std::uint32_t other) = 0;

   protected:
    ~Wire() = default;
  };

  TestKernel(Wire& wire, std::uint32_t window) : wire_(wire), window_(window) {}

  std::optional<Terms> reserve(std::uint32_t children) override {
    if (!serves || children > kHopChildren) return std::nullopt;
    // A number is used again: only the keys tell the frames of one group from those of the former.
    auto place = std::ranges::find(groups_, Use::none, &One::use);
    if (place == groups_.end()) place = groups_.emplace(place);
    *place = One{.use = Use::reserved};
    Terms terms{
        .end = {.port = 7, .group = static_cast<std::uint16_t>(place - groups_.begin()), .payload_max = kPayloadMax},
        .window = window_};
    ++nonces_;
    std::memcpy(terms.nonce.data(), &nonces_, sizeof nonces_);
    return terms;
  }
  bool begin(const Group& group) override {
    if (!begins) return false;
    One& one = groups_[group.number];
    one.group = group;
    one.place = place_of(group);
    one.slots.resize(one.place.slots);
    for (std::uint32_t i = 0; i < one.place.slots; ++i)
      hop_begin(&one.slots[i], number_of(group.first), one.place.slots, i);
    one.use = Use::begun;
    return true;
  }
  void end(std::uint16_t number) override { groups_[number].use = Use::none; }
  void let_go(std::uint16_t number) override { groups_[number].use = Use::left; }
  std::optional<Begun> begun(std::uint16_t number, Sequence sequence) override {
    const One& one = groups_[number];
    const HopSlot& slot = one.slots[number_of(sequence) & (one.place.slots - 1)];
    if (slot.sequence != number_of(sequence) || slot.claimed == 0 || slot.is_closed) return std::nullopt;
    return Begun{slot.agreed, static_cast<std::uint32_t>(std::countr_zero(slot.claimed))};
  }
  Sequence freeze(std::uint16_t number, Sequence from) override {
    One& one = groups_[number];
    for (HopSlot& slot : one.slots) hop_freeze(&slot);
    const auto is_answered = [&](std::uint32_t n) { return hop_is_answered(&one.slots[n & (one.place.slots - 1)], n); };
    // Numbers that lie a window before one that was begun are answered, whatever their slots hold now.
    std::uint32_t first = number_of(from);
    for (const HopSlot& slot : one.slots)
      if (const auto ahead = static_cast<std::int32_t>(slot.sequence + 1 - first);
          ahead > static_cast<std::int32_t>(one.group.window))
        first = slot.sequence + 1 - one.group.window;
    while (is_answered(first)) ++first;
    return Sequence{first};
  }

  void probe_parent(std::uint16_t number, std::uint32_t probe) override {
    const One& one = groups_[number];
    HopFrame frame{};
    frame.header.kind = kHopProbe;
    frame.header.child = one.group.terms_of_parent.child;
    frame.header.sequence = probe;
    send(one.group.parent, one.group.terms_of_parent.group, frame, one.group.up);
  }
  std::optional<std::uint32_t> probed(std::uint16_t number) override {
    const One& one = groups_[number];
    return one.is_heard ? std::optional(one.probed) : std::nullopt;
  }

  std::size_t groups() const { return static_cast<std::size_t>(std::ranges::count(groups_, Use::begun, &One::use)); }
  /// Those that their node has forgotten.
  std::size_t left() const { return static_cast<std::size_t>(std::ranges::count(groups_, Use::left, &One::use)); }
  /// Has it a child at this link?
  bool serves_link(LinkId link) const {
    return std::ranges::any_of(groups_, [&](const One& one) {
      return one.answers() && std::ranges::any_of(one.group.children, [&](const Child& c) { return c.link == link; });
    });
  }
  /// It does what program.bpf.c does with a datagram that came from the other end of this link.
  void receive(LinkId link, std::span<const std::byte> bytes) {
    HopFrame frame{};
    if (is_silent) return;
    std::memcpy(&frame, bytes.data(), bytes.size());
    const HopHeader& header = frame.header;
    if (header.group >= groups_.size() || !groups_[header.group].answers()) return;
    One& one = groups_[header.group];
    const bool is_from_parent = header.kind == kHopResult || header.kind == kHopProbed;
    if (header.child >= one.place.children) return;
    const Child& child = one.group.children[header.child];
    const HopKey& key = is_from_parent ? one.group.results_of_parent : child.key;
    if (link != (is_from_parent ? one.group.parent : child.link) ||
        header.tag != hop_tag(&key, &header, &frame.payload, hop_words(&header)))
      return;
    one.is_heard = one.is_heard || is_from_parent;
    if (header.kind == kHopProbed) {
      one.probed = std::max(one.probed, header.sequence);
      return;
    }
    if (header.kind == kHopProbe) {
      frame.header.kind = kHopProbed;
      return send(child.link, child.end.group, frame, one.group.results);
    }
    HopSlot& slot = one.slots[header.sequence & (one.place.slots - 1)];
    HopWork work = hop_claim(&one.place, &slot, &header);
    if (work.todo & kHopStore) {
      hop_store(&slot.buffers, &frame.payload, hop_words(&header), work.part);
      work = hop_stored(&one.place, &slot, &header);
    }
    if (work.todo & kHopFold) {
      hop_fold(&slot.buffers, &header, &one.place, slot.given);
      work = hop_folded(&one.place, &slot, &header);
    }
    if (work.todo & kHopDaemon)
      wire_.differs(header, slot.agreed, static_cast<std::uint32_t>(std::countr_zero(slot.claimed)));
    HopFrame out = frame;
    if (work.flags & kHopValue) out.payload = slot.buffers.value;
    if (work.todo & kHopUp) {
      out.header.kind = kHopContribute;
      out.header.flags = static_cast<std::uint8_t>(work.flags & (kHopFull | kHopValue));
      out.header.child = one.group.terms_of_parent.child;
      send(one.group.parent, one.group.terms_of_parent.group, out, one.group.up);
    }
    out.header.kind = kHopResult;
    out.header.flags = static_cast<std::uint8_t>(work.flags & (kHopValue | kHopClosed));
    out.header.child = 0;
    for (std::uint32_t i = 0; i < one.place.children; ++i)
      if ((work.todo & kHopDown) || ((work.todo & kHopBack) && i == header.child))
        send(one.group.children[i].link, one.group.children[i].end.group, out, one.group.results);
  }

  bool serves = true, begins = true;
  bool is_silent = false;  ///< No datagram reaches it.

 private:
  enum class Use : std::uint8_t { none, reserved, begun, left };
  struct One {
    bool answers() const noexcept { return use == Use::begun || use == Use::left; }
    Group group;
    HopPlace place{};
    std::vector<HopSlot> slots;
    std::uint32_t probed = 0;
    bool is_heard = false;  ///< A frame of the parent has come.
    Use use = Use::none;
  };
  void send(LinkId to, std::uint16_t group, HopFrame frame, const HopKey& key) {
    frame.header.group = group;
    wire::HopFrameBytes bytes;
    wire_.carry(*this, to, wire::seal_hop_frame(frame, key, bytes));
  }

  static constexpr std::uint16_t kPayloadMax = 64;

  Wire& wire_;
  const std::uint32_t window_;
  std::uint32_t nonces_ = 0;
  std::deque<One> groups_;
};

}  // namespace sumac::proto::test
