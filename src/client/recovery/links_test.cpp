// The connections between the processes of a job on loopback: order, losses, and everybody who is none of them.
#include "client/recovery/links.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "net/test_harness.hpp"
#include "wire/proof.hpp"

namespace sumac::client {
namespace {

using wire::PeerHeader;
using wire::PeerKind;

constexpr JobId kJob{77};
constexpr Secret kKey{1, 2, 3};

/// One process of the job, and what it hears: "1:text", "lost 1", "note 1 2 5".
struct Process : MemberEvents {
  explicit Process(std::uint32_t self, std::uint32_t members, const Secret& key = kKey, std::size_t strangers = 64,
                   const std::string& listen = "127.0.0.1:0") {
    auto made = MemberLinks::make({.job_id = kJob,
                                   .key = key,
                                   .self = WorldRank{self},
                                   .members = members,
                                   .listen = listen,
                                   .strangers_max = strangers},
                                  *this, log);
    if (!made) throw std::runtime_error(made.error().context);
    links = *std::move(made);
  }
  void on_member_message(WorldRank from, std::span<const std::byte> frame) override {
    heard.push_back(std::to_string(number_of(from)) + ":" +
                    std::string(reinterpret_cast<const char*>(frame.data()), frame.size()));
  }
  void on_member_note(WorldRank from, MemberWord word, std::uint32_t number, TreeId) override {
    heard.push_back(fmt::format("note {} {} {}", from, static_cast<unsigned>(word), number));
  }
  void on_member_lost(WorldRank peer) override {
    heard.push_back(fmt::format("lost {}", peer));
    if (!says_when_lost.empty()) say(number_of(peer), says_when_lost);
  }
  void on_member_unreached(WorldRank peer) override { heard.push_back(fmt::format("unreached {}", peer)); }
  void say(std::uint32_t to, std::string_view text) { links->send(WorldRank{to}, as_bytes(text), {}); }
  std::ptrdiff_t count(std::string_view what) const { return std::ranges::count(heard, what); }

  Logger log{Logger::Form::library, LogLevel::fatal};
  std::vector<std::string> heard;
  std::string says_when_lost;
  std::unique_ptr<MemberLinks> links;
};

/// A job of processes that know each other, and raw peers that are none of them.
struct Job {
  explicit Job(std::uint32_t size, std::size_t strangers = 64) {
    for (std::uint32_t rank = 0; rank < size; ++rank)
      processes.push_back(std::make_unique<Process>(rank, size, kKey, strangers));
    introduce();
  }
  void introduce() {
    std::vector<std::string> addresses;
    for (const auto& each : processes) addresses.push_back(each->links->address());
    for (const auto& each : processes) each->links->know(addresses);
  }
  Process& operator[](std::size_t rank) { return *processes[rank]; }

  /// Sleeps on the descriptors between the passes, so that a lost wake-up shows.
  bool drive(const std::function<bool()>& done, std::vector<net::End*> ends = {}, Duration patience = net::kPatience) {
    const Time deadline = monotonic_now() + patience;
    while (!done()) {
      if (monotonic_now() > deadline) return false;
      std::size_t events = 0;
      for (net::End* end : ends) events += end->progress();
      for (const auto& each : processes) events += each->links->progress(true);
      if (events > 0 || done()) continue;
      std::vector<pollfd> fds;
      Time due = deadline;
      bool may_sleep = true;
      for (net::End* end : ends) {
        may_sleep = end->transport->arm() && may_sleep;
        fds.push_back({end->transport->wake_fd(), POLLIN, 0});
      }
      for (const auto& each : processes) {
        may_sleep = each->links->arm() && may_sleep;
        fds.push_back({each->links->wake_fd(), POLLIN, 0});
        due = std::min(due, each->links->next_due());
      }
      if (may_sleep) ::poll(fds.data(), fds.size(), net::wait_milliseconds(due - monotonic_now()));
    }
    return true;
  }

