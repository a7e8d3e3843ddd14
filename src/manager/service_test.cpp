// Tests the manager's service in this process, over loopback, with real gRPC clients.
#include "manager/service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "manager/test_manager.hpp"

namespace sumac::manager {
namespace {

using control::v1::HostDown;
using control::v1::HostUp;
using control::v1::JobBegin;
using control::v1::Manager;
using control::v1::NodeDown;
using control::v1::NodeUp;
using control::v1::PingReply;
using control::v1::StatusReply;
using testing::HasSubstr;

/// A sharpd with one job.
struct Job {
  Job(Manager::Stub& stub, const JobBegin& request) : stream(stub.Host(&context)), begin(request) {
    static std::atomic<std::uint64_t> life = 0;
    HostUp up;
    *up.mutable_register_() = test_host(++life);
    stream->Write(up);
    HostDown registered;
    EXPECT_TRUE(stream->Read(&registered) && registered.has_registered());
    *up.mutable_begin() = request;
    stream->Write(up);
    EXPECT_TRUE(stream->Read(&answer));
  }
  ~Job() {
    context.TryCancel();
    stream->Finish();
  }
  bool end() {
    HostUp up;
    *up.mutable_end() = test_end(begin);
    HostDown down;
    return stream->Write(up) && stream->Read(&down) && down.has_ended();
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<HostUp, HostDown>> stream;
  JobBegin begin;
  HostDown answer;
};

TEST(Service, grants_and_ends_a_job_over_real_streams) {
  TestManager manager;
  ControlNode root(*manager.stub, "an-root"), one(*manager.stub, "an-leaf1"), two(*manager.stub, "an-leaf2");
  EXPECT_TRUE(root.registered.trees(0).is_root());
  Job job(*manager.stub, test_begin(7));
  ASSERT_TRUE(job.answer.has_granted()) << job.answer.refused().text();
  EXPECT_EQ(job.answer.granted().trees(0).nodes_size(), 3);
  Job twin(*manager.stub, test_begin(7));
  EXPECT_THAT(twin.answer.refused().text(), HasSubstr("running already"));
  EXPECT_TRUE(job.end());
  Job again(*manager.stub, test_begin(7));
  EXPECT_TRUE(again.answer.has_granted());
  EXPECT_TRUE(manager.service.snapshot({}).events->empty()) << "without a page nobody reads them";
}

TEST(Service, a_job_that_nobody_renews_is_released_when_its_lease_ends) {
  Rules rules;
  rules.lease = Seconds(4);  // The lease is long because a busy machine may be slow to grant.
  rules.renew_every = Seconds(1);
  TestManager manager(rules);
  ControlNode root(*manager.stub, "an-root"), one(*manager.stub, "an-leaf1"), two(*manager.stub, "an-leaf2");
  {
    Job job(*manager.stub, test_begin(7));
    ASSERT_TRUE(job.answer.has_granted());
  }
  manager.wait_for("has not renewed it for 4000 ms");
  Job again(*manager.stub, test_begin(7));
  EXPECT_TRUE(again.answer.has_granted());
}

TEST(Service, a_job_without_all_nodes_is_refused_by_name_and_a_returning_node_mends_it) {
  TestManager manager;
  ControlNode root(*manager.stub, "an-root"), one(*manager.stub, "an-leaf1");
  { ControlNode two(*manager.stub, "an-leaf2"); }
  manager.wait_for("node an-leaf2 is down");
  {
    Job job(*manager.stub, test_begin(7));
    EXPECT_THAT(job.answer.refused().text(), HasSubstr("node an-leaf2 has not registered"));
  }
  ControlNode two(*manager.stub, "an-leaf2");
  Job job(*manager.stub, test_begin(7));
  EXPECT_TRUE(job.answer.has_granted()) << job.answer.refused().text();
}

TEST(Service, what_makes_no_sense_ends_its_own_stream_only) {
  TestManager manager;
  ControlNode root(*manager.stub, "an-root");
  {
    grpc::ClientContext context;
    auto stream = manager.stub->Node(&context);
    NodeUp up;
    *up.mutable_register_() = test_register("an-nowhere");
    stream->Write(up);
    NodeDown down;
    EXPECT_FALSE(stream->Read(&down));
    const auto status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), HasSubstr("an-root, an-leaf1, an-leaf2"));
  }
  {
    grpc::ClientContext context;
    auto stream = manager.stub->Host(&context);
    stream->Write(HostUp{});
    HostDown down;
    EXPECT_FALSE(stream->Read(&down));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    grpc::ClientContext context;
    auto stream = manager.stub->Host(&context);
    HostUp up;
    *up.mutable_register_() = test_host(99);
    up.mutable_register_()->set_host(std::string(control::kMessageBytesMax + 1, 'x'));
    stream->Write(up);
    HostDown down;
    EXPECT_FALSE(stream->Read(&down));
    EXPECT_FALSE(stream->Finish().ok()) << "too large";
  }
  grpc::ClientContext context;
  StatusReply status;
  ASSERT_TRUE(manager.stub->Status(&context, {}, &status).ok());
  EXPECT_EQ(nlohmann::json::parse(status.json())["nodes"][0]["registered"], true);
}

TEST(Service, ping_tells_the_version) {
  TestManager manager;
  grpc::ClientContext context;
  PingReply reply;
  ASSERT_TRUE(manager.stub->Ping(&context, {}, &reply).ok());
  EXPECT_EQ(reply.version(), control::version_text());
}

TEST(Service, stopping_ends_open_streams) {
  auto manager = std::make_unique<TestManager>();
  ControlNode root(*manager->stub, "an-root");
  manager->server.stop();
  root.reader.join();
  root.reader = std::thread([] {});
}

}  // namespace
}  // namespace sumac::manager
