#include "hostd/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "base/test_folder.hpp"
#include "control/quota.hpp"
#include "hostd/batch_job.hpp"

namespace sumac::hostd {
namespace {

using testing::HasSubstr;
using wire::HostKind;
using wire::HostMessage;

HostMessage attach() {
  return wire::host_message(HostKind::attach, wire::AttachBody{.world_rank = WorldRank{0}, .world_size = 4});
}

HostMessage begin(std::uint64_t job_id, std::uint32_t hosts = 2, std::uint32_t ranks = 4) {
  wire::JobBeginBody body;
  body.world_size = ranks;
  body.host_count = hosts;
  body.quota.osts = 128;
  body.quota.features = 5;
  return wire::host_message(HostKind::job_begin, body, JobId{job_id});
}

HostMessage host(std::uint64_t job_id, std::uint32_t index, std::uint32_t total, const std::string& name) {
  wire::JobHostEntry entry;
  EXPECT_TRUE(wire::put_text(entry.host, name));
  return wire::host_list<wire::JobHostEntry>(HostKind::job_host, std::span(&entry, 1), index, total, JobId{job_id});
}

template <class T>
const T* first(const Actions& actions) {
  for (const auto& action : actions)
    if (const auto* one = std::get_if<T>(&action)) return one;
  return nullptr;
}

struct Attached {
  Ticket last = 0;
  Session session{Peer{.pid = 4711, .uid = 1000, .gid = 1000}, "h1", [this] { return ++last; }};
  Attached() { EXPECT_NE(first<ToClient>(session.received(attach())), nullptr); }

  void hold(std::uint64_t job_id) {
    session.received(begin(job_id, 1));
    const auto* asked = first<BeginJob>(last_actions = session.received(host(job_id, 0, 1, "h1")));
    ASSERT_NE(asked, nullptr);
    session.answered(asked->ticket, granted());
  }
  static control::v1::HostDown granted() {
    control::v1::HostDown down;
    auto* grant = down.mutable_granted();
    *grant->mutable_quota() = control::quota_message({51, 128, 51, 1, 1, 1, 0, 0, 1});
    grant->set_job_key(std::string(16, 'k'));
    auto* tree = grant->add_trees();
    tree->set_tree_id(1);
    tree->set_root_node(1);
    auto* node = tree->add_nodes();
    node->set_node_id(1);
    node->set_parent_id(1);
    node->set_name("an");
    node->set_address("tcp:127.0.0.1:7");
    tree->add_leaves(1);
    return down;
  }
  Actions last_actions;
};

TEST(Session, a_job_begins_when_its_last_host_is_named_and_goes_to_the_manager_with_the_kernels_word_on_who_asks) {
  Attached client;
  EXPECT_TRUE(client.session.received(begin(7)).empty());
  EXPECT_TRUE(client.session.received(host(7, 0, 2, "h1")).empty());
  const auto actions = client.session.received(host(7, 1, 2, "h2"));
  const auto* asked = first<BeginJob>(actions);
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->begin.job_id(), 7u);
  EXPECT_EQ(asked->begin.quota().osts(), 128u);
  EXPECT_THAT(asked->begin.hosts(), testing::ElementsAre("h1", "h2"));
  EXPECT_EQ(asked->begin.holder(), "h1 pid 4711 uid 1000 rank 0");
  EXPECT_THAT(client.session.held(), testing::ElementsAre(asked->ticket)) << "to be released even before the answer";

