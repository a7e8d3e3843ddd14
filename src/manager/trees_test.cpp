// Tests several trees: the parts that jobs get of them, and how they follow the fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "manager/saved_tree.hpp"
#include "manager/test_core.hpp"
#include "manager/test_journal.hpp"
#include "manager/test_tree.hpp"
#include "sim/event_queue.hpp"
#include "topo/changes.hpp"

namespace sumac::manager {
namespace {

using control::v1::HostDown;
using control::v1::JobGranted;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Returns two leaves with two hosts each under two spines, with a node at each switch.
topo::Fabric two_spines(std::uint32_t trees = 2) {
  topo::Fabric fabric;
  fabric.name = "two-spines";
  fabric.switches = {"s1", "s2", "l1", "l2"};
  fabric.links = {{"l1", "s1", {}}, {"l1", "s2", {}}, {"l2", "s1", {}}, {"l2", "s2", {}}};
  for (const auto& [name, leaf] : {std::pair{"h1", "l1"}, {"h2", "l1"}, {"h3", "l2"}, {"h4", "l2"}}) {
    topo::Host host;
    host.name = name;
    host.leaf = leaf;
    fabric.hosts.push_back(host);
  }
  for (const std::string at : {"s1", "s2", "l1", "l2"}) {
    topo::Node node;
    node.name = "an-" + at;
    node.place.at_switch = at;
    fabric.nodes.push_back(node);
  }
  fabric.roots = {"s1", "s2"};
  fabric.trees = trees;
  return fabric;
}

/// A core with obedient nodes: they open a shard for each tree, connect to parents, acknowledge grants, and check that
/// their grants never exceed the capacity of a shard.
struct World {
  struct Shard {
    std::uint32_t id = 0;
    bool root = false;
    std::string parent;
    std::map<std::uint64_t, control::v1::Grant> grants;
  };
  struct Node {
    StreamId stream = 0;
    std::uint64_t life = 0;
    std::map<std::uint32_t, Shard> shards;
  };
  TestJournal journal;
  std::optional<Core> core;
  Rules rules;
  std::map<std::string, Node> nodes;
  std::map<std::uint64_t, HostDown> answers;  ///< The last answer to each ticket.
  std::vector<std::string> said;
  StreamId last_stream = 1000;
  sim::EventQueue<Actions::value_type> events{at(Seconds(1))};
  bool running = false;

  Time now() const { return events.now(); }
  explicit World(topo::Fabric fabric, Rules its_rules = {}) : rules(its_rules) { start(std::move(fabric)); }
  void start(topo::Fabric fabric) {
    core.emplace(std::move(fabric), rules, journal);
    run(core->restore(journal.state, now()));
  }
  void up() {
    for (const char* name : {"an-s1", "an-s2", "an-l1", "an-l2"}) add(name);
    host();
  }
  void host(StreamId stream = 1, const std::string& name = "h1") {
    auto who = test_host(stream);
    who.set_host(name);
    run(core->host_registers(stream, who, now()));
  }
  void add(const std::string& name, std::uint64_t life = 0) {
    auto& node = nodes[name];
    if (life == 0) life = node.life != 0 ? node.life : (nodes.size() + 1) << 40;
    if (life != node.life) node.shards.clear();
    node.life = life;
    node.stream = ++last_stream;
    auto who = test_register(name);
    who.set_life(life);
    who.clear_trees();
    for (const auto& [tree, shard] : node.shards) {
      auto* listening = who.add_trees();
      listening->set_tree(tree);
      listening->set_address(address(name, tree));
    }
    run(core->node_registers(node.stream, who, now()));
  }
  void kill(const std::string& name) {
    run(core->node_stream_ended(std::exchange(nodes.at(name).stream, 0), now()));
    nodes.at(name).shards.clear();
    nodes.at(name).life += std::uint64_t{1} << 50;
  }
  void pass(Duration time) {
    for (const Time end = now() + time; now() < end;) {
      events.pass_to(std::min(end, std::max(now() + Millis(1), core->next_deadline())));
      run(core->tick(now()));
      control::v1::Renew renew;
      for (const auto& [ticket, answer] : answers) renew.add_tickets(ticket);
      run(core->host_renews(1, renew, now()));
    }
  }
  static std::string address(const std::string& name, std::uint32_t tree) {
    return fmt::format("tcp:{}:{}", name, 7000 + tree);
  }

