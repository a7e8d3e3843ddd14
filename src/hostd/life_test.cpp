// Tests the lives of jobs: the manager's core, its journal and the uplinks of several sharpds are joined by lossless
// but breakable connections on the event queue of sim. Whatever dies, its jobs' resources are free within 10 s, and resources of
// a running job are never granted again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "hostd/uplink.hpp"
#include "manager/test_journal.hpp"
#include "manager/test_tree.hpp"
#include "sim/event_queue.hpp"

namespace sumac::hostd {
namespace {

using manager::StreamId;
using testing::HasSubstr;

/// Nodes acknowledge each message at once and remember their jobs, as real ones do.
struct NodeEnd {
  std::string name;
  std::set<std::uint64_t> jobs;
};

class World {
 public:
  struct Sharpd {
    std::unique_ptr<Uplink> uplink;
    StreamId stream = 0;  ///< The sharpd's stream; 0 means not connected.
    std::map<Ticket, std::string> answers;
  };
  static constexpr Duration kStep = Millis(100);

  World() {
    for (const char* name : {"an-root", "an-leaf1", "an-leaf2"}) nodes_.push_back({name, {}});
    start_manager();
    for (std::size_t i = 0; i < 3; ++i) start_sharpd(i);
    pass(Seconds(1));
  }

  // ---- events
  /// All its connections end, and what is on them is lost.
  void kill_manager() {
    core_.reset();
    for (auto& [id, sharpd] : sharpds_)
      if (std::exchange(sharpd.stream, 0) != 0) act(id, sharpd.uplink->stream_over({Errc::lost, "reset"}, now()));
    settle();
  }
  void start_manager() {
    ++manager_life_;
    core_.emplace(manager::test_core({}, journal_));
    carry(core_->restore(journal_.state, now()));
    StreamId stream = 1'000'000;
    for (auto& node : nodes_) {
      node_stream_[node.name] = ++stream;
      carry(core_->node_registers(stream, manager::test_register(node.name), now()));
      control::v1::Link link;
      link.set_up(true);
      carry(core_->node_link(stream, link, now()));
    }
    settle();
  }
  void start_sharpd(std::size_t id) {
    auto& sharpd = sharpds_[id];
    sharpd = Sharpd{};
    sharpd.uplink = std::make_unique<Uplink>(
        UplinkRules{.host = "h" + std::to_string(id + 1), .manager = "am", .life = ++last_life_});
  }
  /// kill -9: the process sends nothing more, and the manager sees the connection end.
  void kill_sharpd(std::size_t id) {
    const auto stream = sharpds_.at(id).stream;
    sharpds_.erase(id);
    if (core_ && stream != 0) carry(core_->host_stream_ended(stream, now()));
    settle();
  }
  /// The connection breaks, and both ends live on.
  void cut(std::size_t id) {
    auto& sharpd = sharpds_.at(id);
    const auto stream = std::exchange(sharpd.stream, 0);
    if (stream == 0) return;
    if (core_) carry(core_->host_stream_ended(stream, now()));
    act(id, sharpd.uplink->stream_over({Errc::lost, "cut"}, now()));
    settle();
  }
  void forget_state() { journal_.state = {}; }
  void freeze_manager(bool yes) { frozen_ = yes; }

  Ticket begin(std::size_t id, std::uint64_t job_id, std::uint32_t osts = 0, std::uint32_t groups = 0) {
    const Ticket ticket = ++last_ticket_;
    auto request = manager::test_begin(job_id);
    request.mutable_quota()->set_osts(osts);
    request.mutable_quota()->set_max_groups(groups);
    act(id, sharpds_.at(id).uplink->begin(ticket, request, now()));
    settle();
    return ticket;
  }
  void end(std::size_t id, Ticket ticket) {
    act(id, sharpds_.at(id).uplink->end(ticket, now()));
    settle();
  }
  void client_dies(std::size_t id, Ticket ticket) {
    act(id, sharpds_.at(id).uplink->drop(ticket, "it died", now()));
    settle();
  }

