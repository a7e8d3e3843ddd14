// Tests what only the tcp backend promises: malformed frames and silent peers lose their own connection, and no other
// connection is affected.
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tcp_frame.hpp"
#include "net/tcp_socket.hpp"
#include "net/test_harness.hpp"

namespace sumac::net {
namespace {

TransportConfig listening(const std::string& where = "127.0.0.1:0") {
  TransportConfig config;
  config.listen = where;
  return config;
}

/// The socket of a stranger.
class Raw {
 public:
  explicit Raw(const std::string& address) {
    auto to = parse_address(std::string_view(address).substr(4));
    fd_ = UniqueFd{socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
    EXPECT_EQ(::connect(fd_.get(), to->get(), to->length), 0) << std::strerror(errno);
  }
  void write(std::string_view bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// Waits for the end of the stream; `heard` holds the bytes before it.
  bool at_end() {
    char buffer[4096];
    for (;;) {
      const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0)
        heard.append(buffer, static_cast<std::size_t>(n));
      else
        return n == 0 || (errno != EAGAIN && errno != EINTR);
    }
  }
  void half_close() { shutdown(fd_.get(), SHUT_WR); }
  std::string heard;

 private:
  UniqueFd fd_;
};

template <std::size_t n>
std::string text(const std::array<std::byte, n>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), n};
}
std::string hello() { return text(encode_greeting(FrameType::hello, 1000)); }
std::string header(FrameType type, std::uint32_t length) { return text(encode_frame_header(type, length)); }

TEST(Tcp, MalformedStreamsEndTheirOwnConnectionWithTheReason) {
  const struct {
    const char* name;
    std::string bytes;
    const char* reason;  // Null: the user was not informed of the connection, so not of its end either.
  } rows[] = {
      {"a stray web client", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "magic is not 0x4653"},
      {"data before the greeting", header(FrameType::data, 0), "the greeting is missing"},
      {"the acceptor's greeting from a connector", text(encode_greeting(FrameType::welcome, 1)),
       "the greeting is missing"},
      {"a second greeting", hello() + hello(), "a second greeting"},
      {"a greeting of wrong length", header(FrameType::hello, 9) + "123456789", "the greeting has a wrong length"},
      {"another version", header(FrameType::hello, 8) + std::string("\x02\0\0\0\0\0\0\0", 8),
       "the peer speaks another frame version"},
      {"an unknown type", hello() + header(static_cast<FrameType>(9), 0), "type is unknown"},
      {"flags that mean nothing", hello() + std::string("\x53\x46\x03\x01\0\0\0\0", 8), "flags are not zero"},
      {"a message over the limit", hello() + header(FrameType::data, (1u << 20) + 257), "longer than message_max"},
      {"the longest length there is", hello() + header(FrameType::data, 0xFFFFFFFF), "longer than message_max"},
      {"a ping with a length", hello() + header(FrameType::ping, 1) + "x", "ping or pong has a length"},
      {"garbage behind a good message", hello() + header(FrameType::data, 2) + "hi" + "garbage!",
       "magic is not 0x4653"},
  };
  End server(listening()), client(TransportConfig{});
  const ConnId good = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1; }));
  const ConnId good_here = server.accepted[0];
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto closed = server.closed.size();
    Raw stranger(server.transport->address());
    stranger.write(row.bytes);
    ASSERT_TRUE(drive(
        {&server, &client}, [&] { return server.closed.size() > closed; }, Seconds{5}));
    bool found = false;
    for (const auto& [conn, why] : server.closed)
      found |= why.context.find(row.reason) != std::string::npos && why.code == Errc::invalid;
    EXPECT_TRUE(found) << row.reason;
    EXPECT_TRUE(drive({&server, &client}, [&] { return stranger.at_end(); }));
    EXPECT_EQ(client.send(good, "still here"), Errc::ok);
    const auto before = server.received;
    ASSERT_TRUE(drive({&server, &client},
                      [&] { return server.messages[good_here.value].size() > 0 && server.received > before; }));
    server.closed.clear();
  }
}

