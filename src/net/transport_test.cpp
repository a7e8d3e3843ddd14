// Tests what every backend must do. It is built once per backend (SUMAC_TEST_BACKEND), because UCX stays in the process
// that has loaded it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/test_harness.hpp"

#ifdef SUMAC_TEST_NO_LEAK_CHECK
// The leak checker of gcc 12 crashes on UCX's thread at exit ("Tracer caught signal 11"); everything else is still
// checked.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace sumac::net {
namespace {

class TransportTest : public testing::TestWithParam<std::string> {
 protected:
  TransportConfig server_config() const {
    TransportConfig config;
    config.backend = GetParam();
    config.listen = "127.0.0.1:0";
    config.device = "lo";
    return config;
  }
  TransportConfig client_config() const {
    TransportConfig config = server_config();
    config.listen.clear();
    return config;
  }
  /// A client connected to a server; both have received the event.
  struct Link {
    ConnId client, server;
  };
  Link connect(End& server, End& client) {
    const std::size_t before = server.accepted.size(), had = client.connected.size();
    const ConnId conn = client.connect(server.transport->address());
    EXPECT_TRUE(
        drive({&server, &client}, [&] { return server.accepted.size() > before && client.connected.size() > had; }));
    return {conn, server.accepted.empty() ? ConnId{} : server.accepted.back()};
  }
};

TEST_P(TransportTest, BothSidesAreToldOfAConnection) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  EXPECT_EQ(client.connected, std::vector{link.client});
  EXPECT_TRUE(link.server);
  EXPECT_FALSE(client.transport->peer(link.client).empty());
}

TEST_P(TransportTest, MessagesOfEverySizeArriveWholeAndInOrderBothWays) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  const std::size_t sizes[] = {0, 1, 63, 64, 65, 255, 256, 4096, 8184, 8185, 8192, 65536, 65600, 300000, 1u << 20};
  std::vector<std::string> sent;
  std::uint32_t number = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::size_t size : sizes) sent.push_back(pattern(size, ++number));
  for (const auto& text : sent) {
    const std::size_t head = std::min<std::size_t>(text.size(), 64);
    const std::string_view all(text);
    for (auto [end, conn] : {std::pair{&client, link.client}, std::pair{&server, link.server}}) {
      while (end->send(conn, all.substr(0, head), all.substr(head)) == Errc::again)
        ASSERT_TRUE(drive({&server, &client}, [&] { return !end->writable.empty(); }));
      end->writable.clear();
    }
  }
  ASSERT_TRUE(
      drive({&server, &client}, [&] { return server.received == sent.size() && client.received == sent.size(); }));
  EXPECT_EQ(server.from(link.server), sent);
  EXPECT_EQ(client.from(link.client), sent);
}

TEST_P(TransportTest, MessagesSentBeforeTheConnectionStandsArrive) {
  End server(server_config()), client(client_config());
  const ConnId conn = client.connect(server.transport->address());
  EXPECT_EQ(client.send(conn, "one"), Errc::ok);
  EXPECT_EQ(client.send(conn, "", "two"), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 2; }));
  EXPECT_EQ(server.from(server.accepted.at(0)), (std::vector<std::string>{"one", "two"}));
}

TEST_P(TransportTest, AFullQueueSaysAgainAndThenWritable) {
  auto config = client_config();
  config.queue_max = 1u << 20;
  End server(server_config()), client(config);
  const Link link = connect(server, client);
  const std::string chunk = pattern(65536, 7);
  std::size_t sent = 0;
  Errc result = Errc::ok;
  while (sent < 4096 && (result = client.send(link.client, "h", chunk)) == Errc::ok)
    ++sent;  // The server does not read meanwhile.
  ASSERT_EQ(result, Errc::again) << "after " << sent << " chunks";
  server.on_frame = [&](ConnId, BufferRef) { ++server.received; };
  ASSERT_TRUE(drive({&server, &client}, [&] { return !client.writable.empty(); }));
  EXPECT_EQ(client.writable.at(0), link.client);
  EXPECT_EQ(client.send(link.client, "h", chunk), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == sent + 1; }));
}

