// Tests messages that UCX receives in their final memory, and sends from memory that their owner wants back; and that
// strangers give way.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "net/test_harness.hpp"

namespace sumac::net {
namespace {

constexpr std::size_t kFrom = 20000;

TransportConfig config_of(Millis linger = Millis{2000}) {
  TransportConfig config;
  config.backend = "ucx";
  config.listen = "any";
  config.device = "lo";
  config.place_from = kFrom;
  config.linger = linger;
  return config;
}

/// An end that has memory for every long message.
class Placer : public End {
 public:
  explicit Placer(Millis linger = Millis{2000}) : End(config_of(linger)) {}

  std::span<std::byte> on_head(ConnId, std::span<const std::byte, 64>, std::size_t bytes) override {
    ++asked;
    EXPECT_EQ(received, delivered_when_asked.emplace_back(received));
    memory.assign(bytes - 64, std::byte{0xCC});
    return memory;
  }
  void on_placed(ConnId conn, BufferRef head) override {
    std::string text(reinterpret_cast<const char*>(head.data()), head.size());
    text.append(reinterpret_cast<const char*>(memory.data()), memory.size());
    messages[conn.value].push_back(std::move(text));
    ++received;
    ++placed;
  }

  std::size_t asked = 0, placed = 0;
  std::vector<std::size_t> delivered_when_asked;
  std::vector<std::byte> memory;
};

struct Pair {
  explicit Pair(Millis linger = Millis{2000}) : sender(linger) {
    there = sender.connect(receiver.transport->address());
    EXPECT_TRUE(drive({&sender, &receiver}, [&] { return !receiver.accepted.empty() && !sender.connected.empty(); }));
    here = receiver.accepted.at(0);
  }
  void send(std::string_view text) {
    const std::size_t head = std::min<std::size_t>(text.size(), 64);
    ASSERT_EQ(sender.send(there, text.substr(0, head), text.substr(head)), Errc::ok);
  }

  Placer sender, receiver;
  ConnId there, here;
};

void expect_all(const char* threshold) {
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", threshold);
  Pair pair;
  std::vector<std::string> sent;
  for (const std::size_t size : {kFrom - 1, kFrom, kFrom + 1, std::size_t{5}, std::size_t{262208}, std::size_t{100000}})
    sent.push_back(pattern(size, static_cast<std::uint32_t>(sent.size())));
  // In one burst, where a message may come whole because an earlier one is not delivered, then one by one.
  for (const auto& text : sent) pair.send(text);
  ASSERT_TRUE(drive({&pair.sender, &pair.receiver}, [&] { return pair.receiver.received == sent.size(); }));
  const std::size_t before = pair.receiver.placed;
  for (const auto& text : sent) {
    const std::size_t had = pair.receiver.received;
    pair.send(text);
    ASSERT_TRUE(drive({&pair.sender, &pair.receiver}, [&] { return pair.receiver.received > had; }));
  }
  EXPECT_EQ(pair.receiver.placed - before, 4u) << "all but the two short ones";
  EXPECT_EQ(pair.receiver.transport->stats().placed, pair.receiver.placed);
  auto twice = sent;
  twice.insert(twice.end(), sent.begin(), sent.end());
  EXPECT_TRUE(pair.receiver.from(pair.here) == twice);
  ASSERT_TRUE(drive({&pair.sender, &pair.receiver}, [&] { return pair.sender.transport->unsent(pair.there) == 0; }));
}

TEST(UcxPlacing, MessagesComeWhereTheyBelong) { expect_all("inf"); }
TEST(UcxPlacing, MessagesComeWhereTheyBelongByTheRendezvousOfUcx) { expect_all("1000"); }

TEST(UcxPlacing, APeerThatDoesNotTakeAMessageLosesTheConnectionWithTheMemory) {
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", "1000");
  Pair pair(Millis{50});
  std::string text = pattern(200000, 1);
  pair.send(text);
  EXPECT_GE(pair.sender.transport->unsent(pair.there), text.size());
  pair.sender.transport->detach(pair.there);
  text.clear();
  text.shrink_to_fit();
  ASSERT_TRUE(drive({&pair.sender}, [&] { return pair.sender.closed.contains(pair.there.value); }));
  EXPECT_NE(pair.sender.closed[pair.there.value].context.find("did not take a message"), std::string::npos);
  ASSERT_TRUE(drive({&pair.receiver}, [&] { return pair.receiver.closed.contains(pair.here.value); }));
  EXPECT_EQ(pair.receiver.received, 0u);
}

TEST(UcxPlacing, AMessageWhoseReceiverTakesItsMemoryBackComesWhole) {
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", "1000");
  Pair pair;
  const std::string text = pattern(200000, 2);
  pair.send(text);
  ASSERT_TRUE(drive({&pair.sender, &pair.receiver}, [&] { return pair.receiver.asked == 1; }));
  ASSERT_EQ(pair.receiver.received, 0u);
  std::atomic<bool> is_over = false;
  std::thread sending([&] {
    while (!is_over) pair.sender.progress();
  });
  pair.receiver.transport->detach(pair.here);
  pair.receiver.memory = {};
  const bool has_come = drive({&pair.receiver}, [&] { return pair.receiver.received == 1; });
  is_over = true;
  sending.join();
  ASSERT_TRUE(has_come);
  EXPECT_EQ(pair.receiver.placed, 0u);
  EXPECT_TRUE(pair.receiver.from(pair.here) == std::vector{text});
}

TEST(UcxPlacing, APeerThatIsKilledInTheMiddleOfAMessageIsReported) {
  const Variable rendezvous("SUMAC_UCX_RNDV_THRESH", "1000");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    char address[2048] = "";
    if (read(ready[0], address, sizeof address - 1) <= 0) _exit(2);
    Placer sender;
    const ConnId conn = sender.connect(address);
    drive({&sender}, [&] { return !sender.connected.empty(); });
    const std::string text = pattern(200000, 3);
    sender.send(conn, std::string_view(text).substr(0, 64), std::string_view(text).substr(64));
    for (;;) pause();
  }
  Placer receiver;
  const std::string address = receiver.transport->address();
  ASSERT_EQ(write(ready[1], address.c_str(), address.size()), static_cast<ssize_t>(address.size()));
  EXPECT_TRUE(drive({&receiver}, [&] { return receiver.asked == 1; }));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_TRUE(drive({&receiver}, [&] { return receiver.closed.size() == 1; }));
  EXPECT_EQ(receiver.closed.begin()->second.code, Errc::lost);
  EXPECT_EQ(receiver.received, 0u);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(UcxStrangers, TheOldestGivesWayAndWhoIsAdmittedStays) {
  TransportConfig config = config_of();
  config.stranger_bytes = 100;
  config.strangers_max = 2;
  config.handshake_timeout = Seconds{60};
  End server(config), client(config_of());
  std::vector<ConnId> conns;
  for (std::size_t i = 0; i < 4; ++i) {
    conns.push_back(client.connect(server.transport->address()));
    ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == i + 1; }));
    if (i == 0) server.transport->admit(server.accepted[0]);
  }
  ASSERT_TRUE(drive({&server, &client}, [&] { return !server.closed.empty(); }));
  ASSERT_EQ(server.closed.size(), 1u);
  EXPECT_EQ(server.closed.begin()->first, server.accepted[1].value);
  EXPECT_NE(server.closed.begin()->second.context.find("displaced by others"), std::string::npos);
  EXPECT_EQ(server.transport->stats().displaced, 1u);
}

}  // namespace
}  // namespace sumac::net
