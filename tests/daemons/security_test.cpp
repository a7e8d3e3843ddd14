// These tests use real daemons to show the rights that each identity has: keys of jobs, users of one host, certificates
// of daemons.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <filesystem>

#include "base/bytes.hpp"
#include "control/command_line.hpp"
#include "tests/daemons/test_tree.hpp"

namespace sumac::tests {
namespace {

using node::TestGroup;
using node::TestMember;
using testing::HasSubstr;

/// Returns everything that the daemons have written so far, without the manager's own state.
std::string everything_written(const Scratch& scratch) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path))
    if (entry.is_regular_file() && entry.path().string().find("/state/") == std::string::npos)
      all += launch::whole_log(entry.path());
  return all;
}

TEST(JobKeys, a_wrong_key_is_refused_and_disturbs_nobody) {
  Tree tree;
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  ASSERT_NE(holder.job.key, Secret{});
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  auto forged = holder.job;
  forged.key[15] ^= 1;
  {
    TestMember stranger(forged, 1, true);
    stranger.open(2, 1);
    ASSERT_TRUE(group.until([&] {
      stranger.progress();
      return stranger.link().closed();
    }));
    EXPECT_THAT(stranger.link().why_closed(), HasSubstr("it does not know the key"));
  }
  // The node proved itself with the job's real key, so the stranger left first. A stranger that goes on is a row in
  // node/data_path_test.cpp.
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(100, i));
  EXPECT_TRUE(group.leave());
}

TEST(JobKeys, two_jobs_have_two_keys_and_one_does_not_open_the_other) {
  Tree tree;
  Holder one(tree, 1), two(tree, 2);
  ASSERT_EQ(one.refused + two.refused, "");
  ASSERT_NE(one.job.key, two.job.key);
  auto mixed = two.job;
  mixed.key = one.job.key;
  TestMember stranger(mixed, 0, true);
  TestGroup group(two.job);
  ASSERT_TRUE(group.until([&] {
    stranger.progress();
    return stranger.link().closed();
  }));
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(10, 3));
}

TEST(JobKeys, a_process_that_says_it_is_a_node_does_not_speak_for_all_jobs) {
  Tree tree;
  Holder holder(tree, 1);
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  struct Liar final : net::TransportEvents {
    void on_accepted(net::ConnId) override {}
    void on_connected(net::ConnId) override {}
    void on_message(net::ConnId, BufferRef frame) override {
      if (frame.size() == wire::kAggHeaderBytes + sizeof welcome)
        wire::load(welcome, frame.data() + wire::kAggHeaderBytes), is_welcome = true;
    }
    void on_closed(net::ConnId, const Error&) override { closed = true; }
    void on_writable(net::ConnId) override {}
    bool closed = false, is_welcome = false;
    wire::WelcomeBody welcome;
  } liar;
  BufferPool pool(1u << 20);
  const auto transport = net::make_transport({}, pool).value();
  const auto conn = transport->connect(holder.job.address.begin()->second).value();
  wire::AggHeader header;
  header.kind = wire::AggKind::hello;
  header.tree_id = holder.job.tree_id;
  wire::HelloBody body;
  body.role = wire::Role::node;
  body.id = 2;
  ASSERT_EQ(transport->send(conn, wire::encoded(header, body), {}), Errc::ok);
  ASSERT_TRUE(group.until([&] {
    transport->progress(liar);
    return liar.is_welcome;
  }));
  EXPECT_FALSE(liar.closed);
  wire::ProofBody proof;
  const wire::ProofTerms terms{holder.job.tree_id, body, liar.welcome, holder.job.address.begin()->second};
  // A member's key is not a node's.
  ASSERT_TRUE(wire::make_proof(wire::ProvingSide::child, holder.job.key, terms, proof.proof));
  header.kind = wire::AggKind::proof;
  ASSERT_EQ(transport->send(conn, wire::encoded(header, proof), {}), Errc::ok);
  ASSERT_TRUE(group.until([&] {
    transport->progress(liar);
    return liar.closed;
  }));
  EXPECT_TRUE(group.allreduce(10, 3));
}

