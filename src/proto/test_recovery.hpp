#pragma once
// For tests: a group of proto::recovery::Group on one node, whose members' messages wait until the test delivers them. Its small
// operations may go as datagrams.
#include <deque>

#include "proto/recovery_group.hpp"
#include "proto/test_kernel.hpp"

namespace sumac::proto::test {

inline Operation sum_of(std::vector<std::uint64_t>& values) {
  Operation operation{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::uint64, .count = values.size()};
  operation.src = std::as_bytes(std::span(values));
  operation.dst = std::as_writable_bytes(std::span(values));
  return operation;
}

struct LastingGroup {
  struct End final : recovery::Peers {
    void send(std::uint32_t to, std::span<const std::byte> head, const Payload& data) override {
      auto& message = world->queue.emplace_back(Message{rank, to, {head.begin(), head.end()}});
      message.bytes.insert(message.bytes.end(), data.bytes.begin(), data.bytes.end());
    }
    void drop(std::uint32_t, const Error& why) override { drops.push_back(why.context); }

    LastingGroup* world = nullptr;
    std::uint32_t rank = 0;
    std::unique_ptr<recovery::Group> group;
    std::vector<std::string> drops;
  };
  struct Message {
    std::uint32_t from, to;
    std::vector<std::byte> bytes;
  };

  explicit LastingGroup(std::uint32_t size, std::uint32_t stream_window = 0, bool has_datagrams = false,
                        std::uint32_t lock_batch = 0, bool are_kernels_silent = false)
      : node(tree.add_node(100)) {
    if (has_datagrams) kernels.add(node);
    if (are_kernels_silent) tree.take_datagram = nullptr;
    if (auto granted = node.node->grant(grant()); !granted) throw std::runtime_error(granted.error().context);
    for (std::uint32_t rank = 0; rank < size; ++rank) clients.push_back(&tree.add_client(node, rank));
    clients[0]->client->open(1, size, tree.now);
    tree.run();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      ClientGroupConfig config{.job_id = kJob,
                               .tree_id = kTree,
                               .group_id = clients[0]->client->open_outcome(1).group_id,
                               .rank = rank,
                               .world_rank = WorldRank{rank},
                               .group_size = size,
                               .osts = 2,
                               .stream_window = stream_window,
                               .payload_per_ost = 128,
                               .chunk_bytes = stream_window == 0 ? 0u : 512u,
                               .lock_batch = lock_batch};
      config.path.entries[0] = {NodeId{100}, size};
      config.path.length = 1;
      if (has_datagrams) config.datagrams.port = static_cast<std::uint16_t>(1000 + rank);
      auto& end = ends.emplace_back();
      end.world = this;
      end.rank = rank;
      auto made = recovery::Group::make(config, *clients[rank]->client, *clients[rank], end);
      if (!made) throw std::runtime_error(made.error().context);
      end.group = std::move(*made);
      end.group->start(tree.now);
    }
    run();
  }

  recovery::Group& operator[](std::size_t rank) { return *ends[rank].group; }
  /// The node's machine is gone.
  void lose_tree() {
    for (auto* client : clients) tree.cut(client->up, Errc::timeout);
  }
  /// The node's daemon is gone, and its kernel goes on.
  void lose_links() {
    for (auto* client : clients) client->client->on_closed(Error{Errc::lost, "killed by the test"}, tree.now);
  }
  void pass(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      tree.now += Millis(1);
      for (auto* client : clients)
        if (client->client->next_due() <= tree.now) client->client->tick(tree.now);
      run();
    }
  }
  /// Delivers everything that is under way, on the tree and between the members.
  void run() {
    for (bool more = true; more;) {
      do tree.run();
      while (kernels.step(clients));
      for (auto& end : ends) end.group->run(tree.now);
      more = !queue.empty();
      for (auto& message : std::exchange(queue, {}))
        ends[message.to].group->on_message(message.from, message.bytes, tree.now);
    }
  }

  TestTree tree;
  Kernels kernels{tree, 1};
  TestTree::End& node;
  std::vector<TestTree::End*> clients;
  std::deque<Message> queue;
  std::deque<End> ends;
};

}  // namespace sumac::proto::test