  const auto answer = client.session.answered(asked->ticket, Attached::granted());
  ASSERT_EQ(answer.size(), 4u);
  const auto& granted = std::get<ToClient>(answer[0]).message;
  EXPECT_EQ(granted.header.kind, HostKind::job_granted);
  EXPECT_EQ(wire::host_entry<wire::JobGrantedBody>(granted).quota.osts, 51u);
  EXPECT_EQ(std::get<ToClient>(answer[1]).message.header.kind, HostKind::job_tree);
  const auto& node = std::get<ToClient>(answer[2]).message;
  EXPECT_EQ(wire::get_text(wire::host_entry<wire::JobNodeEntry>(node).address), "tcp:127.0.0.1:7");
  EXPECT_EQ(std::get<ToClient>(answer[3]).message.header.kind, HostKind::job_leaf);
}

TEST(Session, names_of_hosts_are_counted_until_the_answer) {
  Attached client;
  EXPECT_FALSE(client.session.is_naming());
  client.session.received(begin(7, 3));
  client.session.received(host(7, 0, 3, "h1"));
  client.session.received(host(7, 1, 3, "h2"));
  EXPECT_TRUE(client.session.is_naming());
  EXPECT_EQ(client.session.names(), 2u);
  const auto second = client.session.received(begin(8));
  ASSERT_NE(first<Offence>(second), nullptr) << "one job at a time is begun";
  EXPECT_THAT(first<Offence>(second)->why, HasSubstr("before it had named all hosts"));
  const auto actions = client.session.received(host(7, 2, 3, "h3"));
  EXPECT_FALSE(client.session.is_naming());
  EXPECT_EQ(client.session.names(), 3u) << "the uplink keeps them until the manager has answered";
  client.session.answered(first<BeginJob>(actions)->ticket, Attached::granted());
  EXPECT_EQ(client.session.names(), 0u);
  client.session.received(begin(9, 1));
  const auto third = client.session.received(host(9, 0, 1, "h1"));
  client.session.manager_lost(first<BeginJob>(third)->ticket, Error{Errc::lost, "gone"});
  EXPECT_EQ(client.session.names(), 0u);
}

TEST(Session, the_hosts_ports_are_told_and_those_of_a_job_passed_on) {
  Session session(
      Peer{.pid = 4711, .uid = 1000, .gid = 1000}, "h1", [] { return Ticket{1}; }, "mlx5_0:1,mlx5_1:1");
  const auto attached = session.received(attach());
  const auto* said = first<ToClient>(attached);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(wire::get_text(wire::host_entry<wire::AttachedBody>(said->message).devices), "mlx5_0:1,mlx5_1:1");
  auto message = begin(7, 1);
  auto body = wire::host_entry<wire::JobBeginBody>(message);
  ASSERT_TRUE(wire::put_text(body.devices, "mlx5_1:1"));
  body.flags = wire::kOutlivesTrees;
  session.received(wire::host_message(HostKind::job_begin, body, JobId{7}));
  const auto actions = session.received(host(7, 0, 1, "h1"));
  const auto* asked = first<BeginJob>(actions);
  EXPECT_TRUE(asked != nullptr && asked->begin.outlives_trees());
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->begin.devices(), "mlx5_1:1");
}

