#pragma once
// For tests: one or more nodes and clients joined by perfect wires, delivered in order by run(). There are no timers.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "proto/client_group.hpp"
#include "proto/client_link.hpp"
#include "proto/node.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto::test {

inline constexpr TreeId kTree{7};
inline constexpr JobId kJob{42};
inline constexpr wire::InvitedBody kInvitation{.address = {0xFF, 0x12}, .port = 5383};

class TestTree {
 public:
  struct End final : Outbox, Multicast {
    TestTree* tree = nullptr;
    std::uint32_t index = 0;
    std::unique_ptr<Node> node;
    std::unique_ptr<ClientLink> client;
    LinkId up{};
    std::vector<std::string> drops;
    std::vector<wire::AggHeader> sent;  ///< Headers of the data messages sent.
    std::uint64_t controls = 0;
    std::uint32_t datagrams_failed = 0;  ///< Groups that go by the links alone from then on.
    /// The address to which a node sends multicasts; not set: it has no multicast.
    std::optional<wire::InvitedBody> invitation;
    bool multicast_fails = false;
    DatagramNode* kernel = nullptr;
    struct Datagram {
      wire::InvitedBody to;
      wire::AggHeader header;
      std::vector<std::byte> data;
    };
    std::map<std::uint32_t, std::size_t> unread, allowed;  ///< [link]: the values of Outbox::held() and allow().
    std::vector<Datagram> datagrams;                       ///< Datagrams that the test may deliver to members.

    void send(LinkId to, const wire::AggHeader& header, const Payload& data) override {
      sent.push_back(header);
      tree->queue(index, to, header, data.bytes);
    }
    void send_control(LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
      ++controls;
      tree->queue(index, to, header, body);
    }
    void allow(LinkId link, std::size_t bytes) override { allowed[link.value] = bytes; }
    std::size_t held(LinkId link) const override {
      const auto found = unread.find(link.value);
      return found == unread.end() ? 0 : found->second;
    }
    Multicast* multicast() override { return this; }
    DatagramNode* datagram_node() override { return kernel; }
    void send_datagram(LinkId to, std::span<const std::byte> frame) override {
      if (tree->take_datagram) tree->take_datagram(to, frame);
    }
    void datagrams_fail(GroupId) override { ++datagrams_failed; }
    bool invite(GroupId group_id, wire::InvitedBody& to) override {
      if (!invitation) return false;
      to = *invitation;
      to.key = Secret{static_cast<std::uint8_t>(number_of(group_id))};
      return true;
    }
    bool send(const wire::InvitedBody& to, const wire::AggHeader& header, std::span<const std::byte> data) override {
      if (multicast_fails) return false;
      datagrams.push_back({to, header, {data.begin(), data.end()}});
      return true;
    }
    void drop(LinkId link, const Error& why) override {
      drops.push_back(why.context);
      for (Message& message : tree->queue_)
        if (message.link.value == link.value && message.to != index) message.last_words = true;
      tree->wires_[link.value].open = false;
      // The end of a connection comes after earlier messages, as on a socket
      tree->queue_.push_back({tree->other(link, index), link, {}});
    }
  };

  End& add_node(std::uint32_t id, bool root = true, NodeLimits limits = {}) {
    End& end = add_end();
    end.node = std::make_unique<Node>(NodeConfig{.node_id = NodeId{id},
                                                 .tree_id = kTree,
                                                 .root = root,
                                                 .limits = limits,
                                                 .node_key = {static_cast<std::uint8_t>(id)},
                                                 .address = fmt::format("test:{}", id),
                                                 .multicast_to_one_level = true},
                                      end);
    return end;
  }
  End& add_client(End& leaf, std::uint32_t world_rank, const Secret& key = {}) {
    End& end = add_end();
    const auto& node = leaf.node->config();
    end.client = std::make_unique<ClientLink>(ClientLinkConfig{.job_id = kJob,
                                                               .leaf = {node.node_id, key, node.address},
                                                               .world_rank = WorldRank{world_rank},
                                                               .tree_id = kTree},
                                              end);
    end.up = connect(end, leaf);
    end.client->set_link(end.up, nonce(), now);
    return end;
  }
  /// Returns the parent as the manager describes it to the child.
  static ParentInfo parent_of(const End& child, const End& parent) {
    const auto& config = parent.node->config();
    ParentInfo info{config.node_id, {}, config.address, config.name};
    if (!wire::make_pair_key(config.node_key, kTree, child.node->config().node_id, config.node_id, info.key))
      throw std::runtime_error("no key of a pair of nodes");
    return info;
  }
  void set_parent(End& child, End& parent) { set_parent(child, parent, parent_of(child, parent)); }
  void set_parent(End& child, End& parent, const ParentInfo& info) {
    child.up = connect(child, parent);
    child.node->set_parent_link(child.up, info, nonce(), now);
  }
  LinkId connect(End& child, End& parent) {
    wires_.push_back({child.index, parent.index, true});
    const LinkId link{static_cast<std::uint32_t>(wires_.size() - 1)};
    parent.node->on_link_up(link, nonce(), now);
    return link;
  }
  /// Each nonce differs from the others and is the same in each run.
  wire::Nonce nonce() {
    wire::Nonce made{};
    ++nonces_;
    std::memcpy(made.data(), &nonces_, sizeof nonces_);
    return made;
  }
  /// Errc::timeout: by silence.
  void cut(LinkId link, Errc why = Errc::lost) {
    wires_[link.value].open = false;
    for (const std::uint32_t index : {wires_[link.value].child, wires_[link.value].parent}) close_at(index, link, why);
  }

