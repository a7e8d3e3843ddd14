#pragma once
// For tests: the kernels of a TestTree's nodes, and the network between them and the members, which may lose datagrams.
#include <deque>
#include <vector>

#include "base/random.hpp"
#include "proto/test_node_kernel.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto::test {

struct DatagramNetwork {
  double loss = 0, copies = 0;  ///< probabilities
  bool reorders = false;
};

class Kernels final : public TestKernel::Wire {
 public:
  Kernels(TestTree& tree, std::uint64_t seed, const DatagramNetwork& network = {}, std::uint32_t window = 4)
      : random(seed), tree_(tree), network_(network), window_(window) {
    tree.take_datagram = [this](LinkId to, std::span<const std::byte> frame) {
      queue_.push_back({nullptr, to, {frame.begin(), frame.end()}});
    };
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  TestKernel& add(TestTree::End& node) {
    kernels_.emplace_back(&node, std::make_unique<TestKernel>(*this, window_));
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

  /// All datagrams that are under way are lost.
  void lose_all() { queue_.clear(); }

  struct Differing {
    HopHeader frame;
    std::uint64_t agreed;
    std::uint32_t other;
  };
  std::vector<Differing> differing;
  Random random;

 private:
  void carry(const TestKernel& from, LinkId to, std::span<const std::byte> datagram) override {
    queue_.push_back({&from, to, {datagram.begin(), datagram.end()}});
  }
  void differs(const HopHeader& frame, std::uint64_t agreed, std::uint32_t other) override {
    differing.push_back({frame, agreed, other});
  }
  struct Datagram {
    const TestKernel* from;  ///< Null: a member's.
    LinkId link;
    std::vector<std::byte> bytes;
  };
  TestTree& tree_;
  const DatagramNetwork network_;
  const std::uint32_t window_;
  std::vector<std::pair<TestTree::End*, std::unique_ptr<TestKernel>>> kernels_;
  std::deque<Datagram> queue_;
};

}  // namespace sumac::proto::test