  /// Gives the processes their turns at random, so that their messages cross in all ways.
  bool shuffle(std::uint64_t seed, const std::function<bool()>& done) {
    Random random(seed);
    const Time deadline = monotonic_now() + net::kPatience;
    while (!done() && monotonic_now() < deadline)
      processes[random.between(0, processes.size() - 1)]->links->progress(true);
    return done();
  }

  std::vector<std::unique_ptr<Process>> processes;
};

template <class Body>
std::string frame_of(PeerKind kind, const Body& body) {
  PeerHeader head;
  head.kind = kind;
  head.payload_bytes = sizeof body;
  std::string bytes(sizeof head + sizeof body, '\0');
  wire::store(reinterpret_cast<std::byte*>(bytes.data()), head);
  wire::store(reinterpret_cast<std::byte*>(bytes.data() + sizeof head), body);
  return bytes;
}

wire::HelloBody hello_of(std::uint32_t rank) {
  wire::HelloBody hello;
  hello.job_id = kJob;
  hello.id = rank;
  hello.nonce = {9};
  return hello;
}

std::string note_of(MemberWord word, std::uint32_t number) {
  PeerHeader note;
  note.kind = PeerKind::note;
  note.index = static_cast<std::uint32_t>(word);
  note.sequence = number;
  std::string bytes(sizeof note, '\0');
  wire::store(reinterpret_cast<std::byte*>(bytes.data()), note);
  return bytes;
}

/// The proof that rank 1 gives to rank 0, for a welcome that has come.
std::string proof_of(const wire::HelloBody& hello, const std::string& welcome_frame, const std::string& address,
                     const Secret& key) {
  wire::WelcomeBody welcome;
  wire::load(welcome, reinterpret_cast<const std::byte*>(welcome_frame.data()) + wire::kPeerHeaderBytes);
  wire::ProofBody proof;
  EXPECT_TRUE(wire::make_proof(wire::ProvingSide::child, key, {TreeId{0}, hello, welcome, address}, proof.proof));
  return frame_of(PeerKind::proof, proof);
}

TEST(MemberLinks, ConnectWhereThereIsAMessageAndKeepItsOrder) {
  Job job(3);
  EXPECT_TRUE(job[1].links->arm());
  const std::string large(3000, 'x');
  job[1].say(0, "one");
  job[1].say(0, large);
  job[1].links->note(WorldRank{0}, MemberWord::died, 2);
  ASSERT_TRUE(job.drive([&] { return job[0].heard.size() == 3; }));
  EXPECT_EQ(job[0].heard, (std::vector<std::string>{"1:one", "1:" + large, "note 1 2 2"}));
  job[0].say(1, "back");
  ASSERT_TRUE(job.drive([&] { return job[1].heard.size() == 1; }));
  EXPECT_FALSE(job[2].links->is_linked(WorldRank{0}));
  EXPECT_EQ(job[0].links->stats().messages_in, 5u);  // hello and proof, on one connection
}

TEST(MemberLinks, OfTwoThatConnectAtOnceOneConnectionStaysAndNothingIsLost) {
  for (int round = 0; round < 50; ++round) {
    Job job(4);
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t to = 0; to < 4; ++to)
        for (int i = 0; from != to && i < 3; ++i) job[from].say(to, std::to_string(i));
    ASSERT_TRUE(job.shuffle(static_cast<std::uint64_t>(round), [&] {
      return std::ranges::all_of(job.processes, [](const auto& each) { return each->heard.size() >= 9; });
    })) << round;
    EXPECT_FALSE(job.drive([] { return false; }, {}, Millis{3}));  // Nothing follows.
    for (std::uint32_t to = 0; to < 4; ++to)
      for (std::uint32_t from = 0; from < 4; ++from) {
        std::vector<std::string> of;
        for (const auto& each : job[to].heard)
          if (each.starts_with(std::to_string(from))) of.push_back(each.substr(2));
        if (from == to) continue;
        EXPECT_EQ(of, (std::vector<std::string>{"0", "1", "2"})) << round << ": " << from << " " << to;
      }
    for (const auto& each : job.processes) EXPECT_EQ(each->heard.size(), 9u);
  }
}

TEST(MemberLinks, ALossIsToldAtBothEndsBeforeTheNextMessage) {
  Job job(2);
  job[0].say(1, "first");
  ASSERT_TRUE(job.drive([&] { return job[1].count("0:first") == 1; }));
  job[1].links->drop(WorldRank{0}, Error{Errc::invalid, "a test"});
  job[1].say(0, "second");
  ASSERT_TRUE(job.drive([&] { return job[0].count("1:second") == 1; }));
  EXPECT_EQ(job[0].heard, (std::vector<std::string>{"lost 1", "1:second"}));
  EXPECT_EQ(job[1].heard, (std::vector<std::string>{"0:first", "lost 0"}));
}

TEST(MemberLinks, AMessageWaitsForAProcessThatListensLater) {
  Job job(2);
  const std::string address = job[1].links->address();
  job.processes.pop_back();
  job[0].say(1, "hello");
  ASSERT_TRUE(job.drive([&] { return job[0].links->next_due() < monotonic_now() + Seconds(1); }));
  job.processes.push_back(std::make_unique<Process>(1, 2, kKey, 64, address.substr(4)));
  job[1].links->know({job[0].links->address(), address});
  ASSERT_TRUE(job.drive([&] { return job[1].count("0:hello") == 1; }));
  EXPECT_TRUE(job[0].heard.empty());
}

/// Neither its sharpd nor the manager may be left to say that it has died.
TEST(MemberLinks, AProcessThatListensNoMoreIsUnreachedAndOneThatIsStoppedIsNot) {
  const MemberLinks::Config base{.job_id = kJob,
                                 .key = kKey,
                                 .self = WorldRank{0},
                                 .members = 3,
                                 .listen = "127.0.0.1:0",
                                 .handshake_within = Millis{20},
                                 .refused_for = Millis{50},
                                 .silent_for = Millis{50}};
  Job job(1);
  Process& self = job[0];
  auto made = MemberLinks::make(base, self, self.log);
  ASSERT_TRUE(made) << made.error().context;
  self.links = *std::move(made);
  Process gone(1, 3), stopped(2, 3);
  self.links->know({self.links->address(), gone.links->address(), stopped.links->address()});
  gone.links.reset();
  self.say(1, "one");
  self.say(2, "two");
  // The kernel takes the connections of a stopped process, which never greets.
  ASSERT_TRUE(job.drive([&] { return self.count("unreached 1") > 3; }));
  EXPECT_EQ(self.count("unreached 2"), 0);
}

TEST(MemberLinks, StrangersAreRefused) {
  const struct {
    const char* name;
    std::string first, second;
  } rows[] = {
      {"a message before the proof", "SR and more", ""},
      {"zeros", std::string(64, '\0'), ""},
      {"a note before the proof", note_of(MemberWord::died, 1), ""},
      {"a note after the hello", frame_of(PeerKind::hello, hello_of(1)), note_of(MemberWord::taken, 0)},
      {"another job's hello",
       frame_of(PeerKind::hello,
                [] {
                  auto hello = hello_of(1);
                  hello.job_id = JobId{78};
                  return hello;
                }()),
       ""},
      {"a rank that does not exist", frame_of(PeerKind::hello, hello_of(2)), ""},
      {"the rank itself", frame_of(PeerKind::hello, hello_of(0)), ""},
      {"two hellos", frame_of(PeerKind::hello, hello_of(1)), frame_of(PeerKind::hello, hello_of(1))},
      {"a proof of zeros", frame_of(PeerKind::hello, hello_of(1)), frame_of(PeerKind::proof, wire::ProofBody{})},
      {"a proof without hello", frame_of(PeerKind::proof, wire::ProofBody{}), ""},
      {"a welcome", frame_of(PeerKind::welcome, wire::WelcomeBody{}), ""},
      {"a long message", std::string(129, 'x'), ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Job job(2);
    net::End stranger({});
    const auto conn = stranger.connect(job[0].links->address());
    stranger.send(conn, row.first);
    if (!row.second.empty()) stranger.send(conn, row.second);
    EXPECT_TRUE(job.drive([&] { return stranger.closed.contains(conn.value); }, {&stranger}, Seconds(3)))
        << "not only when its time is over";
    EXPECT_TRUE(job[0].heard.empty());
    EXPECT_FALSE(job[0].links->is_linked(WorldRank{1}));
  }
}

TEST(MemberLinks, AWrongKeyIsRefusedAtBothEnds) {
  Job job(2);
  job.processes[1] = std::make_unique<Process>(1, 2, Secret{4});
  job.introduce();
  job[0].say(1, "to the wrong one");
  job[1].say(0, "from the wrong one");
  const auto met = [&](std::size_t rank) { return job[rank].links->stats().messages_in > 0; };
  ASSERT_TRUE(job.drive([&] { return met(0) && met(1); })) << "they greet each other";
  EXPECT_FALSE(job.drive([&] { return !job[0].heard.empty() || !job[1].heard.empty(); }, {}, Millis{100}));
  EXPECT_FALSE(job[0].links->is_linked(WorldRank{1}) || job[1].links->is_linked(WorldRank{0}));
}

TEST(MemberLinks, AReplayIsRefused) {
  Job job(2);
  const std::string address = job[0].links->address();
  const auto hello = hello_of(1);
  std::string proof;
  for (const bool again : {false, true}) {
    net::End peer({});
    const auto conn = peer.connect(address);
    peer.send(conn, frame_of(PeerKind::hello, hello));
    ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
    if (!again) proof = proof_of(hello, peer.from(conn)[0], address, kKey);
    peer.send(conn, proof);
    ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 2 || peer.closed.contains(conn.value); }, {&peer}));
    EXPECT_EQ(job[0].links->is_linked(WorldRank{1}), !again);
    EXPECT_EQ(peer.closed.contains(conn.value), again);
    if (again) break;
    job[0].links->drop(WorldRank{1}, Error{Errc::lost, "a test"});
  }
}