/// The client has a good key, of its own job or of no job.
TEST(JobKeys, a_member_of_one_job_claims_no_group_of_another) {
  Tree tree;
  Holder one(tree, 1), two(tree, 2);
  ASSERT_EQ(one.refused + two.refused, "");
  TestGroup group(two.job);
  const auto first = group.form(1);
  ASSERT_EQ(first.state, proto::OpenOutcome::State::opened);
  const auto next = GroupId{number_of(first.group_id) + 1};  // the job will open this one next
  const auto newer =
      GroupId{number_of(first.group_id) + 0x10000};  // as if the present group had left, and its number were used again
  auto nobody = two.job;
  nobody.job_id = JobId{99};
  nobody.key = {};
  for (const auto* job : std::vector<const node::TestJob*>{&one.job, &nobody})
    for (const auto claim : {next, newer}) {
      SCOPED_TRACE(fmt::format("job {} claims {:x}", job->job_id, claim));
      TestMember stranger(*job, 1, true);
      ASSERT_TRUE(group.until([&] {
        stranger.progress();
        return stranger.link().settled();
      }));
      EXPECT_EQ(stranger.link().closed(), job == &nobody) << "who is in no job is not even welcome";
      if (stranger.link().closed()) continue;
      stranger.join(claim);
      EXPECT_TRUE(group.until([&] {
        stranger.progress();
        return stranger.link().closed() || stranger.group().phase() == proto::ClientGroup::Phase::refused;
      }));
      stranger.link().detach(stranger.group());
    }
  EXPECT_TRUE(tree.one->says("join: the group number belongs to another job"));
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(100, i));
  TestGroup second(two.job);
  const auto opened = second.form(2);
  ASSERT_EQ(opened.state, proto::OpenOutcome::State::opened);
  EXPECT_EQ(opened.group_id, next) << "the claim was the right one";
  EXPECT_TRUE(second.allreduce(10, 3));
  EXPECT_TRUE(second.leave());
  EXPECT_TRUE(group.leave());
}

TEST(JobKeys, nothing_that_people_read_has_a_key) {
  Tree tree{Tree::Durable{}};
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  // SIGUSR1 makes a daemon write statistics to its file
  for (auto* daemon : {&tree.root, &tree.one, &tree.two}) (*daemon)->signal(SIGUSR1);
  EXPECT_TRUE(group.leave());
  const auto key = std::as_bytes(std::span(holder.job.key));
  const std::string text = hex(key, ""), raw(reinterpret_cast<const char*>(key.data()), key.size());
  std::string status;
  {
    const auto stub = control::v1::Manager::NewStub(control::make_channel(tree.manager).value());
    grpc::ClientContext context;
    control::v1::StatusReply reply;
    ASSERT_TRUE(stub->Status(&context, {}, &reply).ok());
    status = reply.json();
  }
  for (auto* daemon : {&tree.hostd, &tree.one, &tree.two, &tree.root, &tree.am}) EXPECT_EQ((*daemon)->stop(), 0);
  const auto all = status + everything_written(tree.scratch);
  EXPECT_THAT(all, HasSubstr("job_id_external: 1")) << "the logs were read";
  for (const auto& form : {text, hex(key.first(8), ""), raw}) EXPECT_EQ(all.find(form), std::string::npos);
  struct stat info {};
  ASSERT_EQ(::stat(tree.scratch.file("state").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u) << "where the manager keeps it nobody else looks";
}

/// Returns the jobs that a user with these credentials may see.
nlohmann::json status_for(const std::string& manager, control::Tls* tls) {
  const auto channel = control::make_channel(manager, tls);
  if (!channel) return {{"refused", channel.error().context}};
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  control::v1::StatusReply reply;
  const auto status = stub->Status(&context, {}, &reply);
  if (!status.ok()) return {{"refused", control::from_status(status).context}};
  return nlohmann::json::parse(reply.json());
}

/// Returns the end of a stream whose first message is `up`.
grpc::Status registration(control::v1::Manager::Stub& stub, const control::v1::NodeUp& up) {
  grpc::ClientContext context;
  const auto stream = stub.Node(&context);
  stream->Write(up);
  control::v1::NodeDown down;
  EXPECT_FALSE(stream->Read(&down));
  return stream->Finish();
}
grpc::Status registration(control::v1::Manager::Stub& stub, const control::v1::HostUp& up) {
  grpc::ClientContext context;
  const auto stream = stub.Host(&context);
  stream->Write(up);
  control::v1::HostDown down;
  EXPECT_FALSE(stream->Read(&down));
  return stream->Finish();
}
control::v1::HostUp host_called(const std::string& name) {
  control::v1::HostUp up;
  up.mutable_register_()->set_version(control::kControlVersion);
  up.mutable_register_()->set_host(name);
  up.mutable_register_()->set_life(77);
  return up;
}
control::v1::NodeUp node_called(const std::string& name) {
  control::v1::NodeUp up;
  up.mutable_register_()->set_version(control::kControlVersion);
  up.mutable_register_()->set_name(name);
  up.mutable_register_()->add_trees()->set_address("tcp:127.0.0.1:1");
  return up;
}

TEST(MutualTls, a_tree_of_daemons_with_certificates_serves_a_job) {
  Tree tree{Tree::OverTcp{}};
  EXPECT_THAT(tree.am->output(), HasSubstr("with mutual TLS"));
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(100, i));

  using control::CertRole;
  for (const auto role : {CertRole::admin, CertRole::manager})
    EXPECT_EQ(status_for(tree.manager, tree.pki->tls(role, "x").get())["jobs"][0]["id"], 1);
  for (const auto role : {CertRole::host, CertRole::node}) {
    const auto seen = status_for(tree.manager, tree.pki->tls(role, "x").get());
    EXPECT_TRUE(seen["jobs"].empty()) << seen.dump();
    EXPECT_EQ(seen["jobs_total"], 1);
  }
  EXPECT_THAT(status_for(tree.manager, nullptr)["refused"].get<std::string>(), HasSubstr("TLS: "));
  EXPECT_TRUE(group.leave());
}