TEST_P(TransportTest, TooLongIsInvalidAndHarmsNobody) {
  auto config = server_config();
  config.message_max = 1000;
  End server(config);
  auto narrow = client_config();
  narrow.message_max = 1000;
  End client(narrow);
  const Link link = connect(server, client);
  const std::string text(1001, 'x');
  EXPECT_EQ(client.send(link.client, "", text), Errc::invalid);
  EXPECT_EQ(client.send(link.client, std::string_view(text).substr(0, 257)), Errc::invalid) << "heads have 256 bytes";
  EXPECT_EQ(client.send(link.client, "", std::string_view(text).substr(0, 1000)), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 1; }));
}

TEST_P(TransportTest, CloseEndsOurEventsAndTellsThePeer) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  client.transport->close(link.client);
  EXPECT_EQ(client.send(link.client, "x"), Errc::lost);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.closed.count(link.server.value) == 1; }));
  EXPECT_EQ(server.closed[link.server.value].code, Errc::lost);
  EXPECT_FALSE(server.closed[link.server.value].context.empty());
  EXPECT_TRUE(client.closed.empty()) << "no event after our own close";
  EXPECT_EQ(server.send(link.server, "x"), Errc::lost);
}

TEST_P(TransportTest, CloseWithFlushDeliversWhatIsQueued) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  std::vector<std::string> sent;
  for (std::uint32_t i = 0; i < 40; ++i) sent.push_back(pattern(65536, i));
  for (const auto& text : sent) ASSERT_EQ(client.send(link.client, "", text), Errc::ok);
  client.transport->close(link.client, true);
  for (auto& text : sent) text.assign(text.size(), '!');  // The flush has copied the borrowed bytes.
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.closed.count(link.server.value) == 1; }));
  ASSERT_EQ(server.from(link.server).size(), sent.size());
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(server.from(link.server)[i], pattern(65536, i));
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.transport->flushing() == 0; }));
  EXPECT_TRUE(client.closed.empty());
}

TEST_P(TransportTest, DetachFreesBorrowedMemory) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  std::string text = pattern(1u << 20, 3);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(client.send(link.client, "head", text), Errc::ok);
  client.transport->detach(link.client);
  text.assign(text.size(), '!');
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 6; }));
  for (const auto& got : server.from(link.server)) EXPECT_TRUE(got == "head" + pattern(1u << 20, 3));
}

TEST_P(TransportTest, AnOwnedBodyIsKeptWhileItIsNeeded) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  const std::string text = pattern(65536, 9);
  {
    BufferRef buffer = client.pool.acquire(text.size());
    std::memcpy(buffer.data(), text.data(), text.size());
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(client.transport->send(link.client, as_bytes("h"), Payload{buffer.bytes(), buffer}), Errc::ok);
  }
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.received == 30; }));
  for (const auto& got : server.from(link.server)) EXPECT_TRUE(got == "h" + text);
  EXPECT_EQ(client.pool.stats().buffers_in_use, 0u);
}

TEST_P(TransportTest, ACallbackMaySendForwardAndClose) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  server.on_frame = [&](ConnId conn, BufferRef frame) {
    ++server.received;
    EXPECT_EQ(server.transport->send(conn, {}, Payload{frame.bytes(), frame}), Errc::ok);
    if (server.received == 3) server.transport->close(conn, true);
  };
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_EQ(client.send(link.client, pattern(100, i)), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return !client.closed.empty(); }));
  ASSERT_EQ(client.from(link.client).size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(client.from(link.client)[i], pattern(100, i));
  EXPECT_EQ(server.received, 3u) << "no message after our own close";
}

TEST_P(TransportTest, AtMostTheBudgetIsDelivered) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(client.send(link.client, "m"), Errc::ok);
  std::size_t before = 0;
  const Time deadline = monotonic_now() + kPatience;
  while (server.received < 50 && monotonic_now() < deadline) {
    client.progress();
    server.progress(3);
    EXPECT_LE(server.received - before, 3u);
    before = server.received;
  }
  EXPECT_EQ(server.received, 50u);
}