  /// The messages to one node arrive in order, as on its stream.
  void run(Actions actions) {
    for (auto& action : actions) events.add(now(), std::move(action));
    if (std::exchange(running, true)) return;
    while (const auto action = events.next(now())) {
      if (const auto* say = std::get_if<Say>(&*action)) said.push_back(say->text);
      if (const auto* no = std::get_if<Refuse>(&*action)) ADD_FAILURE() << no->why.context;
      if (const auto* host = std::get_if<ToHost>(&*action)) hear(host->message);
      if (const auto* node = std::get_if<ToNode>(&*action))
        for (auto& [name, one] : nodes)
          if (one.stream == node->stream) hear(name, one, node->message);
    }
    running = false;
  }
  void hear(const HostDown& down) {
    if (down.has_granted()) answers[down.granted().ticket()] = down;
    if (down.has_refused()) answers[down.refused().ticket()] = down;
    if (down.has_ended()) answers[down.ended().ticket()] = down;
  }
  void hear(const std::string& name, Node& node, const control::v1::NodeDown& down) {
    const auto add_all = [&](Actions actions) { run(std::move(actions)); };
    const auto enter = [&](const control::v1::NodeTree& told) {
      if (told.over()) {
        node.shards.erase(told.tree());
        return;
      }
      const bool is_new = !node.shards.contains(told.tree());
      auto& shard = node.shards[told.tree()];
      if (shard.id != told.tree_id()) shard = {};
      shard.id = told.tree_id();
      shard.root = told.is_root();
      shard.grants.clear();
      for (const auto& grant : told.grants()) shard.grants[grant.job_id()] = grant;
      check(name, shard);
      control::v1::Listening listening;
      listening.set_tree(told.tree());
      listening.set_address(address(name, told.tree()));
      if (is_new) add_all(core->node_listens(node.stream, listening, now()));
      if (!shard.root) link(node, told.tree(), !shard.parent.empty(), add_all);
    };
    switch (down.what_case()) {
      case control::v1::NodeDown::kRegistered:
        for (const auto& told : down.registered().trees()) enter(told);
        break;
      case control::v1::NodeDown::kTree: enter(down.tree()); break;
      case control::v1::NodeDown::kParent:
        node.shards.at(down.parent().tree()).parent = down.parent().name();
        EXPECT_EQ(down.parent().address(), address(down.parent().name(), down.parent().tree()));
        link(node, down.parent().tree(), true, add_all);
        break;
      case control::v1::NodeDown::kGrant: {
        auto& shard = node.shards.at(down.grant().tree());
        shard.grants[down.grant().job_id()] = down.grant();
        check(name, shard);
        break;
      }
      case control::v1::NodeDown::kRevoke:
        node.shards.at(down.revoke().tree()).grants.erase(down.revoke().job_id());
        break;
      case control::v1::NodeDown::kRankDied: ADD_FAILURE() << "no rank dies here"; break;
      case control::v1::NodeDown::WHAT_NOT_SET: ADD_FAILURE();
    }
    add_all(core->node_acks(node.stream, down.sequence(), now()));
  }
  template <class AddAll>
  void link(const Node& node, std::uint32_t tree, bool up, const AddAll& add_all) {
    control::v1::Link link;
    link.set_tree(tree);
    link.set_up(up);
    add_all(core->node_link(node.stream, link, now()));
  }
  void check(const std::string& name, const Shard& shard) {
    std::uint32_t osts = 0, groups = 0;
    for (const auto& [id, grant] : shard.grants) osts += grant.quota().osts(), groups += grant.quota().max_groups();
    EXPECT_LE(osts, 512u) << name << ": granted twice";
    EXPECT_LE(groups, 512u) << name << ": granted twice";
  }

