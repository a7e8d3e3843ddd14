// The library's side of the conversation with sharpd, with a peer that sends whatever the test wants, right or wrong.
#include "client/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sharp/api/sharp_coll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <thread>

#include "base/test_folder.hpp"
#include "client/job.hpp"
#include "client/test_grant.hpp"
#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::HostKind;

/// A socket at a path of its own, and one connection that a script in a thread serves.
class Peer {
 public:
  explicit Peer(std::function<void(Peer&)> script) {
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    thread_ = std::thread([this, script] {
      fd_ = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
      script(*this);
      fd_.reset();
    });
  }
  ~Peer() { thread_.join(); }
  std::string path() const { return folder_.file("sharpd.sock"); }
  wire::HostMessage hear() {
    std::array<std::byte, 2048> bytes;
    const auto n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    wire::HostMessage message;
    EXPECT_EQ(wire::decode(std::span(bytes).first(n < 0 ? 0 : static_cast<std::size_t>(n)), message), Errc::ok);
    return message;
  }
  void say(const wire::HostMessage& message) {
    const auto bytes = wire::encoded(message);
    ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void say_raw(std::size_t bytes) {
    const std::vector<char> junk(bytes, 'x');
    ::send(fd_.get(), junk.data(), junk.size(), MSG_NOSIGNAL);
  }
  void welcome() {
    hear();
    wire::AttachedBody body;
    ASSERT_TRUE(wire::put_text(body.host, "node1"));
    say(wire::host_message(HostKind::attached, body));
  }
  void wait_for_hangup() {
    char byte;
    while (::recv(fd_.get(), &byte, 1, 0) > 0) {
    }
  }

 private:
  const TestFolder folder_{"session"};
  UniqueFd listener_, fd_;
  std::thread thread_;
};

Outcome<Session> attach(const Peer& peer, Duration patience = 5s) {
  wire::AttachBody who;
  who.world_size = 1;
  return Session::attach(peer.path(), who, patience);
}

TEST(Session, AttachLearnsTheHostsName) {
  Peer peer([](Peer& p) { p.welcome(); });
  const auto session = attach(peer);
  ASSERT_TRUE(session) << session.error().text;
  EXPECT_EQ(session->host(), "node1");
}

TEST(Session, NoSocketNoDaemon) {
  wire::AttachBody who;
  for (const std::string& path : {std::string("/nonexistent/sharpd.sock"), std::string(), std::string(200, 'x')}) {
    const auto session = Session::attach(path, who, 1s);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().status, SHARP_COLL_ESESS_INIT);
    EXPECT_THAT(session.error().text, HasSubstr("failed to open sharp session with SHARPD daemon"));
  }
}

TEST(Session, WhatIsNoSharpdIsNoSession) {
  const struct {
    const char* name;
    std::function<void(Peer&)> script;
  } rows[] = {
      {"hangs up", [](Peer& p) { p.hear(); }},
      {"says garbage", [](Peer& p) { p.hear(), p.say_raw(1024); }},
      {"says too much", [](Peer& p) { p.hear(), p.say_raw(1025); }},
      {"says too little", [](Peer& p) { p.hear(), p.say_raw(3); }},
      {"answers another question", [](Peer& p) { p.hear(), p.say(wire::host_message(HostKind::job_ended, JobId{7})); }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Peer peer(row.script);
    const auto session = attach(peer);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().status, SHARP_COLL_ESESS_INIT);
  }
}

TEST(Session, ASharpdOfAnotherVersionIsNamedWithBothVersions) {
  for (const int other : {wire::kHostVersion - 1, wire::kHostVersion + 1}) {
    Peer peer([other](Peer& p) {
      p.hear();
      auto message = wire::host_message(HostKind::attached, JobId{0});
      message.header.version = static_cast<std::uint8_t>(other);
      p.say(message);
    });
    const auto session = attach(peer);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().status, SHARP_COLL_ESESS_INIT);
    EXPECT_THAT(session.error().text,
                HasSubstr(fmt::format("the other side speaks version {} of the messages between sharpd "
                                      "and library, this one {}",
                                      other, wire::kHostVersion)));
  }
}

TEST(Session, SilenceEndsAtTheDeadline) {
  Peer peer([](Peer& p) { p.hear(), p.wait_for_hangup(); });
  const auto session = attach(peer, 20ms);
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().text, HasSubstr("no answer in time"));
}

TEST(Session, ABindingEndsTheWaitOfItsThread) {
  Peer peer([](Peer& p) { p.wait_for_hangup(); });
  int asked = 0;
  const auto not_any_more = [](void* context) -> int { return ++*static_cast<int*>(context) < 3 ? 1 : 0; };
  bound_patience({not_any_more, &asked});
  const auto session = attach(peer, 1h);
  bound_patience({});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().status, SHARP_COLL_ESESS_INIT);
  EXPECT_THAT(session.error().text, HasSubstr("no answer in time"));
  EXPECT_EQ(asked, 3);
}