TEST_P(TransportTest, ManyConnections) {
  constexpr std::size_t kClients = 64;
  End server(server_config()), client(client_config());
  std::vector<ConnId> conns;
  for (std::size_t i = 0; i < kClients; ++i) conns.push_back(client.connect(server.transport->address()));
  ASSERT_TRUE(drive({&server, &client},
                    [&] { return server.accepted.size() == kClients && client.connected.size() == kClients; }));
  server.on_frame = [&](ConnId conn, BufferRef frame) {
    EXPECT_EQ(server.transport->send(conn, {}, Payload{frame.bytes(), frame}), Errc::ok);
  };
  for (std::uint32_t round = 0; round < 20; ++round)
    for (std::uint32_t i = 0; i < kClients; ++i) ASSERT_EQ(client.send(conns[i], pattern(64 + i, round)), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.received == 20 * kClients; }));
  for (std::uint32_t i = 0; i < kClients; ++i)
    for (std::uint32_t round = 0; round < 20; ++round) EXPECT_EQ(client.from(conns[i])[round], pattern(64 + i, round));
}

TEST_P(TransportTest, ThePoolsLimitDelaysAndLosesNothing) {
  End server(server_config(), 3u << 20), client(client_config());
  const Link link = connect(server, client);
  std::vector<BufferRef> held;
  std::size_t received = 0;
  server.on_frame = [&](ConnId, BufferRef frame) {
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(frame.data()), frame.size()),
              pattern(65536, static_cast<std::uint32_t>(received)));
    ++received;
    held.push_back(std::move(frame));
  };
  std::vector<std::string> sent;
  for (std::uint32_t i = 0; i < 100; ++i) sent.push_back(pattern(65536, i));
  for (const auto& text : sent) ASSERT_EQ(client.send(link.client, "", text), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.pool.stats().refusals > 0; }));
  ASSERT_TRUE(drive({&server, &client}, [&] {
    if (server.pool.stats().refusals > 0 && !held.empty()) held.pop_back();
    return received == sent.size();
  }));
}

