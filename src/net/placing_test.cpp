// Tests messages that are received in their final memory (TransportEvents::on_head, on_expect): the same bytes arrive
// in the same order as otherwise, and no byte is written into memory that its owner has taken back.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "net/tcp_frame.hpp"
#include "net/tcp_socket.hpp"
#include "net/test_harness.hpp"

namespace sumac::net {
namespace {

constexpr std::size_t kFrom = 1000;
constexpr std::byte kUntouched{0xCC};

/// An end that provides memory for its messages. The bytes before and behind each such range must stay unchanged.
class Placer : public End {
 public:
  explicit Placer(std::size_t pool_bytes = 256u << 20) : End(config(), pool_bytes) {}
  static TransportConfig config() {
    TransportConfig config;
    config.place_from = kFrom;
    return config;
  }

  std::span<std::byte> on_head(ConnId conn, std::span<const std::byte, 64> head, std::size_t bytes) override {
    ++asked;
    EXPECT_EQ(told_when_asked.emplace_back(received), received);
    EXPECT_GE(bytes, kFrom);
    if (!wants(head[0])) return {};
    return place(conn, bytes - head.size());
  }
  std::span<std::byte> on_expect(ConnId conn, std::span<std::byte, 64> head) override {
    if (guess.empty()) return {};
    std::ranges::copy(as_bytes(guess).first(64), head.begin());
    return place(conn, guess.size() - head.size());
  }
  void on_placed(ConnId conn, BufferRef head) override {
    ASSERT_EQ(head.size(), 64u);
    const auto body = std::span(memory).subspan(kMargin, place_bytes);
    for (std::size_t i = 0; i < kMargin; ++i) {
      EXPECT_EQ(memory[i], kUntouched) << "before the place";
      EXPECT_EQ(memory[kMargin + place_bytes + i], kUntouched) << "behind the place";
    }
    std::string text(reinterpret_cast<const char*>(head.data()), head.size());
    text.append(reinterpret_cast<const char*>(body.data()), body.size());
    messages[conn.value].push_back(std::move(text));
    ++received;
    ++placed;
  }

  std::function<bool(std::byte)> wants = [](std::byte) { return true; };
  std::string guess;  ///< The message that on_expect() predicts.
  std::size_t asked = 0, placed = 0, place_bytes = 0;
  std::vector<std::size_t> told_when_asked;
  std::vector<std::byte> memory;

 private:
  static constexpr std::size_t kMargin = 64;
  std::span<std::byte> place(ConnId, std::size_t bytes) {
    place_bytes = bytes;
    memory.assign(bytes + 2 * kMargin, kUntouched);
    return std::span(memory).subspan(kMargin, bytes);
  }
};

TransportConfig listening() {
  TransportConfig config;
  config.listen = "127.0.0.1:0";
  return config;
}

struct Pair {
  explicit Pair(std::size_t pool_bytes = 256u << 20) : server(listening()), client(pool_bytes) {
    conn = client.connect(server.transport->address());
    EXPECT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1 && client.connected.size() == 1; }));
    there = server.accepted.at(0);
  }
  bool run(const std::function<bool()>& done) { return drive({&server, &client}, done); }
  void send(std::string_view text) { ASSERT_EQ(server.send(there, "", text), Errc::ok); }
  const std::vector<std::string>& got() { return client.messages[conn.value]; }

  End server;
  Placer client;
  ConnId conn, there;
};

/// Expects all messages to arrive as they were sent: first in one burst, then one by one.
void expect_all(Pair& pair, const std::vector<std::string>& sent) {
  pair.server.transport->cork();
  for (const auto& text : sent) pair.send(text);
  pair.server.transport->uncork();
  ASSERT_TRUE(pair.run([&] { return pair.client.received == sent.size(); }));
  for (const auto& text : sent) {
    const auto before = pair.client.received;
    pair.send(text);
    ASSERT_TRUE(pair.run([&] { return pair.client.received > before; }));
  }
  auto twice = sent;
  twice.insert(twice.end(), sent.begin(), sent.end());
  EXPECT_TRUE(pair.got() == twice);
  EXPECT_EQ(pair.client.transport->stats().placed, pair.client.placed);
  EXPECT_EQ(pair.client.transport->stats().messages_in, twice.size());
}