  void pass(Duration time) {
    for (const Time end = now() + time; now() < end;) {
      events_.pass_to(now() + kStep);
      for (auto& [id, sharpd] : sharpds_)
        if (sharpd.uplink->next_deadline() <= now()) act(id, sharpd.uplink->tick(now()));
      // A manager that stood still looks at its clock before its sockets.
      if (core_ && !frozen_ && core_->next_deadline() <= now()) carry(core_->tick(now()));
      settle();
    }
  }

  // ---- state
  std::string answer(std::size_t id, Ticket ticket) { return sharpds_.at(id).answers[ticket]; }
  nlohmann::json status() const { return nlohmann::json::parse(core_->status_json(now())); }
  std::set<std::uint64_t> jobs() const {
    std::set<std::uint64_t> ids;
    const auto all = status();
    for (const auto& job : all["jobs"]) ids.insert(job["id"].get<std::uint64_t>());
    return ids;
  }
  std::uint32_t osts_free() const { return status()["osts_free"]; }
  /// Checks that manager, journal and nodes agree on the running jobs, and that nothing was granted twice.
  void expect_jobs(const std::set<std::uint64_t>& ids) {
    EXPECT_EQ(jobs(), ids);
    std::set<std::uint64_t> kept;
    std::uint32_t osts = 0;
    for (const auto& job : journal_.state.jobs) kept.insert(number_of(job.job_id)), osts += job.quota.osts;
    EXPECT_EQ(kept, ids) << "in the journal";
    EXPECT_LE(osts, 512u);
    for (const auto& node : nodes_) EXPECT_EQ(node.jobs, ids) << "at " << node.name;
  }

 private:
  void receive(StreamId stream, const control::v1::HostUp& up) {
    using control::v1::HostUp;
    switch (up.what_case()) {
      case HostUp::kRegister: return carry(core_->host_registers(stream, up.register_(), now()));
      case HostUp::kBegin: return carry(core_->job_begins(stream, up.begin(), now()));
      case HostUp::kEnd: return carry(core_->job_ends(stream, up.end(), now()));
      case HostUp::kRenew: return carry(core_->host_renews(stream, up.renew(), now()));
      case HostUp::kRankDied: return carry(core_->rank_died(stream, up.rank_died()));
      case HostUp::kInspectable: return core_->host_inspectable(stream, up.inspectable().address());
      case HostUp::kJobDaemons: return carry(core_->job_daemons(stream, up.job_daemons()));
      case HostUp::kTreesWanted: return carry(core_->trees_wanted(stream, up.trees_wanted(), now()));
      case HostUp::WHAT_NOT_SET: FAIL();
    }
  }
  void act(std::size_t id, UplinkActions actions) {
    auto& sharpd = sharpds_.at(id);
    for (auto& action : actions)
      std::visit(overloaded{
                     [&](OpenStream& open) {
                       if (!core_) {
                         act(id, sharpd.uplink->stream_over({Errc::lost, "connection refused"}, now()));
                         return;
                       }
                       sharpd.stream = ++last_stream_;
                       send_up(sharpd.stream, open.first);
                     },
                     [&](SendUp& send) {
                       if (sharpd.stream != 0) send_up(sharpd.stream, send.message);
                     },
                     [&](Answer& answer) {
                       sharpd.answers[answer.ticket] = answer.lost                 ? "lost: " + answer.why.context
                                                       : answer.down.has_granted() ? "granted"
                                                       : answer.down.has_ended()   ? "ended"
                                                                                   : answer.down.refused().text();
                     },
                     [](TellMembers&) {},
                     [](TellTrees&) {},
                     [](Note&) {},
                 },
                 action);
  }
  /// To the manager that lives now. While it stands still the message waits in its socket.
  void send_up(StreamId stream, const control::v1::HostUp& up, Duration after = {}) {
    events_.add(now() + after, [this, stream, up, life = manager_life_] {
      if (!core_ || life != manager_life_) return;
      if (frozen_)
        send_up(stream, up, kStep);
      else
        receive(stream, up);
    });
  }
  void carry(const manager::Actions& actions) {
    for (const auto& action : actions) {
      if (const auto* node = std::get_if<manager::ToNode>(&action))
        events_.add(now(), [this, to = *node] { to_node(to); });
      if (const auto* host = std::get_if<manager::ToHost>(&action))
        events_.add(now(), [this, to = *host] { to_host(to); });
    }
  }
  void to_host(const manager::ToHost& to) {
    for (auto& [id, sharpd] : sharpds_)
      if (sharpd.stream == to.stream) act(id, sharpd.uplink->heard(to.message, now()));
  }
  void to_node(const manager::ToNode& to) {
    for (auto& node : nodes_) {
      if (!core_ || node_stream_[node.name] != to.stream) continue;
      const auto& message = to.message;
      if (message.has_registered()) {
        std::set<std::uint64_t> told;
        for (const auto& tree : message.registered().trees())
          for (const auto& grant : tree.grants()) told.insert(grant.job_id());
        node.jobs = told;
      }
      if (message.has_grant()) node.jobs.insert(message.grant().job_id());
      if (message.has_revoke()) node.jobs.erase(message.revoke().job_id());
      carry(core_->node_acks(to.stream, message.sequence(), now()));
    }
  }
  Time now() const { return events_.now(); }
  /// Everything that is under way arrives.
  void settle() {
    while (const auto what = events_.next(now())) (*what)();
  }