TEST(MemberLinks, AConnectionThatReplacesAnotherTellsTheLossFirst) {
  Job job(2);
  const std::string address = job[0].links->address();
  net::End peer({});
  for (const char* text : {"first", "second"}) {
    const auto conn = peer.connect(address);
    peer.send(conn, frame_of(PeerKind::hello, hello_of(1)));
    ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
    peer.send(conn, proof_of(hello_of(1), peer.from(conn)[0], address, kKey));
    peer.send(conn, text);
    ASSERT_TRUE(job.drive([&] { return job[0].count(std::string("1:") + text) == 1; }, {&peer}));
  }
  EXPECT_EQ(job[0].heard, (std::vector<std::string>{"1:first", "lost 1", "1:second"}));
}

/// A connection more would replace this one at the other end, where the loss has an answer, too.
TEST(MemberLinks, WhatIsSaidAtALossGoesByTheConnectionThatReplacesTheOther) {
  Job job(2);
  job[0].says_when_lost = "again";
  const std::string address = job[0].links->address();
  net::End peer({});
  net::ConnId conn;
  for (int times = 0; times < 2; ++times) {
    conn = peer.connect(address);
    peer.send(conn, frame_of(PeerKind::hello, hello_of(1)));
    ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
    peer.send(conn, proof_of(hello_of(1), peer.from(conn)[0], address, kKey));
    ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 2 + static_cast<std::size_t>(times); }, {&peer}));
  }
  EXPECT_TRUE(job[0].links->is_linked(WorldRank{1}));
  EXPECT_FALSE(job.drive([&] { return job[1].links->is_linked(WorldRank{0}); }, {&peer}, Millis(50)))
      << "a further connection was made";
}

