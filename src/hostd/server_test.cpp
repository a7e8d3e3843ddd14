// Tests sharpd with real sockets and a real manager, and with clients that misbehave or die.
#include "hostd/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
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
#include "recorder/reader.hpp"

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
                  Duration attach_within = Seconds(60), const std::string& host = "h1",
                  const std::string& held_file = {}, const std::optional<Held>& former = {})
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
        server({.host = host,
                .manager = manager,
                .manager_timeout = manager_timeout,
                .life = control::draw_life(),
                .held_file = held_file,
                .attach_within = attach_within},
               net::HostServer::listen(path).value(), wake, Server::make_epoll().value(), log),
        loop(begin(former)) {}
  std::thread begin(const std::optional<Held>& former) {
    EXPECT_TRUE(server.answer_inspections());
    if (former) server.take_over(*former);
    return std::thread([this] {
      while (!stopping) EXPECT_TRUE(server.run_once(stop.fd()));
    });
  }
  ~Sharpd() { end(); }
  void end() {
    if (!loop.joinable()) return;
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
  explicit Tree(manager::Rules rules = {}) : manager(rules) {}
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
  manager::Rules rules;
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

/// The process becomes a rank of job 7, and may hand over its page, in which it waits in a barrier.
void enter(Client& client, std::uint32_t rank, const Secret& key, bool has_page = true) {
  auto page = std::make_unique<recorder::Page>();
  page->header = {.magic = recorder::kPageMagic, .world_rank = static_cast<int>(rank), .world_size = 2, .job = 7};
  page->tracks[0].begun = recorder::kStep;
  page->tracks[0].rank = static_cast<int>(rank);
  page->tracks[0].size = 2;
  page->tracks[0].is_used = 1;
  const UniqueFd memory(::memfd_create("page", MFD_CLOEXEC));
  EXPECT_EQ(::write(memory.get(), page.get(), sizeof(recorder::Page)), ssize_t{sizeof(recorder::Page)});
  wire::MemberBody body{WorldRank{rank}, 0, {}};
  std::ranges::copy(key, body.job_key.begin());
  EXPECT_TRUE(client.socket.send(wire::host_message(HostKind::member, body, JobId{7}), Seconds(20),
                                 has_page ? memory.get() : -1));
}
struct Member : Client {
  Member(const std::string& path, std::uint32_t rank, const Secret& key) : Client(path) { enter(*this, rank, key); }
};

Result<control::v1::InspectReply> inspect(const Sharpd& sharpd, const std::string& key = {}) {
  control::v1::InspectRequest request;
  request.set_job_id(7);
  request.set_job_key(key);
  request.set_everywhere(true);
  return control::inspect("unix:" + sharpd.path + control::kInspectSuffix, request, Seconds(20));
}

/// Returns what the daemons have said, in their names' order: "h1 rank 0".
std::vector<std::string> told(const Result<control::v1::InspectReply>& reply) {
  if (!reply) return {reply.error().context};
  std::vector<std::string> all;
  for (const auto& daemon : reply->daemons()) {
    for (const auto& rank : daemon.ranks()) {
      const auto page = recorder::decode_packed(rank.page());
      const auto before = recorder::decode_packed(rank.page_before());
      EXPECT_TRUE(page && before && page->tracks.at(0).is_inside()) << "both looks have its barrier";
      all.push_back(fmt::format("{} rank {}", daemon.name(), page ? page->world_rank : -1));
    }
    for (const auto& death : daemon.deaths()) {
      const auto last = recorder::decode_packed(death.page());
      EXPECT_TRUE(last && last->tracks.at(0).is_inside()) << "it died in its barrier";
      all.push_back(fmt::format("{} rank {} died", daemon.name(), death.world_rank()));
    }
    if (!daemon.silent().empty()) all.push_back(fmt::format("{} is silent: {}", daemon.name(), daemon.silent()));
  }
  std::ranges::sort(all);
  return all;
}

TEST(Sharpd, shows_a_jobs_ranks_on_all_hosts_while_the_manager_is_dead) {
  auto tree = std::make_unique<Tree>();
  const auto manager = tree->manager.server.endpoint();
  Sharpd first(manager);
  auto third = std::make_unique<Sharpd>(manager, Seconds(15), Seconds(60), "h3");
  Client holder(first.path);
  // Its answer comes behind the third host's word where it is to be asked.
  Client before(third->path);
  ASSERT_EQ(before.begin(6, {"h3"}).header.kind, HostKind::job_granted);
  const auto granted = holder.begin(7, {"h1", "h3"});
  ASSERT_EQ(granted.header.kind, HostKind::job_granted);
  Secret key;
  std::ranges::copy(wire::host_entry<wire::JobGrantedBody>(granted).job_key, key.begin());
  const Member zero(first.path, 0, key), one(third->path, 1, key);
  const std::vector<std::string> whole{"h1 rank 0", "h3 rank 1"};
  for (const Sharpd* sharpd : {static_cast<const Sharpd*>(&first), static_cast<const Sharpd*>(third.get())})
    while (told(inspect(*sharpd)) != whole) continue;  // Until the manager has answered both.
  tree.reset();
  EXPECT_EQ(told(inspect(first)), whole);
  EXPECT_EQ(told(inspect(*third)), whole);
  EXPECT_EQ(told(inspect(first, std::string(16, 'x'))),
            std::vector<std::string>{"no rank of job 7 is on this host that you may look into"});
  EXPECT_EQ(told(inspect(first, "half")).size(), 1u);

  Member stranger(first.path, 5, Secret{1});
  stranger.send(wire::host_message(HostKind::leave, JobId{7}));
  third.reset();
  const auto began = monotonic_now();
  const auto left = told(inspect(first));
  EXPECT_LT(monotonic_now() - began, Seconds(1));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0], "h1 rank 0");
  EXPECT_THAT(left[1], HasSubstr("h3 is silent: "));
}