  sim::EventQueue<std::function<void()>> events_{at(Seconds(1))};
  manager::TestJournal journal_;
  std::optional<manager::Core> core_;
  std::uint64_t manager_life_ = 0;
  bool frozen_ = false;
  std::vector<NodeEnd> nodes_;
  std::map<std::string, StreamId> node_stream_;
  std::map<std::size_t, Sharpd> sharpds_;
  StreamId last_stream_ = 0;
  std::uint64_t last_life_ = 0;
  Ticket last_ticket_ = 0;
};

TEST(Life, a_job_lives_as_long_as_its_sharpd_renews) {
  World world;
  const auto ticket = world.begin(0, 7);
  EXPECT_EQ(world.answer(0, ticket), "granted");
  world.pass(Seconds(3600));
  world.expect_jobs({7});
  world.end(0, ticket);
  EXPECT_EQ(world.answer(0, ticket), "ended");
  world.expect_jobs({});
}

TEST(Life, sharpd_dying_under_a_job_releases_it_within_ten_seconds_and_nothing_else) {
  World world;
  world.begin(0, 7);
  world.begin(1, 8);
  world.pass(Millis(1900));  // The last renewal is now as old as it can become.
  world.kill_sharpd(0);
  world.pass(Seconds(5));
  world.expect_jobs({7, 8});
  world.pass(Seconds(5));
  world.expect_jobs({8});
}

TEST(Life, a_sharpd_that_comes_back_as_another_process_does_not_renew_what_the_former_held) {
  World world;
  world.begin(0, 7);
  world.kill_sharpd(0);
  world.start_sharpd(0);
  world.pass(Seconds(10));
  world.expect_jobs({});
  EXPECT_EQ(world.answer(0, world.begin(0, 7)), "granted") << "the id is free again";
}

TEST(Life, a_line_that_breaks_and_heals_costs_no_job) {
  World world;
  const auto ticket = world.begin(0, 7);
  for (int i = 0; i < 20; ++i) {
    world.cut(0);
    world.pass(Millis(1300));
  }
  world.expect_jobs({7});
  EXPECT_EQ(world.answer(0, ticket), "granted") << "and nobody was told that it is lost";
}

TEST(Life, a_rank_that_dies_before_its_job_request_leaves_nothing) {
  World world;
  // The client dies before its begin is complete, so sharpd has no ticket for it. A client whose begin was sent is
  // dropped before the answer.
  world.freeze_manager(true);
  const auto ticket = world.begin(0, 7);
  world.client_dies(0, ticket);
  world.freeze_manager(false);
  world.pass(Millis(200));
  world.expect_jobs({});
  EXPECT_EQ(world.osts_free(), 512u);
}

TEST(Life, several_clients_dying_in_one_cycle_are_all_released) {
  World world;
  std::vector<Ticket> tickets;
  for (std::uint64_t id = 1; id <= 9; ++id) tickets.push_back(world.begin(0, id));
  world.expect_jobs({1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const auto ticket : tickets)
    if (ticket != tickets[4]) world.client_dies(0, ticket);
  world.expect_jobs({5});
  EXPECT_EQ(world.osts_free(), 512u - 51);
}

TEST(Life, there_is_no_lack_of_resources_while_there_are_free_ones) {
  // 1000 jobs run one after the other and end by every possible means; each can have all resources.
  World world;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    const auto ticket = world.begin(id % 3, id, 512, 512);
    ASSERT_EQ(world.answer(id % 3, ticket), "granted") << "job " << id;
    switch (id % 4) {
      case 0: world.client_dies(id % 3, ticket); break;
      case 1: world.end(id % 3, ticket); break;
      case 2:
        world.cut(id % 3);
        world.client_dies(id % 3, ticket);
        world.pass(Seconds(1));
        break;
      case 3:
        world.kill_sharpd(id % 3);
        world.start_sharpd(id % 3);
        world.pass(Seconds(10));
        break;
    }
  }
  world.expect_jobs({});
}

TEST(Life, a_manager_killed_under_fifty_jobs_knows_them_all_again_and_grants_nothing_twice) {
  World world;
  std::vector<Ticket> tickets;
  std::set<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= 50; ++id) {
    tickets.push_back(world.begin(id % 3, id, 10, 10));
    ids.insert(id);
  }
  world.expect_jobs(ids);
  const auto tree = world.status()["tree_id"];
  world.kill_manager();
  world.pass(Seconds(30));  // However long the manager stays away, no client is told of it.
  for (std::uint64_t id = 1; id <= 50; ++id) EXPECT_EQ(world.answer(id % 3, tickets[id - 1]), "granted");
  world.start_manager();
  world.expect_jobs(ids);
  EXPECT_EQ(world.status()["tree_id"], tree);
  world.pass(Seconds(1));
  EXPECT_THAT(world.answer(0, world.begin(0, 99, 13)), HasSubstr("12 of 512 are free"));
  world.pass(Seconds(60));
  world.expect_jobs(ids);
}

TEST(Life, what_ended_or_died_while_the_manager_was_away_is_released_when_it_is_back) {
  World world;
  const auto ended = world.begin(0, 1), died = world.begin(0, 2);
  world.begin(0, 3);
  world.begin(1, 4);
  world.kill_manager();
  world.end(0, ended);
  EXPECT_EQ(world.answer(0, ended), "ended") << "its owner does not wait for the manager";
  world.client_dies(0, died);
  world.kill_sharpd(1);
  world.pass(Seconds(3));
  world.start_manager();
  world.pass(Seconds(1));
  world.expect_jobs({3, 4});
  world.pass(Seconds(9));
  world.expect_jobs({3});
}

TEST(Life, a_begin_under_way_when_the_manager_dies_is_granted_once_after_its_restart) {
  World world;
  world.freeze_manager(true);  // The frozen manager took the message and never answered.
  const auto ticket = world.begin(0, 7, 300);
  world.kill_manager();
  world.freeze_manager(false);
  world.pass(Seconds(2));
  EXPECT_EQ(world.answer(0, ticket), "");
  world.start_manager();
  world.pass(Seconds(1));
  EXPECT_EQ(world.answer(0, ticket), "granted");
  world.expect_jobs({7});
  EXPECT_EQ(world.osts_free(), 212u);
}

TEST(Life, a_manager_that_stood_still_takes_no_job_for_dead) {
  World world;
  world.begin(0, 7);
  world.freeze_manager(true);  // Like SIGSTOP or a suspended machine: renewals wait in its sockets.
  world.pass(Seconds(60));
  world.freeze_manager(false);
  world.pass(Seconds(20));
  world.expect_jobs({7});
}

TEST(Life, a_manager_that_forgot_everything_tells_sharpds_that_their_jobs_are_over) {
  World world;
  const auto ticket = world.begin(0, 7);
  world.kill_manager();
  world.forget_state();
  world.start_manager();
  world.pass(Seconds(1));
  EXPECT_THAT(world.answer(0, ticket), HasSubstr("does not know this job any more"));
  world.expect_jobs({});
}

}  // namespace
}  // namespace sumac::hostd