TEST(Tcp, ATruncatedMessageIsNamed) {
  End server(listening());
  Raw stranger(server.transport->address());
  stranger.write(hello() + header(FrameType::data, 4096) + std::string(17, 'x'));
  stranger.half_close();
  ASSERT_TRUE(drive({&server}, [&] { return server.closed.size() == 1; }));
  EXPECT_NE(server.closed.begin()->second.context.find("content 17 of 4096 bytes"), std::string::npos)
      << server.closed.begin()->second.context;
  EXPECT_EQ(server.pool.stats().buffers_in_use, 0u);
}

TEST(Tcp, MessagesSplitAtEveryByteArrive) {
  End server(listening());
  const std::string stream = hello() + header(FrameType::data, 5) + "first" + header(FrameType::ping, 0) +
                             header(FrameType::data, 6) + "second";
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    SCOPED_TRACE(cut);
    server.messages.clear();
    server.received = 0;
    Raw stranger(server.transport->address());
    stranger.write(stream.substr(0, cut));
    drive({&server}, [&] { return server.progress() == 0; });
    stranger.write(stream.substr(cut));
    ASSERT_TRUE(drive({&server}, [&] { return server.received == 2; }));
    EXPECT_EQ(server.messages.begin()->second, (std::vector<std::string>{"first", "second"}));
    ASSERT_TRUE(drive({&server}, [&] {
      return stranger.at_end() || stranger.heard.size() == kGreetingFrameBytes + kFrameHeaderBytes;
    }));
    EXPECT_EQ(stranger.heard.substr(kGreetingFrameBytes), header(FrameType::pong, 0));
  }
}

TEST(Tcp, AHalfOpenHandshakeTimesOut) {
  auto config = listening();
  config.handshake_timeout = Millis{30};
  End server(config);
  Raw stranger(server.transport->address());
  ASSERT_TRUE(drive({&server}, [&] { return server.closed.size() == 1; }));
  EXPECT_EQ(server.closed.begin()->second.code, Errc::timeout);
  EXPECT_NE(server.closed.begin()->second.context.find("no greeting in 30 ms"), std::string::npos);
}

TEST(Tcp, AServerThatIsNotOursIsFoundOutByItsGreeting) {
  auto listener = listen_on(*parse_address("127.0.0.1:0"), 4);
  ASSERT_TRUE(listener);
  End client(TransportConfig{});
  const ConnId conn = client.connect("tcp:" + format_address(*local_address(listener->get())));
  UniqueFd peer;
  ASSERT_TRUE(drive({&client}, [&] {
    if (!peer) peer = UniqueFd{accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)};
    return static_cast<bool>(peer);
  }));
  ASSERT_EQ(write(peer.get(), "220 mail ready\r\n", 16), 16);
  ASSERT_TRUE(drive({&client}, [&] { return client.closed.count(conn.value) == 1; }));
  EXPECT_NE(client.closed[conn.value].context.find("magic"), std::string::npos);
  EXPECT_TRUE(client.connected.empty());
}

TEST(Tcp, NobodyListeningIsReportedByOnClosed) {
  auto listener = listen_on(*parse_address("127.0.0.1:0"), 4);
  const std::string address = "tcp:" + format_address(*local_address(listener->get()));
  listener->reset();
  End client(TransportConfig{});
  const ConnId conn = client.connect(address);
  ASSERT_TRUE(drive({&client}, [&] { return client.closed.count(conn.value) == 1; }));
  EXPECT_NE(client.closed[conn.value].context.find("Connection refused"), std::string::npos);
}

TEST(Tcp, ARestartedListenerGetsItsPortBack) {
  std::string address;
  End client(TransportConfig{});
  {
    End server(listening());
    address = server.transport->address();
    client.connect(address);
    ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
  }
  ASSERT_TRUE(drive({&client}, [&] { return client.closed.size() == 1; }));
  End again(listening(address.substr(4)));
  EXPECT_EQ(again.transport->address(), address);
  client.connect(address);
  ASSERT_TRUE(drive({&again, &client}, [&] { return client.connected.size() == 2; }));
}

TEST(Tcp, IPv6) {
  auto config = listening("[::1]:0");
  auto listener = listen_on(*parse_address("[::1]:0"), 1);
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.error().context;
  End server(config), client(TransportConfig{});
  EXPECT_TRUE(server.transport->address().starts_with("tcp:[::1]:"));
  const ConnId conn = client.connect(server.transport->address());
  EXPECT_EQ(client.send(conn, "six"), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 1; }));
}