  void inject(End& from, LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) {
    queue(from.index, to, header, body);
  }

  void run() {
    run([](std::size_t) { return std::size_t{0}; });
  }
  /// `pick` chooses among the messages in flight; each direction of a wire keeps its order.
  template <class Pick>
  void run(const Pick& pick) {
    while (step(pick)) {
    }
  }
  /// Delivers messages to `end` until none is left; the others stay in flight.
  void run_to(const End& end) {
    for (;;) {
      const auto next = std::find_if(queue_.begin(), queue_.end(), [&](const Message& m) { return m.to == end.index; });
      if (next == queue_.end()) return;
      deliver(next);
    }
  }
  /// Messages to `end` are lost.
  void forget_to(const End& end) {
    std::erase_if(queue_, [&](const Message& m) { return m.to == end.index; });
  }
  /// Delivers one message. Returns false when none is in flight.
  template <class Pick>
  bool step(const Pick& pick) {
    if (queue_.empty()) return false;
    auto next = queue_.begin() + static_cast<std::ptrdiff_t>(pick(queue_.size()));
    deliver(
        std::find_if(queue_.begin(), next, [&](const Message& m) { return m.link == next->link && m.to == next->to; }));
    return true;
  }

  BufferRef frame(const wire::AggHeader& header, std::span<const std::byte> body) {
    BufferRef frame = pool.acquire(wire::kAggHeaderBytes + body.size());
    wire::store(frame.data(), header);
    std::copy(body.begin(), body.end(), frame.data() + wire::kAggHeaderBytes);
    return frame;
  }

  Time now{};
  /// A member's datagram to the node of this link; without it there are none.
  std::function<void(LinkId, std::span<const std::byte>)> take_datagram;
  BufferPool pool{64u << 20};
  /// The clients' treatment of results with a known destination: receive them there, or begin to and then get them in a
  /// frame after all.
  enum class Placing : std::uint8_t { never, always, broken_off } placing = Placing::never;
  std::size_t placed = 0;

 private:
  struct Wire {
    std::uint32_t child = 0, parent = 0;
    bool open = false;
  };
  struct Message {
    std::uint32_t to = 0;
    LinkId link{};
    BufferRef frame;  ///< Empty: the other end closed.
    bool last_words = false;
  };
  void deliver(std::deque<Message>::iterator next) {
    Message message = std::move(*next);
    queue_.erase(next);
    if (!message.frame) return close_at(message.to, message.link, Errc::lost);
    if (!wires_[message.link.value].open && !message.last_words) return;
    End& to = *ends_[message.to];
    if (to.node)
      to.node->on_message(message.link, std::move(message.frame), now);
    else if (to.client && !place(*to.client, message.frame.bytes()))
      to.client->on_message(std::move(message.frame), now);
  }
  bool place(ClientLink& client, std::span<const std::byte> message) {
    if (placing == Placing::never || message.size() < wire::kAggHeaderBytes) return false;
    const auto head = message.first<wire::kAggHeaderBytes>();
    const auto payload = message.subspan(head.size());
    std::array<std::byte, wire::kAggHeaderBytes> next;
    const auto expected = client.expect(next);
    std::fill(expected.begin(), expected.end(), std::byte{0x5A});  // the client allows this memory to be overwritten
    const auto to = client.place(head, payload.size());
    if (!expected.empty() && std::equal(next.begin(), next.end(), head.begin()) && to.data() != expected.data())
      throw std::runtime_error("what was expected belongs elsewhere");
    if (to.empty()) return false;
    if (to.size() != payload.size()) throw std::runtime_error("a place of another size");
    ++placed;
    const bool is_whole = placing == Placing::always;
    std::copy_n(payload.begin(), is_whole ? payload.size() : payload.size() / 2, to.begin());
    if (is_whole) client.on_placed(head, now);
    return is_whole;
  }
  End& add_end() {
    ends_.push_back(std::make_unique<End>());
    ends_.back()->tree = this;
    ends_.back()->index = static_cast<std::uint32_t>(ends_.size() - 1);
    return *ends_.back();
  }
  std::uint32_t other(LinkId link, std::uint32_t index) const {
    const Wire& wire = wires_[link.value];
    return wire.child == index ? wire.parent : wire.child;
  }
  void queue(std::uint32_t from, LinkId link, const wire::AggHeader& header, std::span<const std::byte> body) {
    queue_.push_back({other(link, from), link, frame(header, body)});
  }
  void close_at(std::uint32_t index, LinkId link, Errc why) {
    End& end = *ends_[index];
    if (end.node)
      end.node->on_link_closed(link, now, {{}, {}, Millis(why == Errc::timeout ? 1000 : 0)});
    else if (end.client)
      end.client->on_closed(Error{why, "closed by the test"}, now);
  }

  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Wire> wires_{1};
  std::uint64_t nonces_ = 0;
  std::deque<Message> queue_;
};