TEST(Sharpd, that_takes_over_asks_the_jobs_other_hosts_with_the_manager_dead) {
  auto tree = std::make_unique<Tree>();
  const auto manager = tree->manager.server.endpoint();
  Sharpd third(manager, Seconds(15), Seconds(60), "h3");
  Client before(third.path);
  ASSERT_EQ(before.begin(6, {"h3"}).header.kind, HostKind::job_granted);
  const auto held = testing::TempDir() + fmt::format("sumac-server-held-{}", ::getpid());
  auto first = std::make_unique<Sharpd>(manager, Seconds(15), Seconds(60), "h1", held);
  Client holder(first->path);
  const auto granted = holder.begin(7, {"h1", "h3"});
  ASSERT_EQ(granted.header.kind, HostKind::job_granted);
  Secret key;
  std::ranges::copy(wire::host_entry<wire::JobGrantedBody>(granted).job_key, key.begin());
  const Member one(third.path, 1, key);
  enter(holder, 0, key);
  while (told(inspect(*first)) != std::vector<std::string>{"h1 rank 0", "h3 rank 1"})
    continue;  // Until the manager has answered.
  const auto former = load_held(held).value().value();
  tree.reset();
  Sharpd second(manager, Seconds(15), Seconds(60), "h1", {}, former);
  EXPECT_EQ(told(inspect(second)), std::vector<std::string>{"h3 rank 1"});
  EXPECT_EQ(told(inspect(second, std::string(16, 'x'))).at(0).substr(0, 10), "no rank of");
  first.reset();
  ::unlink(held.c_str());
}