/// Runs `body` in a child process and returns the child's id.
template <class Body>
pid_t in_child(Body body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(60);  // The alarm ends a child soon after its test was killed.
  try {
    body();
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

TEST_P(TransportTest, AKilledPeerIsReported) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = in_child([&] {
    char text[2048] = "";
    if (read(ready[0], text, sizeof text - 1) <= 0) _exit(2);
    End client(client_config());
    const ConnId conn = client.connect(text);
    client.send(conn, "here");
    drive({&client}, [] { return false; });
  });
  End server(server_config());
  const std::string address = server.transport->address();
  ASSERT_EQ(write(ready[1], address.c_str(), address.size()), static_cast<ssize_t>(address.size()));
  ASSERT_TRUE(drive({&server}, [&] { return server.received == 1; }));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_TRUE(drive({&server}, [&] { return server.closed.size() == 1; }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_EQ(server.closed.size(), 1u);
  EXPECT_EQ(server.closed.begin()->second.code, Errc::lost) << server.closed.begin()->second.context;
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_P(TransportTest, NoWakeUpIsLostInAPingPongThatAlwaysSleeps) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  std::size_t rounds = 0;
  server.on_frame = [&](ConnId conn, BufferRef frame) {
    EXPECT_EQ(server.transport->send(conn, {}, Payload{frame.bytes(), frame}), Errc::ok);
  };
  client.on_frame = [&](ConnId conn, BufferRef) {
    if (++rounds < 2000) {
      EXPECT_EQ(client.send(conn, "ping"), Errc::ok);
    }
  };
  ASSERT_EQ(client.send(link.client, "ping"), Errc::ok);
  ASSERT_TRUE(drive({&server, &client}, [&] { return rounds == 2000; }));
}

TEST_P(TransportTest, NothingIsAllocatedPerMessageInSteadyState) {
  End server(server_config()), client(client_config());
  const Link link = connect(server, client);
  std::size_t rounds = 0, allocations = 0;
  server.on_frame = [&](ConnId conn, BufferRef frame) {
    server.transport->send(conn, {}, Payload{frame.bytes(), frame});
  };
  client.on_frame = [&](ConnId conn, BufferRef) {
    if (++rounds == 100) allocations = server.pool.stats().allocations + client.pool.stats().allocations;
    client.send(conn, "ping");
  };
  client.send(link.client, "ping");
  ASSERT_TRUE(drive({&server, &client}, [&] { return rounds >= 1000; }));
  EXPECT_EQ(server.pool.stats().allocations + client.pool.stats().allocations, allocations);
}

TEST_P(TransportTest, AForeignAddressIsInvalid) {
  End client(client_config());
  for (const char* text : {"", "smoke:1", "tcp:", "ucx:", "ucx:zz", "tcp:host:80", "tcp:1.2.3.4:70000", "tcp:1.2.3.4:0",
                           "tcp:0.0.0.0:1"}) {
    auto conn = client.transport->connect(text);
    ASSERT_FALSE(conn) << text;
    EXPECT_EQ(conn.error().code, Errc::invalid) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, TransportTest, testing::Values(SUMAC_TEST_BACKEND),
                         [](const auto& param) { return param.param; });

TEST_P(TransportTest, HeartbeatsKeepAQuietPeerAndAFrozenOneIsSilent) {
  End server(server_config()), client(client_config());
  const ConnId conn = connect(server, client).client;
  ASSERT_EQ(server.transport->watch(server.accepted[0], Millis{10}, Millis{0}), Errc::ok);
  ASSERT_EQ(client.transport->watch(conn, Millis{0}, Millis{300}), Errc::ok);
  const Time end = monotonic_now() + Millis{1500};  // This is five times as long as the silence limit.
  ASSERT_TRUE(drive({&server, &client}, [&] { return monotonic_now() > end; }));
  EXPECT_TRUE(client.closed.empty());
  EXPECT_TRUE(server.closed.empty());
  EXPECT_EQ(client.received + server.received, 0u) << "heartbeats are no messages";
  EXPECT_LT(client.transport->silence(conn), Millis{300});
  ASSERT_TRUE(drive({&client}, [&] { return client.transport->silence(conn) >= Millis{100}; }));
  ASSERT_TRUE(drive({&server, &client}, [&] { return client.transport->silence(conn) == Duration{0}; }));
  ASSERT_TRUE(drive({&client}, [&] { return client.closed.size() == 1; })) << "nobody drives the server";
  EXPECT_EQ(client.transport->silence(conn), Duration{0}) << "a connection that is gone";
  EXPECT_EQ(client.closed[conn.value].code, Errc::timeout);
  EXPECT_NE(client.closed[conn.value].context.find(": silent for "), std::string::npos);
  EXPECT_EQ(client.transport->watch(conn, Millis{0}, Millis{300}), Errc::lost);
}

TEST_P(TransportTest, AClientThatComputesForLongIsNotJudgedAndFindsOneHeartbeat) {
  End server(server_config()), client(client_config());
  const ConnId conn = connect(server, client).client;
  ASSERT_EQ(server.transport->watch(server.accepted[0], Millis{5}, Millis{0}), Errc::ok);
  ASSERT_EQ(client.transport->watch(conn, Millis{0}, Millis{100}), Errc::ok);
  const Time end = monotonic_now() + Millis{500};
  ASSERT_TRUE(drive({&server}, [&] { return monotonic_now() > end; })) << "the client makes no call";
  EXPECT_TRUE(server.closed.empty());
  ASSERT_EQ(server.send(server.accepted[0], "still", "here"), Errc::ok);
  EXPECT_TRUE(drive({&server, &client}, [&] { return client.received == 1; }));
  EXPECT_TRUE(client.closed.empty()) << "its own silence is not held against the server";
}

}  // namespace
}  // namespace sumac::net
