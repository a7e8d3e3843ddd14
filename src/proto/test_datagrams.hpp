#pragma once
// For tests and seeds: a group whose small operations go as datagrams beside its messages by links, with the kernels' machine of
// src/hop in its nodes. Every result is compared with one that is computed separately.
#include <fmt/ranges.h>

#include "proto/test_kernel.hpp"

namespace sumac::proto::test {

inline constexpr std::uint32_t kWords = 8, kLarge = 40;  // 8 words are the most of a datagram here.

struct DatagramCall {
  wire::Coll coll;
  std::uint32_t root = 0, words = 0;
  bool streams = false;
};

/// A root with two members at a leaf and one of its own, or everything at one node.
struct DatagramWorld {
  struct Plan {
    bool has_two_levels = false;
    std::uint64_t seed = 1;
    DatagramNetwork network{};
    Sequence first{};
    bool outlives = false;  ///< Somebody repeats datagrams while a member computes.
  };
  explicit DatagramWorld(const Plan& plan)
      : root(tree.add_node(100, true, {.first_sequence = plan.first})),
        leaf(tree.add_node(101, false)),
        kernels(tree, plan.seed, plan.network),
        has_two_levels(plan.has_two_levels),
        outlives(plan.outlives) {
    for (auto* node : {&root, &leaf})
      if (!node->node->grant(grant())) throw std::runtime_error("grant");
    at_root = &kernels.add(root);
    at_leaf = &kernels.add(leaf);
    tree.set_parent(leaf, root);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      clients.push_back(&tree.add_client(has_two_levels && rank < 2 ? leaf : root, rank));
    tree.run();
  }
  void make(std::uint32_t without = 99) {
    groups = join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      config.path = {};
      if (has_two_levels && config.rank < 2) config.path.entries[config.path.length++] = {NodeId{101}, 2};
      config.path.entries[config.path.length++] = {NodeId{100}, 3};
      config.lock_batch = kLockForEver;
      config.outlives = outlives;
      if (config.rank != without) config.datagrams.port = static_cast<std::uint16_t>(1000 + config.rank);
    });
    settle();
  }
  /// Delivers everything; a lost datagram is sent again after its time.
  void settle() {
    do tree.run();
    while (kernels.step(clients));
  }
  void pass(Duration time = Millis(1)) {
    tree.now += time;
    for (auto* client : clients)
      if (client->client->next_due() <= tree.now) client->client->tick(tree.now);
    settle();
  }

  std::uint64_t part(std::uint32_t rank, std::uint32_t n, std::uint32_t word) const {
    return (n + 1) * 1'000'003ull + rank * 7919 + word;
  }
  /// Returns whether the member could post it.
  bool post(std::uint32_t rank, std::uint32_t n, const DatagramCall& call) {
    auto& memory = memory_[rank].emplace_back();
    memory.src.resize(call.words);
    memory.dst.resize(call.words);
    for (std::uint32_t i = 0; i < call.words; ++i) memory.src[i] = part(rank, n, i);
    Operation operation{.coll = call.coll};
    if (call.coll != wire::Coll::barrier) {
      operation.dtype = Dtype::uint64;
      operation.op = call.coll == wire::Coll::bcast ? Op::null : Op::sum;
      operation.count = call.words;
      operation.root = call.root;
      operation.streaming = call.streams;
      operation.src = std::as_bytes(std::span(memory.src));
      operation.dst = std::as_writable_bytes(std::span(memory.dst));
      if (call.coll == wire::Coll::bcast && rank != call.root) operation.give = {0, 0}, operation.src = {};
      if (call.coll == wire::Coll::reduce && rank != call.root) operation.keep = {0, 0}, operation.dst = {};
    }
    operation.token = n;
    if (groups[rank]->post(operation, tree.now)) return true;
    memory_[rank].pop_back();
    return false;
  }
  std::string check(std::uint32_t rank, std::uint32_t n, const DatagramCall& call) const {
    if (call.coll == wire::Coll::barrier || (call.coll == wire::Coll::reduce && rank != call.root)) return {};
    for (std::uint32_t i = 0; i < call.words; ++i) {
      std::uint64_t right = call.coll == wire::Coll::bcast ? part(call.root, n, i) : 0;
      for (std::uint32_t r = 0; r < 3 && call.coll != wire::Coll::bcast; ++r) right += part(r, n, i);
      if (memory_[rank][n].dst[i] != right) return fmt::format("rank {} operation {} word {}", rank, n, i);
    }
    return {};
  }
  struct Progress {
    std::array<std::uint32_t, 3> posted{}, taken{};
    std::array<bool, 3> has_failed{};  ///< Its operations from taken[rank] on.
  };
  /// Each member takes what is complete, and perhaps posts one more. Returns what went wrong.
  std::string take_turns(const std::vector<DatagramCall>& calls, std::uint32_t depth, Progress& progress) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      std::uint32_t &posted = progress.posted[rank], &taken = progress.taken[rank];
      while (const auto over = groups[rank]->next_completion()) {
        if (over->status != Errc::ok) progress.has_failed[rank] = true;
        if (progress.has_failed[rank]) continue;
        if (auto wrong = check(rank, taken, calls[taken]); !wrong.empty()) return wrong;
        ++taken;
      }
      if (!progress.has_failed[rank] && posted < calls.size() && posted - taken < depth && kernels.random.chance(0.5) &&
          post(rank, posted, calls[posted]))
        ++posted;
    }
    return {};
  }
  void deliver() {
    if (kernels.random.chance(0.5)) return settle();
    const auto first = [](std::size_t) { return std::size_t{0}; };
    for (auto left = kernels.random.below(12); left > 0; --left)
      if (!kernels.random.chance(0.6) || !kernels.step(clients)) tree.step(first);
  }
  /// Posts and completes the operations, each member at a pace of its own. Returns what went wrong.
  std::string run(const std::vector<DatagramCall>& calls, std::uint32_t depth) {
    Progress progress;
    for (int turns = 0; turns < 200'000; ++turns) {
      if (auto wrong = take_turns(calls, depth, progress); !wrong.empty()) return wrong;
      for (std::uint32_t rank = 0; rank < 3; ++rank)
        if (progress.has_failed[rank])
          return fmt::format("rank {} operation {} fails: {}", rank, progress.taken[rank], groups[rank]->why()) +
                 drops();
      if (std::ranges::all_of(progress.taken, [&](std::uint32_t taken) { return taken == calls.size(); })) return {};
      deliver();
      if (kernels.random.chance(0.4)) pass(Micros(100));
    }
    return fmt::format("somebody waits for ever: {}", fmt::join(progress.taken, " "));
  }
  std::string drops() const {
    std::string all;
    for (const auto* end : {&root, &leaf, clients[0], clients[1], clients[2]})
      for (const auto& drop : end->drops) all += "; " + drop;
    return all;
  }
  std::uint64_t datagrams() const { return groups[0]->datagram_operations(); }

  TestTree tree;
  TestTree::End &root, &leaf;
  Kernels kernels;
  TestKernel *at_root, *at_leaf;
  const bool has_two_levels, outlives;
  std::vector<TestTree::End*> clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;

 private:
  struct Memory {
    std::vector<std::uint64_t> src, dst;
  };
  std::deque<Memory> memory_[3];
};