TEST(Sharpd, remembers_who_died_and_shows_it_to_the_jobs_owner) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();  // The fork must come before any thread of this test.
  if (child == 0) {
    char path[256]{};
    if (::read(go[0], path, sizeof path - 1) <= 0) ::_exit(1);
    Member dies(path, 1, Secret{9});
    ::_exit(0);
  }
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  ASSERT_GT(::write(go[1], sharpd.path.data(), sharpd.path.size()), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  sharpd.wait_for("rank 1 of job 7 died");
  EXPECT_THAT(told(inspect(sharpd)), testing::Contains("h1 rank 1 died"));
  // Those that come later are told, unless they have another key.
  for (const auto& key : {Secret{8}, Secret{9}}) {
    Client later(sharpd.path);
    wire::MemberBody body{WorldRank{0}, wire::kHearsDeaths, {}};
    std::ranges::copy(key, body.job_key.begin());
    later.send(wire::host_message(HostKind::member, body, JobId{7}));
    const auto answer = later.begin(8);
    EXPECT_EQ(answer.header.kind, key == Secret{9} ? HostKind::rank_died : HostKind::job_granted);
    if (key == Secret{9}) {
      EXPECT_EQ(number_of(wire::host_entry<wire::MemberBody>(answer).world_rank), 1u);
    }
  }
  for (const int fd : go) ::close(fd);
}

/// More messages than one pass reads, of a process that then dies and leaves a child with copies of its sockets.
TEST(Sharpd, what_a_dead_process_sent_last_counts) {
  constexpr std::uint64_t kPairs = 35;
  int go[2], held[2];
  ASSERT_EQ(::pipe(go) | ::pipe(held), 0);
  const pid_t child = ::fork();  // The fork must come before any thread of this test.
  if (child == 0) {
    char path[256]{};
    if (::read(go[0], path, sizeof path - 1) <= 0) ::_exit(1);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(path));
    if (::write(held[1], "a", 1) != 1 || ::read(go[0], path, 1) != 1) ::_exit(1);
    for (auto& client : clients)
      for (std::uint64_t job = 1000; job < 1000 + kPairs; ++job) {
        client->send(wire::host_message(HostKind::member, wire::MemberBody{}, JobId{job}));
        client->send(wire::host_message(HostKind::leave, JobId{job}));
      }
    enter(*clients.back(), 1, Secret{9});
    ::close(go[1]);
    if (::fork() == 0)
      while (::read(go[0], path, 1) > 0) continue;
    ::_exit(0);
  }
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  ASSERT_GT(::write(go[1], sharpd.path.data(), sharpd.path.size()), 0);
  char attached = 0;
  ASSERT_EQ(::read(held[0], &attached, 1), 1);
  sharpd.end();
  ASSERT_EQ(::write(go[1], "s", 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(sharpd.server.run_once(-1));
  EXPECT_THAT(sharpd.lines, HasSubstr("rank 1 of job 7 died"));
  for (const int fd : {go[0], go[1], held[0], held[1]}) ::close(fd);
}

/// Anybody may say that he is that rank of that job.
TEST(Sharpd, shows_a_dead_ranks_page_beside_no_other_death) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char path[256]{};
    if (::read(go[0], path, sizeof path - 1) <= 0) ::_exit(1);
    Member dies(path, 1, Secret{9});
    Client claims(path);
    enter(claims, 1, Secret{8}, false);
    ::_exit(0);
  }
  Tree tree;
  Sharpd sharpd(tree.manager.server.endpoint());
  ASSERT_GT(::write(go[1], sharpd.path.data(), sharpd.path.size()), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  int deaths = 0, pages = 0;
  for (const Time until = monotonic_now() + Seconds(20); deaths < 2 && monotonic_now() < until;) {
    const auto reply = inspect(sharpd);
    deaths = pages = 0;
    for (int i = 0; reply && i < reply->daemons_size(); ++i)
      for (const auto& death : reply->daemons(i).deaths()) ++deaths, pages += !death.page().empty();
  }
  EXPECT_EQ(deaths, 2);
  EXPECT_EQ(pages, 1);
  for (const int fd : go) ::close(fd);
}

}  // namespace
}  // namespace sumac::hostd