TEST(MutualTls, nobody_registers_as_another_than_his_certificate_says) {
  Tree tree{Tree::OverTcp{}};
  using control::CertRole;
  const struct {
    const char* name;
    CertRole role;
    std::string of, as_node, as_host;
  } rows[] = {
      {"a node as another node", CertRole::node, "an-leaf1", "an-leaf2", ""},
      {"a host as another host", CertRole::host, "h2", "", "h1"},
      {"a host as a node", CertRole::host, "an-leaf1", "an-leaf1", ""},
      {"a node as a host", CertRole::node, "h1", "", "h1"},
      {"an administrator as a node", CertRole::admin, "an-leaf1", "an-leaf1", ""},
      {"an administrator as a host", CertRole::admin, "h1", "", "h1"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto tls = tree.pki->tls(row.role, row.of);
    const auto stub = control::v1::Manager::NewStub(control::make_channel(tree.manager, tls.get()).value());
    const auto status = row.as_node.empty() ? registration(*stub, host_called(row.as_host))
                                            : registration(*stub, node_called(row.as_node));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(),
                HasSubstr(fmt::format("its certificate is for {} {}", to_string(row.role), row.of)));
  }
  EXPECT_TRUE(tree.am->says("rejected a caller that claims to be host h1: its certificate is for admin h1"));
  EXPECT_TRUE(tree.all_registered()) << "the true ones stay";
}

TEST(MutualTls, a_node_of_another_authority_says_which_side_to_look_at_and_goes_on_trying) {
  Tree tree{Tree::OverTcp{}};
  const control::TestPki other;
  auto files = other.files(control::CertRole::node, "an-leaf1");
  const auto start = [&](const std::string& log) {
    return std::make_unique<DaemonProcess>(
        "sharp_an",
        std::vector<std::string>{"--name", "an-leaf1", "--manager", tree.manager, "--listen", "127.0.0.1:0", "--tls-ca",
                                 files.ca, "--tls-cert", files.cert, "--tls-key", files.key},
        tree.scratch.file(log), false);
  };
  const auto stranger = start("stranger.log");
  EXPECT_TRUE(stranger->says("TLS: the process that answers there has no manager's certificate of our authority"));
  // The node trusts our manager, which does not know the node.
  files.ca = other.file("both.crt", tree.pki->authority.certificate + other.authority.certificate);
  const auto unknown = start("unknown.log");
  EXPECT_TRUE(unknown->says("TLS: "));
  EXPECT_TRUE(tree.am->says("turned away at the TLS handshake: somebody whose certificate is not of this authority"));
  Holder holder(tree, 1);
  EXPECT_EQ(holder.refused, "") << "nobody else notices";
}