TEST(Session, AManagerThatDoesNotGrantReproducibleSumsEndsTheJobBeforeItBegins) {
  Peer peer([](Peer& p) {
    p.welcome();
    const auto begin = p.hear();
    EXPECT_EQ(begin.header.kind, HostKind::job_begin);
    wire::JobBeginBody request;
    wire::load(request, begin.body.data());
    EXPECT_EQ(request.quota.features, SHARP_FEATURE_LLT | SHARP_FEATURE_REPRODUCIBLE);
    EXPECT_EQ(p.hear().header.kind, HostKind::job_host);
    test::Answer answer{.job_id = JobId{99}};  // The answer of a manager that does not know the feature.
    for (auto& tree : answer.trees) tree.host_leaf.resize(1);
    for (const auto& message : answer.messages()) p.say(message);
    EXPECT_EQ(p.hear().header.kind, HostKind::job_end);
    p.say(wire::host_message(HostKind::job_ended, JobId{99}));
  });
  auto session = attach(peer);
  ASSERT_TRUE(session) << session.error().text;
  auto config = load_client_config();
  ASSERT_TRUE(config);
  config->reproducible = true;
  const auto job = begin_job(Oob({}, nullptr, 0, 1), {}, &*session, JobId{99}, {}, *config,
                             Logger(Logger::Form::library, LogLevel::fatal));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().status, SHARP_COLL_ENOT_SUPP);
  EXPECT_THAT(job.error().text, HasSubstr("SUMAC_REPRODUCIBLE=1, but sharp_am does not grant"));
}

TEST(Session, AGrantIsReadWholeWithListsOverSeveralMessages) {
  const std::uint32_t kHosts = 600;  // More than fit into one message, in both directions.
  test::Answer answer{.job_id = JobId{99}};
  answer.trees[0].host_leaf.assign(kHosts, NodeId{2});
  answer.trees[1].host_leaf.assign(kHosts, NodeId{2});
  Peer peer([&](Peer& p) {
    p.welcome();
    EXPECT_EQ(p.hear().header.kind, HostKind::job_begin);
    std::uint32_t heard = 0;
    while (heard < kHosts) {
      const auto message = p.hear();
      ASSERT_EQ(message.header.kind, HostKind::job_host);
      ASSERT_EQ(message.header.index, heard);
      heard += message.header.entries;
    }
    for (const auto& message : answer.messages()) p.say(message);
    p.hear();
    p.say(wire::host_message(HostKind::job_ended, JobId{99}));
  });
  auto session = attach(peer);
  ASSERT_TRUE(session);
  std::vector<std::string> hosts;
  for (std::uint32_t i = 0; i < kHosts; ++i) hosts.push_back(fmt::format("host{}", i));
  wire::JobBeginBody request;
  request.world_size = request.host_count = kHosts;
  const auto granted = session->begin_job(JobId{99}, request, hosts, 5s);
  ASSERT_TRUE(granted) << granted.error().text;
  const auto sent = answer.messages();
  ASSERT_EQ(granted->size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(wire::encoded((*granted)[i]), wire::encoded(sent[i]));
  const auto ended = session->end_job(JobId{99}, 5s);
  EXPECT_TRUE(ended) << ended.error().text;
}

TEST(Session, RefusalsSpeakTheWordsUsersKnow) {
  const struct {
    std::uint32_t status;
    const char* text;
  } rows[] = {{52, "No Aggregation Manager (sharp_am) detected(-52): start it"}, {35, "Job error(-35): start it"}};
  for (const auto& row : rows) {
    Peer peer([&](Peer& p) {
      p.welcome();
      p.hear();
      p.hear();
      wire::JobRefusedBody body;
      body.status = row.status;
      ASSERT_TRUE(wire::put_text(body.text, "start it"));
      p.say(wire::host_message(HostKind::job_refused, body, JobId{5}));
    });
    auto session = attach(peer);
    ASSERT_TRUE(session);
    wire::JobBeginBody request;
    request.world_size = request.host_count = 1;
    const auto granted = session->begin_job(JobId{5}, request, {"node1"}, 5s);
    ASSERT_FALSE(granted);
    EXPECT_EQ(granted.error().status, SHARP_COLL_EJOB_CREATE);
    EXPECT_THAT(granted.error().text, HasSubstr(row.text));
  }
}

TEST(Session, AListOutOfOrderIsNotBelieved) {
  Peer peer([](Peer& p) {
    p.welcome();
    p.hear();
    p.hear();
    auto messages = test::Answer{.job_id = JobId{5}}.messages();
    std::swap(messages[2], messages[3]);
    for (std::size_t i = 0; i < 3; ++i) p.say(messages[i]);
    p.wait_for_hangup();
  });
  {
    auto session = attach(peer);
    ASSERT_TRUE(session);
    wire::JobBeginBody request;
    request.world_size = request.host_count = 1;
    const auto granted = session->begin_job(JobId{5}, request, {"node1"}, 5s);
    ASSERT_FALSE(granted);
    EXPECT_THAT(granted.error().text, HasSubstr("job_node"));
  }
}

}  // namespace
}  // namespace sumac::client