  const HostDown& begin(std::uint64_t job_id, std::uint32_t trees = 1, std::uint32_t osts = 0,
                        std::vector<std::string> hosts = {"h1", "h2", "h3", "h4"}) {
    auto request = test_begin(job_id, std::move(hosts));
    request.set_ticket(job_id);
    request.mutable_quota()->set_num_trees(trees);
    request.mutable_quota()->set_osts(osts);
    request.mutable_quota()->set_max_groups(osts == 0 ? 0 : 8);
    run(core->job_begins(1, request, now()));
    return answers[job_id];
  }
  std::set<std::string> holders(std::uint64_t job_id) const {
    std::set<std::string> names;
    for (const auto& [name, node] : nodes)
      for (const auto& [tree, shard] : node.shards)
        if (shard.grants.contains(job_id)) names.insert(fmt::format("{}/{}", name, tree));
    return names;
  }
  nlohmann::json status() const { return nlohmann::json::parse(core->status_json(now())); }
};

std::vector<std::string> names_of(const control::v1::GrantedTree& tree) {
  std::vector<std::string> names;
  for (const auto& node : tree.nodes()) names.push_back(node.name());
  return names;
}

TEST(Trees, a_job_gets_as_many_trees_as_it_asks_for_and_there_are) {
  World world(two_spines());
  world.up();
  const auto& two = world.begin(7, 2).granted();
  ASSERT_EQ(two.trees_size(), 2);
  EXPECT_EQ(two.quota().num_trees(), 2u);
  EXPECT_THAT(names_of(two.trees(0)), ElementsAre("an-s1", "an-l1", "an-l2"));
  EXPECT_THAT(names_of(two.trees(1)), ElementsAre("an-s2", "an-l1", "an-l2"));
  EXPECT_NE(two.trees(0).tree_id(), two.trees(1).tree_id());
  EXPECT_EQ(two.trees(0).nodes(1).address(), "tcp:an-l1:7000") << "a node has an address for each of its trees";
  EXPECT_EQ(two.trees(1).nodes(1).address(), "tcp:an-l1:7001");
  EXPECT_EQ(two.trees(1).leaves(0), two.trees(1).nodes(1).node_id());
  EXPECT_EQ(two.fabric().rails(), 1u);
  EXPECT_EQ(world.begin(8, 5).granted().trees_size(), 2) << "what there is of what it asked for";
  EXPECT_EQ(world.begin(9).granted().trees_size(), 1);
}

TEST(Trees, a_job_that_names_ports_gets_the_trees_of_their_planes) {
  auto fabric = two_spines();
  fabric.links = {{"l1", "s1", {}}, {"l2", "s2", {}}};  // There are two planes, and each host has a port in both.
  for (auto& host : fabric.hosts) {
    host.leaf = "l1";
    host.device = "mlx5_0";
    host.rails = {{"l2", {}, 0, 0, "mlx5_1"}};
  }
  World world(fabric);
  world.up();
  const struct {
    const char* devices;
    std::vector<std::string> tree_of;  // The node at which the leaf of each tree stands.
  } rows[] = {{"mlx5_0", {"an-l1"}},
              {"mlx5_1:1", {"an-l2"}},
              {"mlx5_1,mlx5_0", {"an-l1", "an-l2"}},
              {"eth7", {"an-l1", "an-l2"}},
              {"", {"an-l1", "an-l2"}}};
  std::uint64_t job = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.devices);
    auto request = test_begin(++job);
    request.set_ticket(job);
    request.mutable_quota()->set_num_trees(2);
    request.mutable_quota()->set_osts(8);
    request.mutable_quota()->set_max_groups(2);
    request.set_devices(row.devices);
    world.run(world.core->job_begins(1, request, world.now()));
    ASSERT_TRUE(world.answers[job].has_granted()) << world.answers[job].refused().text();
    std::vector<std::string> leaves;
    for (const auto& tree : world.answers[job].granted().trees())
      for (const auto& node : tree.nodes())
        if (node.node_id() == tree.leaves(0)) leaves.push_back(node.name());
    EXPECT_EQ(leaves, row.tree_of);
  }
  // One host has its cables swapped: mlx5_0 of all hosts no longer reaches a single plane.
  fabric.hosts[3].device = "mlx5_1";
  fabric.hosts[3].rails[0].device = "mlx5_0";
  World other(fabric);
  other.up();
  auto request = test_begin(1);
  request.set_devices("mlx5_0:1");
  other.run(other.core->job_begins(1, request, other.now()));
  EXPECT_EQ(other.answers[request.ticket()].refused().text(),
            "ports mlx5_0:1 of host h4 reach no tree: name ports that do, or none");
  request.set_devices("mlx5_0:x");
  other.run(other.core->job_begins(1, request, other.now()));
  EXPECT_THAT(other.answers[request.ticket()].refused().text(), HasSubstr("port x is no number"));
}