/// Its numbers pass 0.
inline DatagramWorld::Plan drawn_plan(Random& random, std::uint64_t seed) {
  DatagramWorld::Plan plan{.has_two_levels = random.chance(0.6), .seed = seed, .first = Sequence{0xFFFFFFE0}};
  plan.network.loss = random.chance(0.7) ? 0.3 * random.unit() : 0;
  plan.network.copies = random.chance(0.5) ? 0.2 * random.unit() : 0;
  plan.network.reorders = random.chance(0.5);
  plan.outlives = random.chance(0.8);
  return plan;
}

inline std::vector<DatagramCall> small(std::uint32_t count) {
  std::vector<DatagramCall> calls;
  for (std::uint32_t n = 0; n < count; ++n)
    calls.push_back({n % 3 == 2 ? wire::Coll::barrier : wire::Coll::allreduce, 0, n % 3 == 2 ? 0 : 1 + n % kWords});
  return calls;
}

inline std::vector<DatagramCall> mixed(Random& random, std::uint32_t count) {
  std::vector<DatagramCall> calls = small(12);
  while (calls.size() < count) {
    const auto root = static_cast<std::uint32_t>(random.below(3));
    const auto words = static_cast<std::uint32_t>(random.between(1, random.chance(0.8) ? kWords : kLarge));
    switch (random.below(5)) {
      case 0: calls.push_back({wire::Coll::barrier}); break;
      case 1: calls.push_back({wire::Coll::bcast, root, words}); break;
      case 2: calls.push_back({wire::Coll::reduce, root, words}); break;
      case 3: calls.push_back({wire::Coll::allreduce, 0, words, random.chance(0.2)}); break;
      default:
        for (std::uint64_t i = random.below(12); i > 0; --i) calls.push_back({wire::Coll::allreduce, 0, 1});
    }
  }
  return calls;
}

}  // namespace sumac::proto::test
