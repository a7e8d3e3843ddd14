// Tests sharpd with real sockets and a real manager, and with clients that misbehave or die.
#include "hostd/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/test_folder.hpp"
#include "base/unix_address.hpp"
#include "control/life.hpp"
#include "manager/test_manager.hpp"

namespace sumac::hostd {
namespace {

using manager::ControlNode;
using manager::TestManager;
using testing::HasSubstr;
using wire::HostKind;

struct Directory : TestFolder {
  Directory() : TestFolder("hostd") {}
  ~Directory() { EXPECT_TRUE(std::filesystem::is_empty(path)) << "the socket file is still there"; }
};

/// Runs sharpd's loop in a thread, with its socket in a directory of its own.
struct Sharpd {
  explicit Sharpd(const std::string& manager, Duration manager_timeout = Seconds(15),
                  Duration attach_within = Seconds(60))
      : path(directory.path + "/sharpd.sock"),
        wake(control::WakeEvent::make().value()),
        stop(control::WakeEvent::make().value()),
        log(Logger::Form::daemon, LogLevel::debug,
            [this](std::string_view line) {
              const std::lock_guard lock(mutex);
              lines += line;
              if (std::getenv("SUMAC_TEST_VERBOSE") != nullptr) fmt::print(stderr, "{}", line);
              said.notify_all();
            }),
        server({.host = "h1",
                .manager = manager,
                .manager_timeout = manager_timeout,
                .life = control::draw_life(),
                .attach_within = attach_within},
               net::HostServer::listen(path).value(), wake, Server::make_epoll().value(), log),
        loop([this] {
          while (!stopping) EXPECT_TRUE(server.run_once(stop.fd()));
        }) {}
  ~Sharpd() {
    stopping = true;
    stop.set();
    loop.join();
  }
  void wait_for(const std::string& words) {
    std::unique_lock lock(mutex);
    said.wait(lock, [&] { return lines.find(words) != lines.npos; });
  }

  Directory directory;
  std::string path;
  control::WakeEvent wake, stop;
  std::mutex mutex;
  std::condition_variable said;
  std::string lines;
  Logger log;
  Server server;
  std::atomic<bool> stopping = false;
  std::thread loop;
};

/// The library's side of the protocol: attach, begin, answers. This process uses it, and so do the children that get
/// killed.
struct Client {
  net::HostClient socket;
  explicit Client(const std::string& path) : socket(net::HostClient::connect(path, Seconds(20)).value()) {
    send(wire::host_message(HostKind::attach, wire::AttachBody{.world_size = 2}));
    host = std::string(wire::get_text(wire::host_entry<wire::AttachedBody>(receive()).host));
  }
  void send(const wire::HostMessage& message) { EXPECT_TRUE(socket.send(message, Seconds(20))); }
  wire::HostMessage receive() { return socket.receive(Seconds(20)).value(); }
  wire::HostMessage begin(std::uint64_t job_id, std::vector<std::string> names = {"h1", "h2", "h3", "h4"},
                          std::uint32_t osts = 0) {
    wire::JobBeginBody body;
    body.world_size = body.host_count = static_cast<std::uint32_t>(names.size());
    body.quota.osts = osts;
    send(wire::host_message(HostKind::job_begin, body, JobId{job_id}));
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      wire::JobHostEntry entry;
      (void)wire::put_text(entry.host, names[i]);
      send(wire::host_list<wire::JobHostEntry>(HostKind::job_host, std::span(&entry, 1), i, body.host_count,
                                               JobId{job_id}));
    }
    return receive();
  }
  std::string host;
};

std::string refusal(const wire::HostMessage& message, std::uint32_t status) {
  EXPECT_EQ(message.header.kind, HostKind::job_refused);
  const auto body = wire::host_entry<wire::JobRefusedBody>(message);
  EXPECT_EQ(body.status, status);
  return std::string(wire::get_text(body.text));
}

struct Tree {
  explicit Tree(manager::CoreRules rules = {}) : manager(rules) {}
  TestManager manager;
  ControlNode root{*manager.stub, "an-root"}, one{*manager.stub, "an-leaf1"}, two{*manager.stub, "an-leaf2"};
};

TEST(Sharpd, carries_a_job_from_begin_to_end) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  Client client(sharpd.path);
  EXPECT_EQ(client.host, "h1");
  const auto granted = client.begin(7);
  ASSERT_EQ(granted.header.kind, HostKind::job_granted);
  EXPECT_EQ(wire::host_entry<wire::JobGrantedBody>(granted).quota.osts, 51u);
  EXPECT_EQ(wire::host_entry<wire::JobGrantedBody>(granted).tree_count, 1u);
  EXPECT_EQ(client.receive().header.kind, HostKind::job_tree);
  for (std::uint32_t node = 0; node < 3; ++node) EXPECT_EQ(client.receive().header.kind, HostKind::job_node);
  EXPECT_EQ(client.receive().header.kind, HostKind::job_leaf);
  client.send(wire::host_message(HostKind::job_end, JobId{7}));
  EXPECT_EQ(client.receive().header.kind, HostKind::job_ended);
}

TEST(Sharpd, refusals_reach_the_client_with_number_and_words) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  Client client(sharpd.path);
  EXPECT_THAT(refusal(client.begin(7, {"h1", "h9"}), 35), HasSubstr("host h9 is not in the fabric"));
  EXPECT_THAT(refusal(client.begin(7, {"h1"}, 600), 35), HasSubstr("600 OSTs asked, a node has 512"));
  EXPECT_EQ(client.begin(7).header.kind, HostKind::job_granted) << "the connection is as good as before";
}