TEST(Tcp, AWildcardListenerPublishesARealAddress) {
  End server(listening("0.0.0.0:0")), client(TransportConfig{});
  EXPECT_FALSE(server.transport->address().starts_with("tcp:0.0.0.0")) << server.transport->address();
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
}

TEST(Tcp, OverTheConnectionLimitTheNewOneIsClosed) {
  auto config = listening();
  config.connections_max = 2;
  End server(config), client(TransportConfig{});
  for (int i = 0; i < 3; ++i) client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() + client.closed.size() == 3; }));
  EXPECT_EQ(client.closed.size(), 1u);
  server.transport->close(server.accepted[0]);
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.closed.size() == 2; }));
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 3; }));
}

TransportConfig among_strangers(std::size_t strangers_max) {
  auto config = listening();
  config.stranger_bytes = 256;
  config.strangers_max = strangers_max;
  return config;
}

TEST(Tcp, StrangersTakeEachOthersPlaceAndNobodyElses) {
  End server(among_strangers(2)), client(TransportConfig{});
  const ConnId known = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1; }));
  server.transport->admit(server.accepted[0]);
  for (std::size_t i = 0; i < 20; ++i) {
    client.connect(server.transport->address());
    ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == i + 2; }));
  }
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.closed.size() == 18; }));
  EXPECT_EQ(server.transport->stats().displaced, 18u);
  EXPECT_FALSE(client.closed.contains(known.value));
  EXPECT_NE(server.closed.begin()->second.context.find("before it proved its identity"), std::string::npos);
  client.send(known, "still here");
  EXPECT_TRUE(drive({&server, &client}, [&] { return server.received == 1; }));
}

TEST(Tcp, AllRanksOfALargeJobComeAtOnceAndNoneIsPushedOut) {
  constexpr std::size_t kRanks = 40;
  End server(among_strangers(4)), client(TransportConfig{});
  for (std::size_t i = 0; i < kRanks; ++i) client.connect(server.transport->address());
  std::size_t admitted = 0;
  ASSERT_TRUE(drive({&server, &client}, [&] {
    // Each completes its handshake some passes after it was accepted.
    if (server.accepted.size() > admitted) server.transport->admit(server.accepted[admitted++]);
    return admitted == kRanks;
  }));
  EXPECT_TRUE(client.closed.empty());
  EXPECT_EQ(server.transport->stats().displaced, 0u);
}

TEST(Tcp, WhoseBusinessIsOverMakesRoomForStrangers) {
  End server(among_strangers(2)), client(TransportConfig{});
  std::vector<ConnId> conns;
  for (std::size_t i = 0; i < 4; ++i) {
    conns.push_back(client.connect(server.transport->address()));
    ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == i + 1; }));
    server.transport->admit(server.accepted[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) server.transport->estrange(server.accepted[i]);
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.closed.size() == 1; })) << "two of the three may stay";
  EXPECT_TRUE(client.closed.contains(conns[0].value));
  const std::string message(1000, 'x');
  client.send(conns[1], {}, message);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 1; })) << "as long as they do, they are heard";
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.closed.size() == 2; }));
  EXPECT_TRUE(client.closed.contains(conns[1].value));
}

TEST(Tcp, AStrangerSaysLittle) {
  End server(among_strangers(2)), client(TransportConfig{});
  const std::string legal(255, 'x'), more(256, 'x');  // A second message follows the first.
  const ConnId known = client.connect(server.transport->address()),
               stranger = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 2; }));
  client.send(known, legal, "x");
  client.send(stranger, legal, "x");
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 2; }));
  server.transport->admit(server.accepted[0]);
  client.send(known, more, "x");
  client.send(stranger, more, "x");
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 3 && client.closed.size() == 1; }));
  EXPECT_TRUE(client.closed.contains(stranger.value));
  EXPECT_NE(server.closed.begin()->second.context.find("longer than message_max"), std::string::npos);
}

