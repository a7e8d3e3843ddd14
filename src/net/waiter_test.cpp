#include "net/waiter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "net/test_harness.hpp"

namespace sumac::net {
namespace {

TEST(Waiter, SleepsAtMostSleepMaxAndWakesForWork) {
  EXPECT_GE(usable_cores(), 1u);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd in{ends[0]}, out{ends[1]};
  Waiter waiter;
  while (waiter.sleeps() == 0) waiter.wait(0, in.get(), kNever);  // Each wait() returns although nothing ever arrived.
  WaitLimits patient = waits::kMessage;
  patient.sleep_max = Seconds{3600};
  ASSERT_EQ(write(out.get(), "x", 1), 1);
  Waiter woken(patient);
  while (woken.sleeps() == 0) woken.wait(0, in.get(), kNever);  // There is work, so it does not sleep for an hour.
}

TEST(Waiter, WhoIsAloneSleepsAtOnceAndFindsWhatWokeItWithoutAskingAgain) {
  TransportConfig listening;
  listening.listen = "127.0.0.1:0";
  End server(listening), client(TransportConfig{});
  const ConnId conn = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1 && client.connected.size() == 1; }));
  Waiter waiter({.spin = Micros{0}, .sleep_max = Seconds{3600}});
  ASSERT_EQ(client.send(conn, "x"), Errc::ok);
  const auto before = server.transport->stats().system_calls;
  waiter.rest(1, *server.transport);
  EXPECT_EQ(waiter.sleeps(), 1u) << "what there was is dealt with";
  EXPECT_GT(server.progress(), 0u);
  EXPECT_EQ(server.received, 1u);
  EXPECT_EQ(server.transport->stats().system_calls - before, 2u) << "epoll_wait, recv";
  // A connection that is closed between the wake-up and the look is not looked at.
  ASSERT_EQ(client.send(conn, "y"), Errc::ok);
  waiter.rest(1, *server.transport);
  server.transport->close(server.accepted.at(0));
  server.progress();
  EXPECT_EQ(server.received, 1u);
  // With work at hand it does not sleep, and with a deadline it does not sleep for ever.
  waiter.rest(0, *server.transport, monotonic_now() + Millis{1});
  waiter.rest(0, *server.transport, monotonic_now());
  EXPECT_EQ(waiter.sleeps(), 3u);
}

TEST(Transport, ASleepSaysWhetherSomethingCameAndIsNoLongerThanAsked) {
  TransportConfig listening;
  listening.listen = "127.0.0.1:0";
  End server(listening), client(TransportConfig{});
  const ConnId conn = client.connect(server.transport->address());
  ASSERT_TRUE(drive({&server, &client}, [&] { return server.accepted.size() == 1 && client.connected.size() == 1; }));
  ASSERT_TRUE(server.transport->arm());
  Duration least = Seconds{3600};
  for (int i = 0; i < 50; ++i) {
    const Time began = monotonic_now();
    EXPECT_FALSE(server.transport->wait(Micros{100}));
    least = std::min<Duration>(least, monotonic_now() - began);
  }
  EXPECT_GE(least, Micros{100});
  EXPECT_LT(least, Micros{900}) << "not rounded to milliseconds: the shortest of many, as others may have the core";
  ASSERT_EQ(client.send(conn, "x"), Errc::ok);
  EXPECT_TRUE(server.transport->wait(Seconds{3600}));
}

}  // namespace
}  // namespace sumac::net