TEST(Trees, jobs_with_one_tree_are_spread_over_all) {
  World world(two_spines());
  world.up();
  std::set<std::uint32_t> ids;
  for (std::uint64_t job = 1; job <= 2; ++job) ids.insert(world.begin(job).granted().trees(0).tree_id());
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_THAT(world.holders(1), UnorderedElementsAre("an-s1/0", "an-l1/0", "an-l2/0"));
  EXPECT_THAT(world.holders(2), UnorderedElementsAre("an-s2/1", "an-l1/1", "an-l2/1"));
}

TEST(Trees, each_tree_of_a_node_has_osts_of_its_own_and_none_is_granted_twice) {
  World world(two_spines());
  world.up();
  EXPECT_TRUE(world.begin(1, 1, 512).has_granted());
  EXPECT_TRUE(world.begin(2, 1, 512).has_granted()) << "on the other tree";
  EXPECT_THAT(world.begin(3, 1, 1).refused().text(), HasSubstr("all 512 are held by other jobs"));
  control::v1::JobEnd end;
  end.set_ticket(1);
  end.set_job_id(1);
  world.run(world.core->job_ends(1, end, world.now()));
  EXPECT_EQ(world.begin(4, 2, 1).granted().trees_size(), 1) << "one of two has something left";
}

TEST(Trees, a_job_is_cut_down_to_the_nodes_that_its_hosts_need) {
  World world(two_spines());
  world.up();
  const auto& both = world.begin(1, 1, 0, {"h1", "h2"}).granted();
  EXPECT_THAT(names_of(both.trees(0)), ElementsAre("an-l1")) << "both are there";
  EXPECT_THAT(world.holders(1), UnorderedElementsAre("an-l1/0", "an-s1/0"))
      << "the tree's root gives the ids of groups";
  const auto& apart = world.begin(2, 1, 0, {"h1", "h3"}).granted();
  EXPECT_THAT(names_of(apart.trees(0)), ElementsAre("an-s2")) << "each is alone at its leaf";
  EXPECT_THAT(apart.trees(0).leaves(), ElementsAre(2u, 2u));
}

TEST(Trees, a_node_that_stays_away_is_done_without_and_its_jobs_are_told_why) {
  World world(two_spines());
  world.up();
  world.begin(1, 2);
  world.begin(2, 1, 0, {"h1", "h2"});
  world.kill("an-l2");
  EXPECT_TRUE(world.answers[1].has_granted()) << "its stream may only have broken";
  EXPECT_THAT(world.begin(3).refused().text(), HasSubstr("an-l2 has not registered"));
  world.pass(Seconds(3));
  EXPECT_THAT(world.answers[1].ended().why(), HasSubstr("node an-l2 stays away, and tree 1 has changed for this job"));
  EXPECT_TRUE(world.answers[2].has_granted()) << "it did not use that node";
  const auto& next = world.begin(4, 2).granted();
  ASSERT_EQ(next.trees_size(), 2);
  for (const auto& tree : next.trees())
    for (const auto& node : tree.nodes()) EXPECT_NE(node.name(), "an-l2");
  world.add("an-l2");
  EXPECT_TRUE(world.answers[4].has_granted()) << "who comes disturbs nobody";
  for (const std::uint64_t job : {2, 4}) {
    control::v1::JobEnd end;
    end.set_ticket(job);
    end.set_job_id(job);
    world.run(world.core->job_ends(1, end, world.now()));
  }
  EXPECT_THAT(names_of(world.begin(5).granted().trees(0)), ElementsAre("an-s1", "an-l1", "an-l2"))
      << "nobody runs: the best trees again";
}

