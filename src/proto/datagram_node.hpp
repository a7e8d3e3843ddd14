#pragma once
// A node's kernel in the datagram way (docs/protocol.md): it answers small operations of a group, and the node only begins and
// ends the group there.
#include <cstdint>
#include <optional>
#include <vector>

#include "hop/machine.h"
#include "proto/link.hpp"

namespace sumac::proto {

/// A node's shell implements it.
class DatagramNode {
 public:
  struct Terms {
    wire::DatagramEnd
        end{};  ///< This node takes datagrams of the group there; its payload is what fits so many children.
    std::uint32_t window = 0;  ///< The largest, a power of two.
    wire::Nonce nonce{};
  };
  struct Child {
    LinkId link{};  ///< Its datagrams come from this connection's address.
    wire::DatagramEnd end{};
    HopKey key{};
    std::uint32_t alone = kHopMany;  ///< The rank of the only member below it.
  };
  struct Merge {
    std::uint16_t left = 0, right = 0;  ///< children
  };
  struct Group {
    std::uint16_t number = 0;  ///< Terms::end.group
    std::uint32_t window = 0, payload_max = 0;
    Sequence first{};
    std::vector<Child> children{};
    std::vector<Merge> merges{};  ///< HopPlace::merge
    HopKey results{};             ///< The key of results for the children.
    LinkId parent{};              ///< None at the group's root.
    wire::DatagramsBody terms_of_parent{};
    HopKey up{}, results_of_parent{};
  };

  /// Takes a number for a group of so many children. Nothing: there is no room, or the kernel takes no datagrams.
  virtual std::optional<Terms> reserve(std::uint32_t children) = 0;
  /// From now on the kernel answers. False: it does not, and end() must follow.
  virtual bool begin(const Group& group) = 0;
  /// Gives the number of reserve() back.
  virtual void end(std::uint16_t number) = 0;
  /// The same, but the kernel goes on to answer the group's datagrams until its members have had time to go elsewhere.
  virtual void let_go(std::uint16_t number) = 0;
  struct Begun {
    std::uint64_t agreed = 0;  ///< HopSlot::agreed
    std::uint32_t child = 0;   ///< The first that has contributed.
  };
  /// Has a child contributed this number as a datagram, and some other not yet?
  virtual std::optional<Begun> begun(std::uint16_t number, Sequence sequence) = 0;
  /// From now on the kernel answers only what it has answered. Returns the first number not before `from` that it has not.
  virtual Sequence freeze(std::uint16_t number, Sequence from) = 0;
  /// Sends the parent's kernel this probe of the group, under a number above the former one's. It may be lost.
  virtual void probe_parent(std::uint16_t number, std::uint32_t probe) = 0;
  /// Returns the last probe that the parent's kernel has answered, or 0. Nothing: no datagram of it has come here so far.
  virtual std::optional<std::uint32_t> probed(std::uint16_t number) = 0;

 protected:
  ~DatagramNode() = default;
};

inline HopPlace place_of(const DatagramNode::Group& group) noexcept {
  HopPlace place{};
  place.children = static_cast<std::uint32_t>(group.children.size());
  place.slots = 2 * group.window;
  place.is_root = !group.parent ? 1 : 0;
  for (std::size_t i = 0; i < group.children.size(); ++i) place.alone[i] = group.children[i].alone;
  for (const auto& each : group.merges) place.merge[place.merges++] = {each.left, each.right};
  return place;
}

}  // namespace sumac::proto