TEST(Sharpd, without_a_manager_a_begin_is_refused_at_once_and_works_when_there_is_one) {
  std::string endpoint;
  {
    TestManager gone;
    endpoint = gone.server.endpoint();
  }
  Sharpd sharpd(endpoint);
  Client client(sharpd.path);
  EXPECT_THAT(refusal(client.begin(7), 52), HasSubstr("no manager at " + endpoint));
}

TEST(Sharpd, a_manager_that_takes_the_call_and_stays_silent_is_given_up) {
  // The listener accepts nothing: the connection is established, but no answer ever comes.
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string path = testing::TempDir() + "sumac-silent-" + std::to_string(::getpid());
  const auto address = unix_address(path).value();
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  Sharpd sharpd("unix:" + path, Millis(100));
  Client client(sharpd.path);
  EXPECT_THAT(refusal(client.begin(7), 52), HasSubstr("has not answered for 100 ms"));
  ::unlink(path.c_str());
}

TEST(Sharpd, kill_9_of_a_client_releases_its_job_at_the_manager) {
  int go[2], held[2];
  ASSERT_EQ(::pipe(go) | ::pipe(held), 0);
  const pid_t child = ::fork();  // The fork must come before any thread of this test.
  if (child == 0) {
    char path[256]{};
    if (::read(go[0], path, sizeof path - 1) <= 0) ::_exit(1);
    Client client(path);
    const char granted = client.begin(7, {"h1", "h3"}, 300).header.kind == HostKind::job_granted ? 'y' : 'n';
    if (::write(held[1], &granted, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  ASSERT_GT(::write(go[1], sharpd.path.data(), sharpd.path.size()), 0);
  char granted = 0;
  ASSERT_EQ(::read(held[0], &granted, 1), 1);
  ASSERT_EQ(granted, 'y');
  Client other(sharpd.path);
  EXPECT_THAT(refusal(other.begin(8, {"h1"}, 300), 35), HasSubstr("212 of 512 are free"));

  ASSERT_EQ(::kill(child, SIGKILL), 0);
  tree.manager.wait_for("is gone without ending it");
  EXPECT_EQ(other.begin(8, {"h1"}, 300).header.kind, HostKind::job_granted);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {go[0], go[1], held[0], held[1]}) ::close(fd);
}

TEST(Sharpd, a_client_that_hangs_up_releases_its_job) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  {
    Client client(sharpd.path);
    EXPECT_EQ(client.begin(7).header.kind, HostKind::job_granted);
  }
  tree.manager.wait_for("is gone without ending it");
}

TEST(Sharpd, sharpds_own_death_releases_what_its_clients_held_when_the_lease_ends) {
  manager::CoreRules rules;
  rules.lease = Seconds(4);  // The lease is long because a busy machine may be slow to grant.
  rules.renew_every = Seconds(1);
  Tree tree(rules);
  auto sharpd = std::make_unique<Sharpd>(tree.manager.server.endpoint());
  Client client(sharpd->path);
  EXPECT_EQ(client.begin(7).header.kind, HostKind::job_granted);
  sharpd.reset();
  tree.manager.wait_for("its sharpd or its host is gone");
}

TEST(Sharpd, malformed_messages_cost_their_sender_the_connection_and_nobody_else) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  Client good(sharpd.path);
  const std::vector<std::size_t> sizes{
      1, 23, wire::kHostMessageBytes - 1, wire::kHostMessageBytes, wire::kHostMessageBytes + 1, 60000};
  for (const auto size : sizes) {
    SCOPED_TRACE(size);
    UniqueFd raw(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto address = unix_address(sharpd.path).value();
    ASSERT_EQ(::connect(raw.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::vector<char> junk(size, 'J');
    ASSERT_EQ(::send(raw.get(), junk.data(), size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    char byte;
    EXPECT_LE(::recv(raw.get(), &byte, 1, 0), 0) << "closed, without a word";
  }
  Client rude(sharpd.path);
  rude.send(wire::host_message(HostKind::job_end, JobId{99}));
  EXPECT_FALSE(rude.socket.receive(Seconds(20)));
  sharpd.wait_for("it ended job 99, which it does not hold");
  EXPECT_EQ(good.begin(7).header.kind, HostKind::job_granted);
}

TEST(Sharpd, who_never_says_attach_is_hung_up_on_and_who_did_may_be_silent) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint(), Seconds(15), Millis(300));
  Client good(sharpd.path);
  auto first = net::HostClient::connect(sharpd.path, Seconds(20)).value();
  auto second = net::HostClient::connect(sharpd.path, Seconds(20)).value();
  EXPECT_EQ(first.receive(Seconds(20)).error().code, Errc::lost);
  EXPECT_EQ(second.receive(Seconds(20)).error().code, Errc::lost);
  sharpd.wait_for("is sent away: no attach within 300 ms");
  EXPECT_EQ(good.begin(7).header.kind, HostKind::job_granted);
  const std::lock_guard lock(sharpd.mutex);
  const auto line = sharpd.lines.find("is sent away");
  EXPECT_EQ(sharpd.lines.find("is sent away", line + 1), std::string::npos) << "one line a minute";
}

TEST(Sharpd, who_begins_a_job_and_does_not_name_its_last_host_is_hung_up_on) {
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint(), Seconds(15), Millis(300));
  Client good(sharpd.path);
  Client slow(sharpd.path);
  wire::JobBeginBody body;
  body.world_size = body.host_count = 2;
  slow.send(wire::host_message(HostKind::job_begin, body, JobId{8}));
  EXPECT_EQ(slow.socket.receive(Seconds(20)).error().code, Errc::lost);
  sharpd.wait_for("it began a job and did not name the last of its hosts in time");
  EXPECT_EQ(good.begin(7).header.kind, HostKind::job_granted);
}

}  // namespace
}  // namespace sumac::hostd
