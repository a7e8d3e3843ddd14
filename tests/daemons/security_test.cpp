// Who may do what: keys of jobs, users of one host, certificates of daemons; with real daemons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/bytes.hpp"
#include "tests/daemons/test_tree.hpp"

namespace sumac::tests {
namespace {

using node::TestGroup;
using node::TestMember;
using testing::HasSubstr;

/// Everything that the daemons have written so far, but for the manager's own state.
std::string everything_written(const Scratch& scratch) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path)) {
    if (!entry.is_regular_file() || entry.path().string().find("/state/") != std::string::npos) continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    all += text.str();
  }
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
    EXPECT_THAT(stranger.link().why_closed(), HasSubstr("does not accept the key of job 1"));
  }
  EXPECT_TRUE(tree.one->says("it does not have the key of its job"));
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
    void on_message(net::ConnId, BufferRef) override {}
    void on_closed(net::ConnId, const Error&) override { closed = true; }
    void on_writable(net::ConnId) override {}
    bool closed = false;
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
  body.job_key = holder.job.key;  // a member's is not a node's
  header.payload_bytes = sizeof body;
  std::vector<std::byte> frame(wire::kAggHeaderBytes + sizeof body);
  wire::encode(header, std::span(frame).first<wire::kAggHeaderBytes>());
  wire::store(frame.data() + wire::kAggHeaderBytes, body);
  ASSERT_EQ(transport->send(conn, frame, {}), Errc::ok);
  ASSERT_TRUE(group.until([&] {
    transport->progress(liar);
    return liar.closed;
  }));
  EXPECT_TRUE(group.allreduce(10, 3));
}

TEST(JobKeys, nothing_that_people_read_has_a_key) {
  Tree tree{Tree::Durable{}};
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  for (auto* daemon : {&tree.root, &tree.one, &tree.two}) (*daemon)->signal(SIGUSR1);  // statistics to their files
  EXPECT_TRUE(group.leave());
  const auto key = std::as_bytes(std::span(holder.job.key));
  const std::string text = hex(key, ""), raw(reinterpret_cast<const char*>(key.data()), key.size());
  std::string status;
  {
    const auto stub = control::v1::Manager::NewStub(control::make_channel(tree.manager));
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

}  // namespace
}  // namespace sumac::tests