TEST(Tcp, WhoDoesNotShowWhoItIsInTimeIsClosed) {
  auto config = among_strangers(4);
  config.handshake_timeout = Millis(50);
  End server(config), client(TransportConfig{});
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1; }));
  server.transport->admit(server.accepted[0]);
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.closed.size() == 1; }));
  EXPECT_EQ(server.closed.begin()->second.code, Errc::timeout);
  EXPECT_NE(server.closed.begin()->second.context.find("it did not prove its identity in 50 ms"), std::string::npos);
  EXPECT_EQ(server.accepted.size() - server.closed.size(), 1u) << "who has is there for good";
}

TEST(Tcp, ValuesOfClosedConnectionsDoNotComeBackSoon) {
  auto config = listening();
  config.connections_max = 4;
  End server(config), client(config);
  std::vector<std::uint32_t> seen;
  for (int i = 0; i < 100; ++i) {
    const ConnId conn = client.connect(server.transport->address());
    seen.push_back(conn.value);
    client.transport->close(conn);
    server.progress();
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(Tcp, OutOfDescriptorsPausesTheListenerAndNothingElse) {
  End server(listening()), client(TransportConfig{});
  const ConnId conn = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1; }));
  Raw stranger(server.transport->address());  // The stranger waits in the listener's backlog.
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const UniqueFd probe{::dup(0)};
  rlimit tight = old;
  tight.rlim_cur = static_cast<rlim_t>(probe.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  client.send(conn, "x");
  EXPECT_TRUE(drive({&server, &client}, [&] { return server.received == 1; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  stranger.write(hello());
  EXPECT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 2; }));
}

TEST(Tcp, AWatchedPeerThatAnswersStays) {
  End server(listening()), client(TransportConfig{});
  const ConnId conn = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
  ASSERT_EQ(client.transport->watch(conn, Millis{1}, Millis{5000}), Errc::ok);
  const auto pings = server.transport->stats().bytes_in;
  ASSERT_TRUE(
      drive({&server, &client}, [&] { return server.transport->stats().bytes_in >= pings + 5 * kFrameHeaderBytes; }));
  EXPECT_TRUE(client.closed.empty());
  EXPECT_EQ(server.received, 0u) << "pings are no messages";
  EXPECT_EQ(client.transport->watch(conn, Millis{0}, Millis{0}), Errc::ok);
  EXPECT_EQ(client.transport->watch(ConnId{77}, Millis{1}, Millis{1}), Errc::lost);
}

TEST(Tcp, AFrozenPeerIsSilent) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    char address[256] = "";
    if (read(ready[0], address, sizeof address - 1) <= 0) _exit(2);
    End client(TransportConfig{});
    client.send(client.connect(address), "here");
    drive({&client}, [] { return false; });
    _exit(0);
  }
  End server(listening());
  const std::string address = server.transport->address();
  ASSERT_EQ(write(ready[1], address.c_str(), address.size()), static_cast<ssize_t>(address.size()));
  ASSERT_TRUE(drive({&server}, [&] { return server.received == 1; }));
  ASSERT_EQ(server.transport->watch(server.accepted[0], Millis{10}, Millis{100}), Errc::ok);
  ASSERT_EQ(kill(child, SIGSTOP), 0);
  EXPECT_TRUE(drive({&server}, [&] { return server.closed.size() == 1; }));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_EQ(server.closed.size(), 1u);
  EXPECT_EQ(server.closed.begin()->second.code, Errc::timeout);
  EXPECT_NE(server.closed.begin()->second.context.find("silent for "), std::string::npos);
  ::close(ready[0]);
  ::close(ready[1]);
}

/// Returns true when everything that this process has sent lies in the receivers' sockets. A loaded kernel may deliver
/// it after send() has returned.
bool all_has_arrived() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int fd = 0; fd < 1024 && std::chrono::steady_clock::now() < deadline;) {
    int unacknowledged = 0;
    if (ioctl(fd, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0)
      ++fd;
    else
      sched_yield();
  }
  return std::chrono::steady_clock::now() < deadline;
}

