#pragma once
// For tests: members that receive a datagram when the test delivers it, or never.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "proto/test_tree.hpp"

namespace sumac::proto::test {

/// A group at one node that has multicast; all its members listen. Each has 2 OSTs.
struct MulticastGroup : StandingGroup {
  explicit MulticastGroup(std::uint32_t size)
      : StandingGroup(size, {}, grant(8, 4), {.invitation = kInvitation}), values(size) {
    for (auto& group : groups) group->listen(true);
  }

  /// Rank `rank` posts a sum of one number of its own.
  bool post(std::uint32_t rank, std::uint64_t token, std::int64_t value) {
    auto& box = values[rank].emplace_back(std::make_unique<std::int64_t>(value));
    Operation o{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::int64, .count = 1};
    o.src = std::as_bytes(std::span(box.get(), 1));
    o.dst = std::as_writable_bytes(std::span(box.get(), 1));
    o.token = token;
    return groups[rank]->post(o, tree.now).has_value();
  }
  void post_all(std::uint64_t token) {
    for (std::uint32_t rank = 0; rank < groups.size(); ++rank) ASSERT_TRUE(post(rank, token, rank + token));
  }
  ClientGroup::Heard hear(std::uint32_t rank, const TestTree::End::Datagram& datagram) {
    return hear(rank, datagram.header, datagram.data);
  }
  ClientGroup::Heard hear(std::uint32_t rank, const wire::AggHeader& header, std::span<const std::byte> data) {
    return groups[rank]->on_multicast(header, tree.frame(header, data), tree.now);
  }
  /// Delivers messages to the node; its answers stay in flight.
  void run_upwards() { tree.run_to(node); }

  std::vector<std::vector<std::unique_ptr<std::int64_t>>> values;
};

}  // namespace sumac::proto::test