TEST(Trees, a_job_goes_on_without_what_carries_nothing_of_it) {
  World world(two_spines());
  world.up();
  world.begin(1, 2, 100, {"h1", "h3"});  // Each host is alone at its leaf: the job runs on the spines alone.
  world.kill("an-l2");
  world.pass(Seconds(3));
  EXPECT_TRUE(world.answers[1].has_granted()) << world.answers[1].ended().why();
  auto next = two_spines();
  next.nodes.erase(next.nodes.begin() + 2);  // an-l1
  world.run(world.core->fabric_changes(next, world.now()));
  EXPECT_TRUE(world.answers[1].has_granted()) << world.answers[1].ended().why();
  EXPECT_THAT(world.holders(1), UnorderedElementsAre("an-s1/0", "an-s2/1"));
}

TEST(Trees, a_root_that_is_gone_makes_another_tree_and_the_other_trees_stay) {
  World world(two_spines());
  world.up();
  const auto first = world.begin(1).granted().trees(0).tree_id();
  const auto second = world.begin(2).granted().trees(0).tree_id();
  world.kill("an-s1");
  world.pass(Seconds(3));
  EXPECT_TRUE(world.answers[1].has_ended());
  EXPECT_TRUE(world.answers[2].has_granted());
  const auto& next = world.begin(3, 2).granted();
  ASSERT_EQ(next.trees_size(), 2);
  EXPECT_NE(next.trees(0).tree_id(), first);
  EXPECT_EQ(next.trees(1).tree_id(), second) << "its groups go on";
  for (const auto& node : next.trees(0).nodes()) EXPECT_NE(node.name(), "an-s1");
}

TEST(Trees, a_short_absence_changes_nothing_and_a_new_process_gets_the_grants_again) {
  World world(two_spines());
  world.up();
  world.begin(1, 2);
  const auto held = world.holders(1);
  world.kill("an-l1");
  world.pass(Seconds(2));
  world.add("an-l1");
  EXPECT_EQ(world.holders(1), held);
  EXPECT_TRUE(world.answers[1].has_granted());
}

TEST(Trees, a_restarted_manager_knows_both_trees_and_what_runs_on_them) {
  World world(two_spines());
  world.up();
  world.begin(1, 2, 300);
  world.begin(2, 1, 0, {"h3", "h4"});
  world.kill("an-s2");
  world.pass(Seconds(3));  // The second tree is a new one now, and job 1 is over.
  EXPECT_TRUE(world.answers[1].has_ended());
  world.begin(3, 2, 100);
  const auto before = world.status();
  const auto held = world.holders(3);
  ASSERT_FALSE(held.empty());
  for (auto& [name, node] : world.nodes) node.stream = 0;
  world.start(two_spines());
  for (const char* name : {"an-l2", "an-s1", "an-l1"}) world.add(name);
  auto who = test_host(1);
  for (const std::uint64_t id : {2, 3}) {
    auto* job = who.add_jobs();
    job->set_ticket(id);
    job->set_job_id(id);
    job->set_granted(true);
  }
  world.run(world.core->host_registers(1, who, world.now()));
  EXPECT_EQ(world.holders(3), held);
  const auto after = world.status();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after["trees"][i]["id"], before["trees"][i]["id"]);
    EXPECT_EQ(after["trees"][i]["root"], before["trees"][i]["root"]);
    EXPECT_EQ(after["trees"][i]["osts_granted"], before["trees"][i]["osts_granted"]);
  }
  EXPECT_THAT(world.begin(4, 1, 500).refused().text(), HasSubstr("are free")) << "nothing is granted twice";
}