TEST(Tcp, JobsTakeTurnsHoweverManyConnectionsOneHas) {
  constexpr std::size_t kFlood = 20, kEach = 200;
  End server(listening()), flood(TransportConfig{}), other(TransportConfig{});
  std::vector<ConnId> conns;
  for (std::size_t i = 0; i < kFlood; ++i) conns.push_back(flood.connect(server.transport->address()));
  ASSERT_TRUE(drive({&server, &flood}, [&] { return flood.connected.size() == kFlood; }));
  const ConnId lone = other.connect(server.transport->address());
  ASSERT_TRUE(
      drive({&server, &other}, [&] { return other.connected.size() == 1 && server.accepted.size() == kFlood + 1; }));
  for (std::size_t i = 0; i < kFlood; ++i) server.transport->belongs_to(server.accepted[i], 1);
  server.transport->belongs_to(server.accepted[kFlood], 2);
  // One read takes fewer messages than a pass delivers: what was read is delivered before the next connection is
  // served.
  const std::string message(200, 'f');
  for (const ConnId conn : conns)
    for (std::size_t i = 0; i < kEach; ++i) ASSERT_EQ(flood.send(conn, message), Errc::ok);
  ASSERT_TRUE(all_has_arrived());
  // One pass notices that there is too much for it.
  server.progress();
  ASSERT_EQ(other.send(lone, "one"), Errc::ok);
  ASSERT_TRUE(all_has_arrived());
  const auto before = server.received;
  server.progress();
  EXPECT_EQ(server.from(server.accepted[kFlood]).size(), 1u) << "its turn comes before the flood's second";
  EXPECT_LT(server.received - before, kFlood * kEach);
  for (int turn = 0; turn < 10; ++turn) {
    ASSERT_EQ(other.send(lone, "one"), Errc::ok);
    ASSERT_TRUE(all_has_arrived());
    server.progress();
    server.progress();
  }
  EXPECT_EQ(server.from(server.accepted[kFlood]).size(), 11u);
  EXPECT_TRUE(drive({&server, &flood}, [&] { return server.received == kFlood * kEach + 11; })) << "and nobody starves";
}

TEST(Tcp, APeerThatReadsNothingHoldsNoMoreThanItMay) {
  End server(listening()), client(TransportConfig{});
  client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
  const ConnId to = server.accepted[0];
  const auto each = BufferPool::footprint(65536);
  server.transport->limit_held(to, 4 * each);
  Errc sent = Errc::ok;
  std::size_t count = 0;
  for (; sent == Errc::ok && count < 10'000; ++count) {
    auto body = server.pool.acquire(65536);
    sent = server.transport->send(to, as_bytes(std::string_view("head")), Payload{body.bytes(), body});
  }
  EXPECT_EQ(sent, Errc::exhausted) << count;
  EXPECT_LE(server.transport->held(to), 4 * each);
  EXPECT_EQ(server.send(to, "small ones of no buffer"), Errc::ok);
  EXPECT_TRUE(drive({&server, &client}, [&] { return client.received == count; }));
  EXPECT_EQ(server.transport->held(to), 0u);
  EXPECT_EQ(client.closed.size() + server.closed.size(), 0u);
}

TEST(Tcp, TheLastWordsOfAPeerAreReadAlsoBySomebodyWhoWrites) {
  for (const bool is_corked : {false, true}) {
    End server(listening()), client(TransportConfig{});
    const ConnId conn = client.connect(server.transport->address());
    ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
    ASSERT_EQ(server.send(server.accepted[0], "why"), Errc::ok);
    server.transport.reset();  // The end of a process closes its sockets.
    // The peer's system answers the first message with a reset, and the next one finds the connection broken.
    if (is_corked) client.transport->cork();
    for (int i = 0; i < 3; ++i) (void)client.send(conn, "late");
    if (is_corked) client.transport->uncork();
    (void)client.send(conn, "later");
    (void)client.send(conn, "later");
    ASSERT_TRUE(drive({&client}, [&] { return client.closed.size() == 1; }));
    EXPECT_EQ(client.from(conn), std::vector<std::string>{"why"});
  }
}

TEST(Tcp, CorkedMessagesLeaveInOneSystemCall) {
  End server(listening()), client(TransportConfig{});
  const ConnId conn = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.connected.size() == 1; }));
  const auto before = client.transport->stats().system_calls;
  client.transport->cork();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(client.send(conn, "head", "body"), Errc::ok);
  EXPECT_EQ(client.transport->stats().system_calls, before);
  client.transport->uncork();
  EXPECT_EQ(client.transport->stats().system_calls, before + 1);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 16; }));
}

}  // namespace
}  // namespace sumac::net