TEST(MutualTls, a_certificate_that_can_not_be_right_is_told_at_the_start) {
  const control::TestPki pki;
  Scratch scratch;
  const auto fabric = scratch.file("fabric.yaml", kFabric);
  using control::CertRole;
  const struct {
    const char* program;
    std::vector<std::string> options;
    CertRole has, needs;
    std::string name;
  } rows[] = {
      {"sharp_am", {"--fabric", fabric, "--listen", "127.0.0.1:0"}, CertRole::node, CertRole::manager, "NAME"},
      {"sharp_an", {"--name", "an-root"}, CertRole::host, CertRole::node, "an-root"},
      {"sharpd", {"--host", "h1", "--socket", scratch.file("s")}, CertRole::manager, CertRole::host, "h1"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.program);
    const auto files = pki.files(row.has, "x");
    auto options = row.options;
    options.insert(options.end(), {"--tls-ca", files.ca, "--tls-cert", files.cert, "--tls-key", files.key});
    DaemonProcess daemon(row.program, options, scratch.file(std::string(row.program) + ".log"), false);
    EXPECT_EQ(daemon.wait(), 1);
    EXPECT_THAT(daemon.output(), HasSubstr(fmt::format("it is for {} x, this is {} {}", to_string(row.has),
                                                       to_string(row.needs), row.name)));
  }
}

/// A user can start a program of his own with any certificate: the running manager has to judge it.
TEST(MutualTls, a_certificate_out_of_its_time_is_turned_away_by_a_manager_that_runs) {
  Tree tree{Tree::OverTcp{}};
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  for (const auto& row : control::certificate_times()) {
    SCOPED_TRACE(row.name);
    const auto pair = issue_certificate(tree.pki->authority, {control::CertRole::admin, "x"}, row.when).value();
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(control::kManagerDnsName);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    for (int turn = 0; turn < 5; ++turn) {
      const auto stub = control::v1::Manager::NewStub(grpc::CreateCustomChannel(
          tree.manager, grpc::SslCredentials({tree.pki->authority.certificate, pair.key, pair.certificate}),
          arguments));
      grpc::ClientContext context;
      control::v1::StatusReply reply;
      EXPECT_EQ(stub->Status(&context, {}, &reply).ok(), row.is_good);
    }
  }
  const std::string line =
      "turned away at the TLS handshake: somebody whose certificate is not of this authority, or expired";
  EXPECT_TRUE(tree.am->says(line));
  const auto said = tree.am->output();
  EXPECT_EQ(said.find(line), said.rfind(line)) << "once a minute";
  EXPECT_TRUE(group.allreduce(10, 3));
  EXPECT_TRUE(tree.all_registered()) << "nobody else notices";
}

TEST(MutualTls, a_manager_with_certificates_may_listen_everywhere) {
  const control::TestPki pki;
  Scratch scratch;
  const auto files = pki.files(control::CertRole::manager, "am");
  DaemonProcess am("sharp_am",
                   {"--fabric", scratch.file("fabric.yaml", kFabric), "--listen", "0.0.0.0:0", "--tls-ca", files.ca,
                    "--tls-cert", files.cert, "--tls-key", files.key},
                   scratch.file("am.log"));
  EXPECT_THAT(am.output(), HasSubstr("listens on 0.0.0.0:"));
}

// ---- two users of one machine ---------------------------------------------------------------------------------------------

constexpr uid_t kOther = 65534;