std::vector<std::string> of_sizes(const std::vector<std::size_t>& sizes) {
  std::vector<std::string> texts;
  for (const auto size : sizes) texts.push_back(pattern(size, static_cast<std::uint32_t>(texts.size() + 1)));
  return texts;
}

TEST(Placing, LargeMessagesComeWhereTheyBelongAndSmallOnesAsEver) {
  const struct {
    const char* name;
    std::vector<std::size_t> sizes;
    std::size_t placed;
  } rows[] = {
      {"the size from which on it is asked", {kFrom - 1, kFrom, kFrom + 1}, 2},
      {"around what one read takes", {8119, 8120, 8121, 8192, 8193, 16384}, 6},
      {"chunks in a row", std::vector<std::size_t>(40, 65600), 40},
      {"small ones between them", {65600, 64, 65600, 0, 1, 65600, 72, 72, 72, 300000}, 4},
      {"the longest", {1u << 20, 1u << 20}, 2},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Pair pair;
    expect_all(pair, of_sizes(row.sizes));
    EXPECT_EQ(pair.client.placed, 2 * row.placed);
  }
}

TEST(Placing, WhoHasNoPlaceForAMessageGetsItWhole) {
  Pair pair;
  std::size_t asked = 0;
  pair.client.wants = [&](std::byte) { return ++asked % 3 == 0; };
  expect_all(pair, of_sizes(std::vector<std::size_t>(12, 65600)));
  EXPECT_EQ(pair.client.placed, 8u);
}

TEST(Placing, IsAskedWhenAllBeforeIsTold) {
  Pair pair;
  const auto sent = of_sizes({5, 65600, 6, 7, 65600, 65600, 8});
  pair.server.transport->cork();
  for (const auto& text : sent) pair.send(text);
  pair.server.transport->uncork();
  ASSERT_TRUE(pair.run([&] { return pair.client.received == sent.size(); }));
  EXPECT_EQ(pair.client.told_when_asked, (std::vector<std::size_t>{1, 4, 5}));
  // Each pass delivers one event: no memory is asked for too early, and nothing waits for a wake-up that does not come.
  pair.client.told_when_asked.clear();
  pair.server.transport->cork();
  for (const auto& text : sent) pair.send(text);
  pair.server.transport->uncork();
  while (pair.client.received < 2 * sent.size()) {
    pair.server.progress();
    ASSERT_LE(pair.client.transport->progress(pair.client, 1), 1u);
  }
  EXPECT_EQ(pair.client.told_when_asked, (std::vector<std::size_t>{8, 11, 12}));
}

TEST(Placing, OneReadIsEnoughForWhatWasExpected) {
  Pair pair;
  const std::string chunk = pattern(65600, 1);
  pair.client.guess = chunk;
  pair.send(chunk);  // The receiver chooses memory for the first message.
  ASSERT_TRUE(pair.run([&] { return pair.client.received == 1; }));
  EXPECT_EQ(pair.client.asked, 1u);
  std::size_t calls = 0;
  for (std::size_t i = 2; i <= 11; ++i) {
    pair.send(chunk);
    while (pair.server.progress() > 0) {
    }
    const auto before = pair.client.transport->stats().system_calls;
    ASSERT_TRUE(pair.run([&] { return pair.client.received == i; }));
    calls += pair.client.transport->stats().system_calls - before;
  }
  EXPECT_EQ(pair.client.asked, 1u) << "nobody has to be asked about what was expected";
  EXPECT_EQ(pair.client.placed, 11u);
  EXPECT_TRUE(pair.got() == std::vector<std::string>(11, chunk));
  EXPECT_LE(calls, 30u) << "ten chunks; each takes epoll_wait and readv, or two of each if it comes in two parts";
}