TEST(Session, what_breaks_the_rules_is_an_offence_by_name) {
  const struct {
    const char* name;
    std::function<void(Attached&)> before;
    HostMessage message;
    const char* says;
  } rows[] = {
      {"attach again", {}, attach(), "attached twice"},
      {"more hosts than ranks", {}, begin(7, 3, 2), "2 ranks on 3 hosts"},
      {"no host", {}, begin(7, 0, 2), "on 0 hosts"},
      {"more hosts than a list may have", {}, begin(7, 70000, 70000), "70000 hosts"},
      {"the same job twice", [](auto& c) { c.session.received(begin(7)); }, begin(7), "it began job 7 twice"},
      {"hosts of nothing", {}, host(7, 0, 2, "h1"), "which it is not beginning"},
      {"a gap in the list", [](auto& c) { c.session.received(begin(7)); }, host(7, 1, 2, "h1"),
       "host 1 of 2 instead of host 0 of 2"},
      {"another total", [](auto& c) { c.session.received(begin(7)); }, host(7, 0, 3, "h1"), "host 0 of 3"},
      {"an evil name", [](auto& c) { c.session.received(begin(7)); }, host(7, 0, 2, "h\n1"), "no legal name"},
      {"hosts after the last", [](auto& c) { c.hold(7); }, host(7, 0, 1, "h1"), "which it is not beginning"},
      {"end of nothing", {}, wire::host_message(HostKind::job_end, JobId{7}), "does not hold"},
      {"end before the grant", [](auto& c) { c.session.received(begin(7)); },
       wire::host_message(HostKind::job_end, JobId{7}), "not running"},
      {"a reply", {}, wire::host_message(HostKind::job_ended, JobId{7}), "which only sharpd may send"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Attached client;
    if (row.before) row.before(client);
    const auto actions = client.session.received(row.message);
    const auto* offence = first<Offence>(actions);
    ASSERT_NE(offence, nullptr);
    EXPECT_THAT(offence->why, HasSubstr(row.says));
  }
  Ticket last = 0;
  Session fresh({}, "h1", [&] { return ++last; });
  EXPECT_THAT(first<Offence>(fresh.received(begin(7)))->why, HasSubstr("before attach"));
}

TEST(Session, a_refusal_and_a_missing_manager_have_their_numbers) {
  const struct {
    const char* name;
    std::function<Actions(Session&, Ticket)> answer;
    std::uint32_t status;
    const char* says;
  } rows[] = {
      {"refused",
       [](Session& s, Ticket t) {
         control::v1::HostDown down;
         down.mutable_refused()->set_status(35);
         down.mutable_refused()->set_text("513 OSTs asked");
         return s.answered(t, down);
       },
       35, "513 OSTs asked"},
      {"no manager",
       [](Session& s, Ticket t) {
         return s.manager_lost(t, {Errc::lost, "no manager at x:1"});
       },
       52, "no manager at x:1"},
      {"a silent manager",
       [](Session& s, Ticket t) {
         return s.manager_lost(t, {Errc::timeout, "silent"});
       },
       52, "silent"},
      {"a manager that chokes",
       [](Session& s, Ticket t) {
         return s.manager_lost(t, {Errc::invalid, "too large"});
       },
       35, "too large"},
      {"a text longer than its field",
       [](Session& s, Ticket t) {
         return s.manager_lost(t, {Errc::lost, std::string(2000, 'x')});
       },
       52, "xxxx"},
      {"a text of several lines",
       [](Session& s, Ticket t) {
         return s.manager_lost(t, {Errc::lost, std::string("no\nmore\tthan\x7f\0 this \xc3\xa4", 22)});
       },
       52, "no more than   this \xc3\xa4"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Attached client;
    client.session.received(begin(7, 1));
    const auto ticket = first<BeginJob>(client.session.received(host(7, 0, 1, "h1")))->ticket;
    const auto actions = row.answer(client.session, ticket);
    const auto* reply = first<ToClient>(actions);
    ASSERT_NE(reply, nullptr);
    ASSERT_EQ(reply->message.header.kind, HostKind::job_refused);
    EXPECT_EQ(wire::flaw_of_host_message(wire::encoded(reply->message)), nullptr);
    const auto body = wire::host_entry<wire::JobRefusedBody>(reply->message);
    EXPECT_EQ(body.status, row.status);
    EXPECT_THAT(std::string(wire::get_text(body.text)), HasSubstr(row.says));
    EXPECT_TRUE(client.session.held().empty());
    EXPECT_TRUE(client.session.received(begin(7, 1)).empty()) << "the id is free for another try";
  }
}

TEST(Session, an_ended_job_is_confirmed_also_when_the_manager_is_gone) {
  for (const bool manager_lives : {true, false}) {
    SCOPED_TRACE(manager_lives);
    Attached client;
    client.hold(7);
    const auto end = client.session.received(wire::host_message(HostKind::job_end, JobId{7}));
    ASSERT_NE(first<EndJob>(end), nullptr);
    control::v1::HostDown down;
    down.mutable_ended();
    const auto reply =
        manager_lives ? client.session.answered(1, down) : client.session.manager_lost(1, {Errc::lost, "x"});
    EXPECT_EQ(first<ToClient>(reply)->message.header.kind, HostKind::job_ended);
    EXPECT_TRUE(client.session.held().empty());
  }
  Attached client;
  client.hold(7);
  EXPECT_TRUE(client.session.manager_lost(1, {Errc::lost, "x"}).empty()) << "the job goes on without its manager";
  const auto reply = client.session.received(wire::host_message(HostKind::job_end, JobId{7}));
  EXPECT_EQ(first<ToClient>(reply)->message.header.kind, HostKind::job_ended);
}

TEST(Session, a_late_answer_to_a_former_begin_is_nobodys) {
  Attached client;
  client.hold(7);
  client.session.received(wire::host_message(HostKind::job_end, JobId{7}));
  client.session.manager_lost(1, {Errc::lost, "x"});
  client.session.received(begin(7, 1));
  client.session.received(host(7, 0, 1, "h1"));
  EXPECT_TRUE(client.session.answered(1, Attached::granted()).empty());
  EXPECT_FALSE(client.session.answered(2, Attached::granted()).empty());
}

TEST(Session, a_client_holds_a_bounded_number_of_jobs) {
  Attached client;
  for (std::uint64_t id = 1; id <= kJobsPerClientMax; ++id) client.hold(id);
  const auto actions = client.session.received(begin(1000));
  const auto* reply = first<ToClient>(actions);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->message.header.kind, HostKind::job_refused);
}

TEST(Session, a_long_list_is_cut_into_messages_that_the_client_accepts) {
  Attached client;
  client.session.received(begin(7, 1));
  client.session.received(host(7, 0, 1, "h1"));
  auto down = Attached::granted();
  auto* trees = down.mutable_granted()->mutable_trees();
  trees->Mutable(0)->clear_leaves();
  for (int i = 0; i < 1000; ++i) trees->Mutable(0)->add_leaves(1);
  *trees->Add() = trees->Get(0);
  std::uint32_t leaves = 0, count = 0;
  for (const auto& action : client.session.answered(1, down)) {
    const auto& message = std::get<ToClient>(action).message;
    EXPECT_EQ(wire::flaw_of_host_message(wire::encoded(message)), nullptr);
    if (message.header.kind == HostKind::job_tree) {
      EXPECT_EQ(wire::host_entry<wire::JobTreeBody>(message).tree_index, count++);
      EXPECT_EQ(std::exchange(leaves, 0), count == 1 ? 0u : 1000u);
    }
    if (message.header.kind != HostKind::job_leaf) continue;
    EXPECT_EQ(message.header.index, leaves);
    leaves += message.header.entries;
  }
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(leaves, 1000u);
}

HostMessage member(std::uint64_t job_id, std::uint32_t world_rank) {
  return wire::host_message(HostKind::member, wire::MemberBody{WorldRank{world_rank}, 0, {7}}, JobId{job_id});
}

TEST(Session, who_enters_a_job_is_its_member_until_it_leaves) {
  Attached client;
  EXPECT_TRUE(client.session.received(member(7, 3)).empty()) << "nobody waits for an answer";
  EXPECT_TRUE(client.session.received(member(8, 0)).empty());
  ASSERT_EQ(client.session.memberships().size(), 2u);
  EXPECT_EQ(client.session.memberships()[0].job_id, JobId{7});
  EXPECT_EQ(client.session.memberships()[0].world_rank, WorldRank{3});
  EXPECT_EQ(client.session.memberships()[0].job_key, Secret{7});
  EXPECT_TRUE(client.session.received(wire::host_message(HostKind::leave, JobId{7})).empty());
  ASSERT_EQ(client.session.memberships().size(), 1u);
  EXPECT_EQ(client.session.memberships()[0].job_id, JobId{8});
  EXPECT_TRUE(client.session.held().empty()) << "a member holds nothing";
}

TEST(Session, a_member_may_want_other_trees_and_shows_the_key_with_which_it_came) {
  Attached client;
  const auto wanted = [](std::uint64_t job_id) {
    return wire::host_message(HostKind::trees_wanted, wire::TreesWantedBody{3, 0}, JobId{job_id});
  };
  client.session.received(member(7, 3));
  const auto actions = client.session.received(wanted(7));
  const auto* want = first<WantTrees>(actions);
  ASSERT_NE(want, nullptr);
  EXPECT_EQ(want->job_id, JobId{7});
  EXPECT_EQ(want->job_key, Secret{7});
  EXPECT_EQ(want->times_again, 3u);
  EXPECT_NE(first<Offence>(client.session.received(wanted(8))), nullptr) << "it is no member";
}

TEST(Session, a_member_twice_or_of_too_many_jobs_or_a_leave_of_none_is_an_offence) {
  Attached client;
  client.session.received(member(7, 3));
  EXPECT_NE(first<Offence>(client.session.received(member(7, 3))), nullptr);
  EXPECT_NE(first<Offence>(client.session.received(wire::host_message(HostKind::leave, JobId{9}))), nullptr);
  for (std::uint64_t job = 100; job < 100 + kJobsPerClientMax - 1; ++job)
    EXPECT_TRUE(client.session.received(member(job, 0)).empty());
  EXPECT_NE(first<Offence>(client.session.received(member(1000, 0))), nullptr);
  Session fresh(Peer{.pid = 1, .uid = 1, .gid = 1}, "h1", [] { return Ticket{1}; });
  EXPECT_NE(first<Offence>(fresh.received(member(7, 3))), nullptr) << "before attach";
}

TEST(BatchJob, is_read_from_the_names_of_control_groups) {
  const struct {
    const char* cgroups;
    const char* job;
  } rows[] = {
      {"0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_0\n", "slurm job 1234"},
      {"4:memory:/slurm/uid_1000/job_77/step_batch\n1:name=systemd:/\n", "slurm job 77"},
      {"0::/system.slice/slurmstepd.scope/job_12\n", "slurm job 12"},
      {"0::/user.slice/job_5/x\n", ""},
      {"0::/slurm/job_/step_0\n", ""},
      {"0::/slurm/job_12a/step_0\n", ""},
      {"", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(batch_job_of(row.cgroups), row.job) << row.cgroups;
}

TEST(BatchJob, that_a_process_claims_is_a_number) {
  using namespace std::literals;
  const struct {
    std::string_view environment;
    const char* job;
  } rows[] = {
      {"A=1\0SLURM_JOB_ID=1234\0B=2\0"sv, "slurm job 1234 (claimed)"},
      {"SLURM_JOB_ID=7"sv, "slurm job 7 (claimed)"},
      {"SLURM_JOB_ACCOUNT=weather\0SLURM_JOB_ID=7\0"sv, "slurm job 7 account weather (claimed)"},
      {"SLURM_JOB_ID=7\0SLURM_JOB_ACCOUNT=a b\0"sv, "slurm job 7 (claimed)"},
      {"SLURM_JOB_ACCOUNT=weather\0"sv, ""},
      {"SLURM_JOB_ID=18446744073709551615\0"sv, "slurm job 18446744073709551615 (claimed)"},
      {"SLURM_JOB_ID=118446744073709551615\0"sv, ""},
      {"SLURM_JOB_ID=12 of root\0SLURM_JOB_ID=13\0"sv, ""},
      {"SLURM_JOB_ID=\0"sv, ""},
      {"MY_SLURM_JOB_ID=5\0"sv, ""},
      {""sv, ""},
  };
  for (const auto& row : rows) EXPECT_EQ(claimed_batch_job(row.environment), row.job) << row.environment;
}

TEST(BatchJob, is_that_of_the_slurmstepd_from_which_a_process_descends) {
  const TestFolder folder("batch_job");
  const auto named = [&](const std::string& text, mode_t mode = 0644) {
    (void)folder.write(std::to_string(::getppid()), text, mode);
    return batch_job_by_step(::getpid(), folder.path, ::geteuid());
  };
  std::ifstream stat(fmt::format("/proc/{}/stat", ::getppid()));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string start;
  for (int i = 0; i < 20; ++i) words >> start;
  EXPECT_EQ(named("77 " + start + " 1000 weather"), "slurm job 77 of uid 1000 account weather");
  EXPECT_EQ(named("77 1 1000 weather"), "") << "an earlier process with this number";
  EXPECT_EQ(named("7x " + start + " 1000"), "");
  EXPECT_EQ(named("77 " + start + " x"), "");
  EXPECT_EQ(named("77 " + start + " 1000", 0666), "") << "others may write it";
  EXPECT_EQ(named("77 " + start + " 1000 " + std::string(65, 'x')), "slurm job 77 of uid 1000");
  EXPECT_EQ(named("77 " + start + " 1000"), "slurm job 77 of uid 1000");
  EXPECT_EQ(batch_job_by_step(::getpid(), folder.path, ::geteuid() + 1), "") << "another's folder";
  EXPECT_EQ(batch_job_by_step(1, folder.path, ::geteuid()), "");
}

TEST(BatchJob, of_a_process_is_what_its_environment_claims_where_no_control_group_says_more) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SLURM_JOB_ID", "42", 1);
    ::execlp("sleep", "sleep", "60", nullptr);
    ::_exit(127);
  }
  const auto job = [&] { return batch_job_of_process(child); };
  const auto end = monotonic_now() + Seconds(30);
  while (job() != "slurm job 42 (claimed)" && monotonic_now() < end) std::this_thread::yield();
  EXPECT_EQ(job(), "slurm job 42 (claimed)");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(job(), "") << "it has ended";
}

}  // namespace
}  // namespace sumac::hostd