/// Runs one of the tests below as another user: this very program, started anew.
int as_another_user(const std::string& test, const Tree& tree) {
  const UniqueFd self(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  const std::string filter = "--gtest_filter=AnotherUser.DISABLED_" + test;
  const char* const arguments[] = {"another-user", filter.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1",
                                   nullptr};
  const std::string manager = "TEST_MANAGER=" + tree.manager,
                    socket = "TEST_SHARPD=" + tree.scratch.path + "/sharpd.sock";
  const char* const environment[] = {manager.c_str(), socket.c_str(), nullptr};
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(126);
    ::fexecve(self.get(), const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string given(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(AnotherUser, DISABLED_sees_totals_only_and_is_no_daemon) {
  ASSERT_EQ(::geteuid(), kOther);
  const auto manager = given("TEST_MANAGER");
  const auto seen = status_for(manager, nullptr);
  EXPECT_TRUE(seen["jobs"].empty()) << seen.dump();
  EXPECT_EQ(seen["jobs_total"], 1);
  const auto stub = control::v1::Manager::NewStub(control::make_channel(manager).value());
  for (const auto& status : {registration(*stub, host_called("h1")), registration(*stub, node_called("an-leaf1"))}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("may run daemons here"));
  }
}

TEST(AnotherUser, DISABLED_can_neither_end_nor_take_over_a_job) {
  ASSERT_EQ(::geteuid(), kOther);
  const auto connect = [&] {
    auto socket = net::HostClient::connect(given("TEST_SHARPD"), Seconds(20)).value();
    EXPECT_TRUE(
        socket.send(wire::host_message(wire::HostKind::attach, wire::AttachBody{.world_size = 1}), Seconds(20)));
    EXPECT_EQ(socket.receive(Seconds(20)).value().header.kind, wire::HostKind::attached);
    return socket;
  };
  {
    auto socket = connect();
    EXPECT_TRUE(socket.send(wire::host_message(wire::HostKind::job_end, JobId{1}), Seconds(20)));
    EXPECT_FALSE(socket.receive(Seconds(20))) << "sent away";
  }
  auto socket = connect();
  wire::JobBeginBody begin;
  begin.world_size = begin.host_count = 1;
  EXPECT_TRUE(socket.send(wire::host_message(wire::HostKind::job_begin, begin, JobId{1}), Seconds(20)));
  std::vector<wire::JobHostEntry> hosts(1);
  EXPECT_TRUE(wire::put_text(hosts[0].host, "h1"));
  EXPECT_TRUE(
      socket.send(wire::host_list<wire::JobHostEntry>(wire::HostKind::job_host, hosts, 0, 1, JobId{1}), Seconds(20)));
  const auto answer = socket.receive(Seconds(20));
  ASSERT_TRUE(answer && answer->header.kind == wire::HostKind::job_refused);
  const auto refusal = wire::host_entry<wire::JobRefusedBody>(*answer);
  const std::string text(wire::get_text(refusal.text));
  EXPECT_THAT(text, HasSubstr("running already (begun by another user)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("pid"))) << "and does not say who";
}

TEST(Users, clear_text_over_tcp_on_one_machine_takes_daemons_whose_owner_the_kernel_names) {
  Tree tree{Tree::OverTcp{.tls = false}};
  if (const auto us = status_for(tree.manager, nullptr); us["jobs"].is_null())
    GTEST_SKIP() << "this kernel does not say whose a connection is (NETLINK_SOCK_DIAG)";
  Holder holder(tree, 1);
  EXPECT_EQ(holder.refused, "");
  EXPECT_EQ(status_for(tree.manager, nullptr)["jobs"][0]["id"], 1);
  if (::geteuid() == 0) {
    EXPECT_EQ(as_another_user("sees_totals_only_and_is_no_daemon", tree), 0);
  }
}

TEST(Users, one_does_not_see_end_or_join_anothers_job) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  Tree tree;
  ASSERT_EQ(::chmod(tree.scratch.path.c_str(), 0711), 0);  // the other user reaches the sockets, as in /run
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  EXPECT_EQ(status_for(tree.manager, nullptr)["jobs"][0]["id"], 1);
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_EQ(as_another_user("sees_totals_only_and_is_no_daemon", tree), 0);
  EXPECT_EQ(as_another_user("can_neither_end_nor_take_over_a_job", tree), 0);
  EXPECT_TRUE(tree.hostd->says("it ended job 1, which it does not hold"));
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(100, i)) << "its job goes on";
  EXPECT_TRUE(group.leave());
  EXPECT_TRUE(holder.end());
}

}  // namespace
}  // namespace sumac::tests