TEST(Placing, AWrongGuessCostsNoByte) {
  const std::string chunk = pattern(65600, 1);
  auto other_head = chunk;
  other_head[63] = static_cast<char>(other_head[63] + 1);
  const struct {
    const char* name;
    std::vector<std::string> instead;
  } rows[] = {
      {"a message with another head", {other_head}},
      {"a longer one", {pattern(65601, 1)}},
      {"a shorter one", {pattern(2000, 1)}},
      {"many small ones", std::vector<std::string>(500, pattern(100, 5))},
      {"a tiny one", {"x"}},
      {"one that ends where the expected head would", {pattern(64, 1)}},
      {"small ones and then the expected one", {pattern(10, 2), pattern(20, 3), chunk}},
      {"one that fills all of the memory and more", {pattern(200000, 4), chunk}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Pair pair;
    pair.client.guess = chunk;
    std::vector<std::string> sent{chunk};
    pair.send(chunk);
    ASSERT_TRUE(pair.run([&] { return pair.client.received == 1; }));
    for (int round = 0; round < 3; ++round)
      for (const auto& text : {row.instead, std::vector<std::string>(20, chunk)}) {
        pair.server.transport->cork();
        for (const auto& one : text) pair.send(one);
        pair.server.transport->uncork();
        sent.insert(sent.end(), text.begin(), text.end());
        ASSERT_TRUE(pair.run([&] { return pair.client.received == sent.size(); }));
      }
    EXPECT_TRUE(pair.got() == sent);
  }
}

TEST(Placing, APartOfWhatIsExpectedWakesNobodyButSomethingShortIsFoundSoon) {
  Pair pair;
  const std::string chunk = pattern(65600, 1);
  pair.client.guess = chunk;
  pair.send(chunk);
  ASSERT_TRUE(pair.run([&] { return pair.client.received == 1; }));
  EXPECT_NE(pair.client.transport->next_due(), kNever) << "it does not wait for the whole of it for ever";
  for (int round = 0; round < 3; ++round) {
    // The receiver sleeps in one case, and only looks in the other.
    const auto before = pair.client.received;
    pair.send("short");
    ASSERT_TRUE(pair.run([&] { return pair.client.received == before + 1; }));
    pair.send(chunk);
    ASSERT_TRUE(pair.run([&] { return pair.client.received == before + 2; }));
    pair.send("short");
    const Time deadline = monotonic_now() + kPatience;
    while (pair.client.received < before + 3 && monotonic_now() < deadline) {
      pair.server.progress();
      pair.client.progress();
    }
    ASSERT_EQ(pair.client.received, before + 3);
    pair.send(chunk);
    ASSERT_TRUE(pair.run([&] { return pair.client.received == before + 4; }));
  }
  pair.client.guess.clear();
  pair.server.transport->close(pair.there);
  EXPECT_TRUE(pair.run([&] { return pair.client.closed.contains(pair.conn.value); })) << "an end is heard of at once";
}

/// A peer whose frames this test writes by hand, so that it can stop in the middle of a message.
struct Halting {
  explicit Halting(std::size_t pool_bytes = 256u << 20) : client(pool_bytes) {
    auto bound = listen_on(*parse_address("127.0.0.1:0"), 1);
    listener = std::move(*bound);
    conn = client.connect("tcp:" + format_address(*local_address(listener.get())));
    EXPECT_TRUE(drive({&client}, [&] {
      if (!peer) peer = UniqueFd{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      return static_cast<bool>(peer);
    }));
    const auto welcome = encode_greeting(FrameType::welcome, 1u << 20);
    write({reinterpret_cast<const char*>(welcome.data()), welcome.size()});
    EXPECT_TRUE(drive({&client}, [&] { return client.connected.size() == 1; }));
  }
  void write(std::string_view bytes) {
    ASSERT_EQ(send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void write_frame_header(std::size_t length) {
    const auto header = encode_frame_header(FrameType::data, static_cast<std::uint32_t>(length));
    write({reinterpret_cast<const char*>(header.data()), header.size()});
  }
  /// Sends the first `bytes` of a message and waits until they have landed.
  void begin(const std::string& text, std::size_t bytes) {
    write_frame_header(text.size());
    write(std::string_view(text).substr(0, bytes));
    const auto in = client.transport->stats().bytes_in;
    ASSERT_TRUE(drive({&client}, [&] { return client.transport->stats().bytes_in >= in + kFrameHeaderBytes + bytes; }));
    ASSERT_EQ(client.asked, 1u);
  }

  Placer client;
  UniqueFd listener, peer;
  ConnId conn;
};

TEST(Placing, DetachTakesTheMemoryBackAndTheMessageComesWhole) {
  const std::string text = pattern(60000, 9);
  for (const std::size_t landed : {64u, 65u, 8000u, 30000u, 59999u}) {
    SCOPED_TRACE(landed);
    Halting world;
    world.begin(text, landed);
    world.client.transport->detach(world.conn);
    std::ranges::fill(world.client.memory, kUntouched);  // The memory belongs to its owner again.
    world.write(std::string_view(text).substr(landed));
    ASSERT_TRUE(drive({&world.client}, [&] { return world.client.received == 1; }));
    EXPECT_TRUE(world.client.from(world.conn).at(0) == text);
    EXPECT_EQ(world.client.placed, 0u);
    EXPECT_TRUE(std::ranges::all_of(world.client.memory, [](std::byte b) { return b == kUntouched; }));
  }
}

TEST(Placing, WithoutABufferForWhatHasLandedDetachEndsTheConnection) {
  const std::string text = pattern(60000, 9);
  Halting world(4096);  // A pool of 4096 bytes is enough for heads only.
  world.begin(text, 30000);
  world.client.transport->detach(world.conn);
  std::ranges::fill(world.client.memory, kUntouched);
  ASSERT_TRUE(drive({&world.client}, [&] { return world.client.closed.contains(world.conn.value); }));
  EXPECT_EQ(world.client.closed[world.conn.value].code, Errc::exhausted);
  EXPECT_TRUE(std::ranges::all_of(world.client.memory, [](std::byte b) { return b == kUntouched; }));
}

TEST(Placing, NothingIsWrittenBehindAClose) {
  const std::string text = pattern(60000, 9);
  for (const bool flush : {false, true}) {
    SCOPED_TRACE(flush);
    Halting world;
    world.begin(text, 30000);
    world.client.transport->close(world.conn, flush);
    std::ranges::fill(world.client.memory, kUntouched);
    // These bytes arrive at a closed connection, so no one receives them.
    send(world.peer.get(), text.data() + 30000, 30000, MSG_NOSIGNAL);
    shutdown(world.peer.get(), SHUT_WR);
    ASSERT_TRUE(drive({&world.client}, [&] { return world.client.transport->flushing() == 0; }));
    world.client.progress();
    EXPECT_EQ(world.client.received, 0u);
    EXPECT_TRUE(world.client.closed.empty());
    EXPECT_TRUE(std::ranges::all_of(world.client.memory, [](std::byte b) { return b == kUntouched; }));
  }
}

TEST(Placing, APeerThatDiesInTheMiddleEndsTheConnectionAndTellsOfNoMessage) {
  Halting world;
  world.begin(pattern(60000, 9), 30000);
  shutdown(world.peer.get(), SHUT_WR);
  ASSERT_TRUE(drive({&world.client}, [&] { return world.client.closed.contains(world.conn.value); }));
  EXPECT_THAT(world.client.closed[world.conn.value].context, testing::HasSubstr("content 30000 of 60000 bytes"));
  EXPECT_EQ(world.client.received, 0u);
}

TEST(Placing, WithoutABufferForAHeadItWaitsForOne) {
  Pair pair(4096);
  std::vector<BufferRef> held;
  while (BufferRef buffer = pair.client.pool.acquire(64)) held.push_back(std::move(buffer));
  const auto sent = of_sizes({65600, 65600});
  for (const auto& text : sent) pair.send(text);
  ASSERT_TRUE(pair.run([&] { return pair.client.asked == 1; }));
  for (int i = 0; i < 10; ++i) pair.client.progress(), pair.server.progress();
  EXPECT_EQ(pair.client.received, 0u);
  held.clear();
  ASSERT_TRUE(pair.run([&] { return pair.client.received == 2; }));
  EXPECT_TRUE(pair.got() == sent);
  EXPECT_EQ(pair.client.placed, 2u);
}

}  // namespace
}  // namespace sumac::net
