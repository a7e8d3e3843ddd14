// Tests the node's data path with real TCP: a root and two leaves in this process, and members that behave as clients
// do.
#include "node/data_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "net/tcp_frame.hpp"
#include "node/memory_bound.hpp"
#include "node/test_member.hpp"
#include "proto/test_nodes.hpp"

namespace sumac::node {
namespace {

constexpr JobId kJob{0x8000'0000'0000'0007};

struct TestNode {
  TestNode(std::uint32_t id, bool root, const std::string& listen = "127.0.0.1:0")
      : log(Logger::Form::daemon, LogLevel::info, [this](std::string_view line) { lines += line; }), pool(256u << 20) {
    net::TransportConfig net;
    net.listen = listen;
    net.device = "lo";
    DataPathConfig config;
    bound_memory(256u << 20, net, config.limits);
    net.strangers_max = strangers_max;
    net.handshake_timeout = Millis(600'000);  // The long timeout keeps a slow machine from losing connections.
    config.name = fmt::format("an-{}", id);
    config.retry_min = config.retry_max = Millis(5);
    config.heartbeat = Millis(2);
    config.outlived_after = Millis(10);
    data.emplace(config, net::make_transport(net, pool).value(), pool, log);
    data->set_node_key(draw_secret().value());
    data->identify(NodeId{id}, TreeId{1}, root, monotonic_now());
  }
  static constexpr std::size_t strangers_max = 64;
  std::string lines;
  Logger log;
  BufferPool pool;
  std::optional<DataPath> data;
};

/// Returns the parent's address and key, as the manager would send them to the child.
proto::ParentInfo parent_of(const TestNode& child, const TestNode& parent) {
  const auto& above = parent.data->node()->config();
  proto::ParentInfo info{above.node_id, {}, above.address, "root"};
  EXPECT_TRUE(wire::make_pair_key(above.node_key, above.tree_id, child.data->node()->config().node_id, above.node_id,
                                  info.key));
  return info;
}

struct Tree {
  TestNode root{1, true}, one{2, false}, two{3, false};
  TestJob job;

  explicit Tree(const std::vector<std::uint32_t>& leaves = {2, 2, 3}) {
    job.job_id = kJob;
    job.osts = 16;
    job.tree = proto::test::parents({{1, 1}, {2, 1}, {3, 1}});
    job.leaf_of_rank = proto::test::node_ids(leaves);
    for (auto* leaf : {&one, &two}) leaf->data->set_parent(parent_of(*leaf, root), monotonic_now());
    grant();
    for (auto* node : {&root, &one, &two})
      job.address[node->data->node()->config().node_id] = node->data->transport().address();
  }
  void grant() {
    for (auto* node : {&root, &one, &two})
      EXPECT_TRUE(node->data->grant(
          {.job_id = kJob,
           .quota = {.osts = 64, .payload_per_ost = 128, .max_groups = 4, .stream_window = 4, .chunk_bytes = 4096}}));
  }
  void progress(bool root_runs = true) {
    for (auto* node : {&root, &one, &two})
      if (node->data && (root_runs || node != &root)) node->data->progress(monotonic_now());
  }
};

/// A connection to a node whose messages this test makes by hand.
struct Stranger {
  Stranger(const TestNode& at, std::function<void()> work)
      : address(at.data->node()->config().address), progress(std::move(work)) {
    connect();
    say_hello();
  }
  void connect() {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // It sends in small pieces, each of which would else wait 40 ms for the acknowledgement of the one before.
    const int on = 1;
    ASSERT_EQ(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    send(net::encode_greeting(net::FrameType::hello, 1u << 20));
    take(net::kGreetingFrameBytes);
  }
  void say_hello() {
    say(wire::AggKind::hello, hello);
    welcome = hear<wire::WelcomeBody>(wire::AggKind::welcome);
  }
  wire::ProofBody proof(const Secret& key, const std::string& to) const {
    wire::ProofBody body;
    EXPECT_TRUE(wire::make_proof(wire::ProvingSide::child, key, {TreeId{1}, hello, welcome, to}, body.proof));
    return body;
  }
  void say_proof(const Secret& key, const std::string& to) { say(wire::AggKind::proof, proof(key, to)); }
  template <class Body>
  void say(wire::AggKind kind, const Body& body) {
    wire::AggHeader header;
    header.kind = kind;
    header.tree_id = TreeId{1};
    const auto bytes = wire::encoded(header, body);
    send(net::encode_frame_header(net::FrameType::data, bytes.size()));
    send(bytes);
  }
  template <class Body>
  Body hear(wire::AggKind kind) {
    const auto bytes = take(net::kFrameHeaderBytes + wire::kAggHeaderBytes + sizeof(Body));
    Body body{};
    EXPECT_EQ(bytes.size() > 11 ? static_cast<wire::AggKind>(bytes[net::kFrameHeaderBytes + 3]) : wire::AggKind{},
              kind);
    if (bytes.size() >= sizeof body) wire::load(body, bytes.data() + bytes.size() - sizeof body);
    return body;
  }
  /// Returns true when the connection ends, even if data arrives before.
  bool sees_the_end() {
    char byte;
    for (const Time end = monotonic_now() + Seconds(30); monotonic_now() < end; progress())
      if (const auto n = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT); n == 0 || (n < 0 && errno != EAGAIN)) return true;
    return false;
  }
  void send(std::span<const std::byte> bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  std::vector<std::byte> take(std::size_t bytes) {
    std::vector<std::byte> taken(bytes);
    std::size_t have = 0;
    for (const Time end = monotonic_now() + Seconds(30); have < bytes && monotonic_now() < end; progress())
      if (const auto n = ::recv(fd.get(), taken.data() + have, bytes - have, MSG_DONTWAIT); n > 0)
        have += static_cast<std::size_t>(n);
      else if (n == 0)
        break;
    taken.resize(have);
    return taken;
  }

  std::string address;
  std::function<void()> progress;
  UniqueFd fd;
  wire::HelloBody hello{.job_id = kJob, .nonce = {5}, .id = 0};
  wire::WelcomeBody welcome;
};

TEST(DataPath, adds_up_a_tree_over_real_connections) {
  Tree tree;
  tree.job.stream_window = 4;
  tree.job.chunk = 4096;
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  ASSERT_EQ(group.members[0]->group().phase(), proto::ClientGroup::Phase::standing) << group.members[0]->group().why();
  EXPECT_EQ(group.members[0]->group().shape().root_node, NodeId{1});
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_TRUE(group.allreduce(1 + static_cast<std::size_t>(i) * 7, i)) << i;
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_TRUE(group.allreduce(100'000, i, true)) << "streaming " << i;
  EXPECT_TRUE(group.leave());
  const auto statistics = nlohmann::json::parse(tree.root.data->statistics_json());
  EXPECT_EQ(statistics["jobs"][0]["operations"], 50);
  EXPECT_EQ(statistics["jobs"][0]["streaming_operations"], 3);
  EXPECT_EQ(statistics["node"]["buffer_copies"], 0);
}

TEST(DataPath, statistics_name_the_child_that_the_others_wait_for) {
  Tree tree({2, 2, 2});
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  const auto statistics = [&] { return nlohmann::json::parse(tree.one.data->statistics_json()); };
  std::vector<std::int64_t> in(1, 1), out(3);
  const auto post = [&](std::size_t rank) {
    proto::Operation operation;
    operation.coll = wire::Coll::allreduce;
    operation.op = Op::sum;
    operation.dtype = Dtype::int64;
    operation.count = 1;
    operation.src = std::as_bytes(std::span(in));
    operation.dst = std::as_writable_bytes(std::span(out).subspan(rank, 1));
    ASSERT_TRUE(group.members[rank]->group().post(operation, monotonic_now()));
  };
  post(0);
  post(2);
  ASSERT_TRUE(group.until([&] { return statistics()["node"]["messages_in"] == 2; }));
  const Time slow_until = monotonic_now() + Millis(3);
  ASSERT_TRUE(group.until([&] { return monotonic_now() > slow_until; }));
  post(1);
  ASSERT_TRUE(group.until([&] { return group.all([](auto& m) { return m.group().next_completion().has_value(); }); }));
  EXPECT_EQ(out, (std::vector<std::int64_t>{3, 3, 3}));
  const auto text = statistics();
  const auto& seen = text["groups"][0];
  EXPECT_THAT(seen["slowest"].get<std::string>(), testing::StartsWith("rank 1 on host h1 (127.0.0.1:"));
  EXPECT_GE(seen["waited_us"], 3000);
  EXPECT_EQ(seen["messages"], 3);
  EXPECT_EQ(seen["bytes"], 24);
  for (const auto& child : seen["children"]) {
    EXPECT_EQ(child["came_last"], child["lowest_rank"] == 1 ? 1 : 0);
    EXPECT_EQ(child["host"], fmt::format("h{}", child["lowest_rank"].get<int>()));
  }
}

TEST(DataPath, names_the_nodes_below_and_who_breaks_a_rule) {
  Tree tree({2, 3});
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  ASSERT_TRUE(group.allreduce(1, 1));
  const auto statistics = nlohmann::json::parse(tree.root.data->statistics_json());
  std::vector<std::string> names;
  for (const auto& child : statistics["groups"][0]["children"]) {
    names.push_back(child["node"]);
    EXPECT_THAT(child["name"].get<std::string>(), testing::StartsWith("node " + names.back() + " (127.0.0.1:"));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("an-2", "an-3"));
  // Sends a contribution to a group that this connection never joined.
  wire::AggHeader h;
  h.kind = wire::AggKind::contribute;
  h.tree_id = TreeId{1};
  h.group_id = GroupId{0x00010003};
  h.coll = wire::Coll::barrier;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  h.origin = 1;
  h.members = 1;
  group.members[1]->say(h);
  ASSERT_TRUE(group.until([&] { return tree.two.lines.find("dropped") != std::string::npos; }));
  EXPECT_THAT(tree.two.lines, testing::HasSubstr("dropped the link to rank 1 on host h1 (127.0.0.1:"));
}

TEST(DataPath, the_parent_is_found_again_after_it_was_away) {
  Tree tree({2, 3});
  {
    TestGroup group(tree.job, [&] { tree.progress(); });
    ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
    EXPECT_TRUE(group.allreduce(4, 1));
    tree.root.data.reset();  // The root's sockets close, as in a crash.
    EXPECT_TRUE(group.until(
        [&] { return group.all([](auto& m) { return m.group().phase() == proto::ClientGroup::Phase::lost; }); }));
    EXPECT_THAT(group.members[0]->group().why(), testing::Not(testing::IsEmpty()));
  }
  const auto down = tree.one.data->take_parent_change();
  ASSERT_TRUE(down);
  EXPECT_FALSE(down->up);

  // A new root process is a new tree: the root assigns the group ids, so the old ids mean nothing now.
  TestNode again(1, true);
  tree.job.tree_id = TreeId{2};
  again.data->identify(NodeId{1}, TreeId{2}, true, monotonic_now());
  tree.one.data->identify(NodeId{2}, TreeId{2}, false, monotonic_now());
  tree.two.data->identify(NodeId{3}, TreeId{2}, false, monotonic_now());
  for (auto* leaf : {&tree.one, &tree.two})
    ASSERT_TRUE(leaf->data->grant({.job_id = kJob, .quota = {.osts = 64, .payload_per_ost = 128, .max_groups = 4}}));
  ASSERT_TRUE(again.data->grant({.job_id = kJob, .quota = {.osts = 64, .payload_per_ost = 128, .max_groups = 4}}));
  for (auto* leaf : {&tree.one, &tree.two}) leaf->data->set_parent(parent_of(*leaf, again), monotonic_now());
  TestGroup group(tree.job, [&] {
    tree.progress();
    again.data->progress(monotonic_now());
  });
  ASSERT_EQ(group.form(2).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(4, 2)) << tree.one.data->statistics_json() << again.data->statistics_json()
                                     << tree.one.lines << again.lines;
  EXPECT_TRUE(tree.one.data->take_parent_change()->up);
}

/// Forms a group, and drives only the leaves until the members' group has ended or many beats have passed.
void stop_root(Tree& tree, TestGroup& group, bool& root_runs, proto::ClientGroup::Phase until_all_are) {
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(4, 1));
  root_runs = false;
  const Time end = monotonic_now() + 4 * Millis(100);
  EXPECT_TRUE(group.until([&] {
    return group.all([&](auto& m) { return m.group().phase() == until_all_are; }) && monotonic_now() > end;
  })) << tree.one.lines;
  root_runs = true;
}

TEST(DataPath, a_group_that_outlives_its_tree_does_not_wait_for_a_silent_parent) {
  Tree tree({2, 3});
  tree.job.outlives = true;
  bool root_runs = true;
  {
    TestGroup group(tree.job, [&] { tree.progress(root_runs); });
    stop_root(tree, group, root_runs, proto::ClientGroup::Phase::lost);
    EXPECT_THAT(group.members[0]->group().why(),
                testing::StartsWith("node root (127.0.0.1) stopped answering; its child"));
    // The root runs again, and learns that the group is over.
    EXPECT_TRUE(group.until([&] { return tree.root.data->node()->idle() && tree.one.data->node()->idle(); }));
  }
  EXPECT_THAT(tree.one.lines, testing::HasSubstr("1 groups that go on without the tree have ended here"));
  EXPECT_TRUE(tree.one.data->node()->has_parent()) << "the connection stays";
  TestGroup next(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(next.form(2).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(next.allreduce(4, 2));
  EXPECT_TRUE(next.leave());
}

TEST(DataPath, other_groups_wait_for_a_silent_parent) {
  Tree tree({2, 3});
  bool root_runs = true;
  TestGroup group(tree.job, [&] { tree.progress(root_runs); });
  stop_root(tree, group, root_runs, proto::ClientGroup::Phase::standing);
  EXPECT_TRUE(group.allreduce(4, 2));
  EXPECT_TRUE(group.leave());
}

TEST(DataPath, members_read_why_their_job_ends_where_its_tree_changes) {
  Tree tree({2, 3});
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(4, 1));
  NodeId id{2};
  for (auto* leaf : {&tree.one, &tree.two}) {
    ASSERT_TRUE(leaf->data->revoke(kJob, monotonic_now(), "node an-root stays silent, and tree 1 has changed"));
    leaf->data->identify(id, TreeId{2}, false, monotonic_now());
    id = NodeId{3};
  }
  EXPECT_TRUE(group.until(
      [&] { return group.all([](auto& m) { return m.group().phase() == proto::ClientGroup::Phase::lost; }); }));
  for (auto& member : group.members)
    EXPECT_THAT(member->group().why(), testing::HasSubstr("node an-root stays silent"));
}

TEST(DataPath, a_job_that_was_not_granted_is_refused) {
  Tree tree;
  tree.job.job_id = JobId{99};
  TestMember stranger(tree.job, 0, true);
  TestGroup group(tree.job, [&] { tree.progress(); });
  group.members.clear();
  ASSERT_TRUE(group.until([&] {
    stranger.progress();
    return stranger.link().closed();
  }));
  EXPECT_EQ(stranger.link().why_closed(), "node 2 has no grant for job 99: it ended or never began");
}

/// The rows of src/proto/handshake_test.cpp, here with real sockets: the connection ends, one line gives the reason,
/// and others go on.
TEST(DataPath, who_proves_nothing_loses_its_own_connection) {
  const struct {
    const char* name;
    std::function<void(Stranger&)> talk;
    const char* line;
  } rows[] = {
      {"a wrong key", [](Stranger& s) { s.say_proof(Secret{1}, s.address); }, "it does not have the key of its job"},
      {"a replayed proof",
       [](Stranger& s) {
         static const wire::ProofBody once = s.proof(Secret{}, s.address);
         s.connect();
         s.say_hello();
         s.say(wire::AggKind::proof, once);
       },
       "it does not have the key of its job"},
      {"a proof for another connection", [](Stranger& s) { s.say_proof(Secret{}, "tcp:127.0.0.1:9"); },
       "it does not have the key of its job"},
      {"a truncated handshake", [](Stranger& s) { s.say(wire::AggKind::proof, wire::OverBody{}); },
       "not the size of this kind's body"},
      {"no proof at all",
       [](Stranger& s) { s.say(wire::AggKind::open, wire::OpenBody{.job_id = kJob, .token = 9, .group_size = 1}); },
       "hello is followed by the proof"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Tree tree({2, 3});
    TestGroup group(tree.job, [&] { tree.progress(); });
    ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
    tree.one.lines.clear();
    Stranger stranger(tree.one, [&] { tree.progress(); });
    row.talk(stranger);
    EXPECT_TRUE(stranger.sees_the_end());
    EXPECT_THAT(tree.one.lines, testing::HasSubstr(row.line));
    EXPECT_EQ(std::count(tree.one.lines.begin(), tree.one.lines.end(), '\n'), 1) << tree.one.lines;
    EXPECT_TRUE(group.allreduce(10, 3));
  }
  Tree tree({2, 3});
  Stranger member(tree.one, [&] { tree.progress(); });
  member.say_proof(Secret{}, member.address);
  member.say(wire::AggKind::open, wire::OpenBody{.job_id = kJob, .token = 9, .group_size = 1});
  EXPECT_EQ(member.hear<wire::OpenedBody>(wire::AggKind::opened).token, 9u);
}

TEST(DataPath, members_find_room_beside_any_number_of_strangers) {
  Tree tree({2, 3});
  const auto work = [&] { tree.progress(); };
  // These strangers are connected and silent, or greeted and silent, or said hello and send no proof. There are more of
  // each than connections for strangers.
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(std::make_unique<Stranger>(tree.one, work));
  TestGroup group(tree.job, work);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  for (int i = 0; i < 200; ++i) crowd.push_back(std::make_unique<Stranger>(tree.one, work));
  EXPECT_TRUE(group.allreduce(100, 5));
  EXPECT_GE(tree.one.data->transport().stats().displaced, 200u);
  EXPECT_LE(tree.one.data->node()->links(), tree.one.strangers_max + 1);
  const std::string_view words = "displaced by others before it proved its identity";
  std::size_t lines = 0;
  for (auto at = tree.one.lines.find(words); at != std::string::npos; at = tree.one.lines.find(words, at + 1)) ++lines;
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 10u) << "one a minute, however slow this machine is: " << tree.one.lines;
}

TEST(MemoryBound, there_is_memory_for_a_message_of_every_connection) {
  const struct {
    const char* name;
    std::size_t memory_mib;
    std::uint32_t chunk;
    std::size_t connections, strangers;
  } rows[] = {
      {"the defaults", 1024, 64 << 10, 4096, 512},
      {"large chunks", 1024, 1 << 20, 383, 47},
      {"a small node", 64, 64 << 10, 382, 47},
      {"a node that is too small, and says so", 2, 64 << 10, kConnectionsMin, 8},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    net::TransportConfig net;
    proto::NodeLimits limits;
    limits.chunk_max = row.chunk;
    const auto bound = bound_memory(row.memory_mib << 20, net, limits);
    EXPECT_EQ(bound.connections, row.connections);
    EXPECT_EQ(net.connections_max, row.connections);
    const bool is_enough =
        limits.window_bytes + net.connections_max * BufferPool::footprint(net.message_max) <= row.memory_mib << 20;
    EXPECT_EQ(shortage(bound, net).empty(), is_enough);
    EXPECT_EQ(is_enough, row.connections > kConnectionsMin);
    EXPECT_EQ(net.strangers_max, row.strangers);
  }
}

TEST(DataPath, a_process_at_a_dead_parents_address_learns_nothing) {
  Tree tree({2, 3});
  for (std::uint64_t turn = 0; tree.one.data->node()->has_parent() == false; ++turn) tree.progress();
  const auto address = tree.root.data->transport().address();
  tree.root.data.reset();  // The root's sockets close, as in a crash, and its port is free.
  // Another user starts a data path at the same address and with the same node id, but does not know the key.
  TestNode impostor(1, true, address.substr(4));
  tree.one.lines.clear();
  ASSERT_TRUE(TestGroup({}).until([&] {
    tree.one.data->progress(monotonic_now());
    impostor.data->progress(monotonic_now());
    return tree.one.lines.find("it does not know the key") != std::string::npos;
  }));
  EXPECT_FALSE(tree.one.data->node()->has_parent());
  EXPECT_THAT(impostor.lines, testing::Not(testing::HasSubstr("proof")));
}

TEST(DataPath, malformed_data_costs_its_sender_the_connection_and_nobody_else) {
  Tree tree({2, 3});
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  const auto address = tree.one.data->transport().address();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  for (const std::size_t size : {1u, 8u, 64u, 100u, 65536u}) {
    SCOPED_TRACE(size);
    UniqueFd raw(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(raw.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::vector<char> junk(size, '\xEE');
    ASSERT_GT(::send(raw.get(), junk.data(), junk.size(), MSG_NOSIGNAL), 0);
    // A fragment this short may still become a greeting, so the node closes only after a hang-up or a timeout.
    if (size < 64) continue;
    char byte;
    EXPECT_TRUE(group.until([&] {
      const auto n = ::recv(raw.get(), &byte, 1, MSG_DONTWAIT);
      return n == 0 || (n < 0 && errno != EAGAIN) || n > 0;
    }));
  }
  EXPECT_TRUE(group.allreduce(100, 5));
}

TEST(DataPath, a_peer_that_asks_and_never_reads_costs_itself) {
  Tree tree({2, 2, 2});
  TestGroup group(tree.job, [&] { tree.progress(); });
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  Stranger asker(tree.one, [&] { tree.progress(); });
  asker.say_proof(Secret{}, asker.address);
  std::vector<std::byte> question;
  const auto add = [](std::vector<std::byte>& out, const auto& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  wire::AggHeader header;
  header.kind = wire::AggKind::join;
  header.tree_id = TreeId{1};
  header.group_id = GroupId{0xFFFF};  // The node does not have this number, so it refuses every time.
  wire::JoinBody body{.job_id = kJob, .group_size = 1, .osts = 1, .payload_per_ost = 128};
  body.path_length = 1;
  body.path[0] = {NodeId{2}, 1};
  const auto join = wire::encoded(header, body);
  add(question, net::encode_frame_header(net::FrameType::data, join.size()));
  add(question, join);
  std::vector<std::byte> flood;
  for (int i = 0; i < 600; ++i) add(flood, question);

  // Sends until the node has stopped reading: all that it took is what fits into the sockets' buffers.
  constexpr std::size_t kFar = 64u << 20;
  std::size_t sent = 0;
  for (int quiet = 0; quiet < 200 && sent < kFar; ++quiet) {
    const std::size_t at = sent % flood.size();
    const auto n = ::send(asker.fd.get(), flood.data() + at, flood.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      ASSERT_EQ(errno, EAGAIN) << "its connection was closed: " << tree.one.lines;
    } else {
      sent += static_cast<std::size_t>(n);
      quiet = 0;
    }
    tree.progress();
  }
  EXPECT_LT(sent, kFar) << "the node reads on although its answers are not taken";
  EXPECT_TRUE(group.allreduce(100, 5)) << "others go on";

  // When the peer reads its answers, the node reads from it again.
  const auto heard = tree.one.data->transport().stats().messages_in;
  EXPECT_TRUE(group.until([&] {
    char answers[65536];
    while (::recv(asker.fd.get(), answers, sizeof answers, MSG_DONTWAIT) > 0) {
    }
    return tree.one.data->transport().stats().messages_in > heard + 100;
  }));
}

}  // namespace
}  // namespace sumac::node
