#pragma once
// For tests: the kernels of a TestTree's nodes, made of the machine of src/hop, and the network between them and the members, which may
// lose datagrams.
#include <deque>
#include <vector>

#include "base/random.hpp"
#include "hop/machine.h"
#include "proto/datagram_node.hpp"
#include "proto/test_tree.hpp"
#include "wire/hop_frame.hpp"

namespace sumac::proto::test {

struct DatagramNetwork {
  double loss = 0, copies = 0;  ///< probabilities
  bool reorders = false;
};

class Kernels {
 public:
  class Kernel final : public DatagramNode {
   public:
    Kernel(Kernels& all, std::uint32_t window) : all_(all), window_(window) {}

    std::optional<Terms> reserve(std::uint32_t children) override {
      if (!serves || children > kHopChildren) return std::nullopt;
      groups_.emplace_back();
      Terms terms{.end = {.port = 7, .group = static_cast<std::uint16_t>(groups_.size() - 1), .payload_max = 64},
                  .window = window_};
      terms.nonce[0] = static_cast<std::uint8_t>(groups_.size());
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
      one.stands = true;
      return true;
    }
    void end(std::uint16_t number) override { groups_[number].stands = false; }
    std::optional<Begun> begun(std::uint16_t number, Sequence sequence) override {
      const One& one = groups_[number];
      const HopSlot& slot = one.slots[number_of(sequence) & (one.place.slots - 1)];
      if (slot.sequence != number_of(sequence) || slot.claimed == 0 || slot.is_closed) return std::nullopt;
      return Begun{slot.agreed, static_cast<std::uint32_t>(std::countr_zero(slot.claimed))};
    }
    Sequence freeze(std::uint16_t number, Sequence from) override {
      One& one = groups_[number];
      for (HopSlot& slot : one.slots) hop_freeze(&slot);
      const auto is_answered = [&](std::uint32_t n) {
        return hop_is_answered(&one.slots[n & (one.place.slots - 1)], n);
      };
      // Numbers that lie a window before one that was begun are answered, whatever their slots hold now.
      std::uint32_t first = number_of(from);
      for (const HopSlot& slot : one.slots)
        if (const auto ahead = static_cast<std::int32_t>(slot.sequence + 1 - first);
            ahead > static_cast<std::int32_t>(window_))
          first = slot.sequence + 1 - window_;
      while (is_answered(first)) ++first;
      return Sequence{first};
    }

    std::size_t groups() const {
      return static_cast<std::size_t>(std::ranges::count_if(groups_, [](const One& one) { return one.stands; }));
    }
    /// Has it a child at this link?
    bool serves_link(LinkId link) const {
      return std::ranges::any_of(groups_, [&](const One& one) {
        return one.stands && std::ranges::any_of(one.group.children, [&](const Child& c) { return c.link == link; });
      });
    }
    /// It does what program.bpf.c does with a datagram that came from the other end of this link.
    void receive(LinkId link, std::span<const std::byte> bytes) {
      HopFrame frame{};
      std::memcpy(&frame, bytes.data(), bytes.size());
      const HopHeader& header = frame.header;
      if (header.group >= groups_.size() || !groups_[header.group].stands) return;
      One& one = groups_[header.group];
      const bool is_result = header.kind == kHopResult;
      if (header.child >= one.place.children) return;
      const Child& child = one.group.children[header.child];
      const HopKey& key = is_result ? one.group.results_of_parent : child.key;
      if (link != (is_result ? one.group.parent : child.link) ||
          header.tag != hop_tag(&key, &header, &frame.payload, hop_words(&header)))
        return;
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
        all_.differing.push_back({header, slot.agreed, static_cast<std::uint32_t>(std::countr_zero(slot.claimed))});
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

   private:
    struct One {
      Group group;
      HopPlace place{};
      std::vector<HopSlot> slots;
      bool stands = false;
    };
    void send(LinkId to, std::uint16_t group, HopFrame frame, const HopKey& key) {
      frame.header.group = group;
      wire::HopFrameBytes bytes;
      all_.queue_.push_back({this, to, to_vector(wire::seal_hop_frame(frame, key, bytes))});
    }
    static std::vector<std::byte> to_vector(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

    Kernels& all_;
    const std::uint32_t window_;
    std::deque<One> groups_;
  };

  Kernels(TestTree& tree, std::uint64_t seed, const DatagramNetwork& network = {}, std::uint32_t window = 4)
      : random(seed), tree_(tree), network_(network), window_(window) {
    tree.take_datagram = [this](LinkId to, std::span<const std::byte> frame) {
      queue_.push_back({nullptr, to, {frame.begin(), frame.end()}});
    };
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  Kernel& add(TestTree::End& node) {
    kernels_.emplace_back(&node, std::make_unique<Kernel>(*this, window_));
    node.kernel = kernels_.back().second.get();
    return *kernels_.back().second;
  }

  /// Delivers one datagram, or loses it. Returns false if none is under way.
  bool step(std::span<TestTree::End* const> clients) {
    if (queue_.empty()) return false;
    if (network_.reorders) std::swap(queue_.front(), queue_[random.below(std::min<std::size_t>(queue_.size(), 8))]);
    const Datagram datagram = std::move(queue_.front());
    queue_.pop_front();
    if (random.chance(network_.loss)) return true;
    if (random.chance(network_.copies)) queue_.push_back(datagram);
    // A link belongs to the end that connected, and to the node that has it as a child.
    for (const auto& [node, kernel] : kernels_)
      if (kernel.get() != datagram.from && (node->up == datagram.link || kernel->serves_link(datagram.link)))
        return kernel->receive(datagram.link, datagram.bytes), true;
    for (TestTree::End* client : clients)
      if (datagram.from != nullptr && client->up == datagram.link)
        client->client->on_datagram(datagram.bytes, tree_.now);
    return true;
  }

  struct Differing {
    HopHeader frame;
    std::uint64_t agreed;
    std::uint32_t other;
  };
  std::vector<Differing> differing;
  Random random;

 private:
  struct Datagram {
    const Kernel* from;  ///< Null: a member's.
    LinkId link;
    std::vector<std::byte> bytes;
  };
  TestTree& tree_;
  const DatagramNetwork network_;
  const std::uint32_t window_;
  std::vector<std::pair<TestTree::End*, std::unique_ptr<Kernel>>> kernels_;
  std::deque<Datagram> queue_;
};

}  // namespace sumac::proto::test