/// The peer acts for the other rank, which connects at the same time.
TEST(MemberLinks, OfTwoThatConnectAtOnceTheLowerRanksConnectionStays) {
  for (const bool has_greeted : {false, true}) {
    Job job(2);
    const std::string address = job[0].links->address();
    net::End peer({.listen = "127.0.0.1:0"});
    job[0].links->know({address, peer.transport->address()});
    const auto greet = [&] {
      const auto conn = peer.connect(address);
      peer.send(conn, frame_of(PeerKind::hello, hello_of(1)));
      return conn;
    };
    net::ConnId conn;
    if (has_greeted) {
      conn = greet();
      ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
    }
    job[0].say(1, "waits");
    ASSERT_TRUE(job.drive([&] { return !peer.accepted.empty(); }, {&peer}));
    if (has_greeted)
      peer.send(conn, proof_of(hello_of(1), peer.from(conn)[0], address, kKey));
    else
      conn = greet();
    EXPECT_TRUE(job.drive([&] { return peer.closed.contains(conn.value); }, {&peer}, Seconds(3)));
    EXPECT_FALSE(peer.closed.contains(peer.accepted.front().value));
  }
  Job job(2);
  const std::string address = job[1].links->address();
  net::End peer({.listen = "127.0.0.1:0"});
  job[1].links->know({peer.transport->address(), address});
  job[1].say(0, "waits");
  ASSERT_TRUE(job.drive([&] { return !peer.accepted.empty(); }, {&peer}));
  const auto conn = peer.connect(address);
  peer.send(conn, frame_of(PeerKind::hello, hello_of(0)));
  ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
  peer.send(conn, proof_of(hello_of(0), peer.from(conn)[0], address, kKey));
  ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 3; }, {&peer}));
  EXPECT_EQ(peer.from(conn)[2], "waits");
  EXPECT_TRUE(job.drive([&] { return peer.closed.contains(peer.accepted.front().value); }, {&peer}, Seconds(3)));
  EXPECT_TRUE(job[1].heard.empty());
}