inline JobGrant grant(std::uint32_t osts = 32, std::uint32_t max_groups = 4) {
  return {.job_id = kJob,
          .quota = {
              .osts = osts, .payload_per_ost = 128, .max_groups = max_groups, .stream_window = 4, .chunk_bytes = 512}};
}

/// Makes a group of these clients, in the order of their ranks; the first one opens it. The caller checks whether it
/// stands. `change` may edit each member's config before it joins; by default node 100 is leaf and root of all.
template <class Change>
std::vector<std::unique_ptr<ClientGroup>> join_group(TestTree& tree, std::span<TestTree::End* const> clients,
                                                     std::uint64_t token, const Change& change) {
  const auto size = static_cast<std::uint32_t>(clients.size());
  clients[0]->client->open(token, size, tree.now);
  tree.run();
  std::vector<std::unique_ptr<ClientGroup>> groups;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    TestTree::End& end = *clients[rank];
    ClientGroupConfig config{.job_id = kJob,
                             .tree_id = kTree,
                             .group_id = clients[0]->client->open_outcome(token).group_id,
                             .rank = rank,
                             .world_rank = WorldRank{rank},
                             .group_size = size,
                             .osts = 8,
                             .stream_window = 4,
                             .payload_per_ost = 128,
                             .chunk_bytes = 512};
    config.path.entries[0] = {NodeId{100}, size};
    config.path.length = 1;
    change(config);
    auto group = ClientGroup::make(config, end, end.up);
    if (!group) throw std::runtime_error(group.error().context);
    end.client->attach(**group);
    (*group)->start(tree.now);
    groups.push_back(*std::move(group));
  }
  tree.run();
  return groups;
}

struct GroupExtras {
  std::uint32_t pipeline_depth = 64;
  std::optional<wire::InvitedBody> invitation{};  ///< Set when the node has multicast.
};

/// One node, and a group of `size` clients on it that stands already.
struct StandingGroup {
  explicit StandingGroup(std::uint32_t size, NodeLimits limits = {}, JobGrant job = grant(), GroupExtras with = {})
      : extras(with), request(ost_share(job.quota.osts, job.quota.max_groups)), node(tree.add_node(100, true, limits)) {
    node.invitation = with.invitation;
    if (auto granted = node.node->grant(job); !granted) throw std::runtime_error(granted.error().context);
    for (std::uint32_t rank = 0; rank < size; ++rank) clients.push_back(&tree.add_client(node, rank));
    make();
  }
  /// Makes another group of the same clients.
  void make() {
    make([](ClientGroupConfig&) {});
  }
  template <class Change>
  void make(const Change& change) {
    for (std::size_t rank = 0; rank < groups.size(); ++rank)
      if (groups[rank]) clients[rank]->client->detach(*groups[rank]);  // a test may have moved the group out
    groups.clear();
    groups = join_group(tree, clients, ++tokens, [&](ClientGroupConfig& config) {
      config.osts = request;
      config.pipeline_depth = extras.pipeline_depth;
      change(config);
    });
    group_id = groups[0]->config().group_id;
  }

  GroupExtras extras;
  std::uint32_t request;
  TestTree tree;
  TestTree::End& node;
  std::vector<TestTree::End*> clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;
  GroupId group_id{};
  std::uint64_t tokens = 0;
};

/// A root, a leaf below it with some clients, and one more client at the root: the last.
struct TwoNodes {
  explicit TwoNodes(std::size_t at_leaf = 2) : root(tree.add_node(100)), leaf(tree.add_node(101, false)) {
    for (auto* node : {&root, &leaf})
      if (auto granted = node->node->grant(grant()); !granted) throw std::runtime_error(granted.error().context);
    tree.set_parent(leaf, root);
    for (std::size_t i = 0; i < at_leaf; ++i) clients.push_back(&tree.add_client(leaf, rank_of_next()));
    clients.push_back(&tree.add_client(root, rank_of_next()));
    tree.run();
  }
  /// Makes a group of all clients; large operations take the streaming lock where there is one.
  void make_group() {
    groups = join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      const auto size = config.group_size;
      config.path = {};
      if (config.rank + 1 < size) config.path.entries[config.path.length++] = {NodeId{101}, size - 1};
      config.path.entries[config.path.length++] = {NodeId{100}, size};
      config.lock_batch = kLockForEver;
    });
  }

  TestTree tree;
  TestTree::End &root, &leaf;
  std::vector<TestTree::End*> clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;

 private:
  std::uint32_t rank_of_next() const { return static_cast<std::uint32_t>(clients.size()); }
};

}  // namespace sumac::proto::test