TEST(Trees, a_radix_makes_deeper_trees_and_one_that_is_too_small_is_refused) {
  auto fabric = two_spines();
  fabric.radix = 2;
  World world(fabric);
  world.up();
  EXPECT_EQ(world.begin(1).granted().trees(0).nodes_size(), 3);
  TestJournal journal;
  fabric.hosts.resize(4);
  for (int i = 5; i < 20; ++i) {
    fabric.hosts.push_back(fabric.hosts[0]);
    fabric.hosts.back().name = fmt::format("h{}", i);
  }
  EXPECT_FALSE(Core(fabric, {}, journal).check());
}

TEST(Trees, a_fabric_read_again_makes_trees_follow_and_jobs_that_notice_nothing_go_on) {
  World world(two_spines());
  world.up();
  world.begin(1, 1, 0, {"h1", "h2"});
  world.begin(2, 1, 0, {"h1", "h2", "h3", "h4"});  // Job 2 is in the second tree.
  auto next = two_spines();
  next.links.erase(next.links.begin() + 3);  // The link l2-s2 is removed.
  topo::Host host;
  host.name = "h5";
  host.leaf = "l1";
  next.hosts.push_back(host);
  world.run(world.core->fabric_changes(next, world.now()));
  EXPECT_TRUE(world.answers[1].has_granted());
  EXPECT_TRUE(world.answers[2].has_ended()) << "its leaf l2 has another way to s2";
  EXPECT_THAT(world.answers[2].ended().why(), HasSubstr("the fabric's description has changed"));
  EXPECT_TRUE(world.begin(3, 2, 0, {"h1", "h5", "h3"}).has_granted());
}

TEST(Trees, without_a_fabric_file_the_fabric_is_what_registers) {
  Rules rules;
  rules.open = true;
  World world(topo::registered_fabric("registered"), rules);
  world.host();
  EXPECT_THAT(world.begin(1, 1, 0, {"h1"}).refused().text(), HasSubstr("start a sharp_an"));
  world.add("an-b");
  world.add("an-a");
  EXPECT_THAT(world.begin(2, 1, 0, {"h1", "h2"}).refused().text(), HasSubstr("host h2 has not registered"));
  world.host(2, "h2");
  EXPECT_THAT(names_of(world.begin(3, 1, 0, {"h1", "h2"}).granted().trees(0)), ElementsAre("an-a"));
  world.add("an-0");
  EXPECT_TRUE(world.answers[3].has_granted()) << "who comes disturbs nobody";
  for (auto& [name, node] : world.nodes) node.stream = 0;
  world.start(topo::registered_fabric("registered"));
  world.add("an-0");
  world.add("an-a");
  EXPECT_THAT(world.holders(3), UnorderedElementsAre("an-a/0")) << "the journal names the fabric";
}

TEST(Trees, what_is_written_down_of_a_tree_is_believed_only_if_it_fits) {
  const auto fabric = two_spines();
  const auto tree = topo::build_trees(fabric, {1, fabric.radix}).value().front();
  const auto shape = shape_of(tree);
  const auto back = tree_of(shape, fabric);
  ASSERT_TRUE(back);
  EXPECT_EQ(shape_of(*back), shape);
  EXPECT_EQ(back->depth_links(), tree.depth_links());
  for (std::size_t n = 0; n < shape.size(); ++n)
    EXPECT_FALSE(tree_of(std::span(shape).first(n), fabric)) << "cut after " << n;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto other = shape;
    other[i] += 1000;
    EXPECT_FALSE(tree_of(other, fabric)) << "number " << i;
  }
  const auto less = two_spines();
  auto smaller = less;
  smaller.hosts.pop_back();
  EXPECT_FALSE(tree_of(shape, smaller));
}

}  // namespace
}  // namespace sumac::manager