TEST(MemberLinks, AProcessAtARanksAddressGetsNoProof) {
  Job job(2);
  net::End impostor({.listen = "127.0.0.1:0"});
  job[0].links->know({job[0].links->address(), impostor.transport->address()});
  job[0].say(1, "secret");
  ASSERT_TRUE(job.drive([&] { return impostor.received == 1; }, {&impostor}));
  wire::WelcomeBody welcome;
  welcome.role = wire::Role::client;
  welcome.id = NodeId{1};
  const auto conn = impostor.accepted.front();
  impostor.send(conn, frame_of(PeerKind::welcome, welcome));
  ASSERT_TRUE(job.drive([&] { return impostor.closed.contains(conn.value); }, {&impostor}));
  EXPECT_EQ(impostor.from(conn).size(), 1u) << "only its hello";
}

/// A proof covers the address at which the acceptor listens, so a peer between two ranks gains nothing by passing it on.
TEST(MemberLinks, AProofForAnotherAddressIsRefused) {
  Job job(2);
  const auto hello = hello_of(1);
  net::End peer({});
  const auto conn = peer.connect(job[0].links->address());
  peer.send(conn, frame_of(PeerKind::hello, hello));
  ASSERT_TRUE(job.drive([&] { return peer.from(conn).size() == 1; }, {&peer}));
  peer.send(conn, proof_of(hello, peer.from(conn)[0], "tcp:127.0.0.1:1", kKey));
  EXPECT_TRUE(job.drive([&] { return peer.closed.contains(conn.value); }, {&peer}));
  EXPECT_FALSE(job[0].links->is_linked(WorldRank{1}));
}

TEST(MemberLinks, AFloodOfStrangersTakesBoundedMemoryAndKeepsNobodyOut) {
  constexpr std::size_t kStrangers = 8;
  Job job(2, kStrangers);
  net::End flood({});
  for (int i = 0; i < 200; ++i)
    flood.send(flood.connect(job[0].links->address()), frame_of(PeerKind::hello, hello_of(1)));
  job[1].say(0, "honest");
  std::size_t most = 0;
  ASSERT_TRUE(job.drive(
      [&] {
        most = std::max(most, job[0].links->bytes_in_use());
        return job[0].count("1:honest") == 1;
      },
      {&flood}));
  EXPECT_EQ(job[0].heard.size(), 1u);
  EXPECT_LE(most, kStrangers * 4096);
  ASSERT_TRUE(job.drive([&] { return flood.closed.size() >= 200 - kStrangers; }, {&flood}));
  EXPECT_TRUE(job[0].links->is_linked(WorldRank{1}));
}

}  // namespace
}  // namespace sumac::client
