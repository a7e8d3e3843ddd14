#include "net/waiter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "net/transport_harness.hpp"

namespace sumac::net {
namespace {

using Next = SpinPolicy::Next;

/// Performs one wait in which nothing arrives for a long time; returns the time spent spinning.
Duration lonely_wait(SpinPolicy& policy, Time& now, long& switches, long switched_out = 0) {
  const auto count = [&] { return switches; };
  const Time start = now;
  policy.found(now);
  Next next;
  while ((next = policy.next(now, count)) == Next::look) {
    now += Micros{1};
    switches += std::exchange(switched_out, 0);
  }
  const Duration spun = now - start;
  while (next == Next::yield) next = policy.next(now, count);
  EXPECT_EQ(next, Next::sleep);
  EXPECT_EQ(policy.next(now, count), Next::sleep) << "woken for nothing: back to sleep";
  now += Millis{5};
  return spun;
}

TEST(SpinPolicy, LooksThenYieldsThenSleeps) {
  SpinPolicy policy(WaiterConfig{});
  const auto none = [] { return 0L; };
  Time now = at(Seconds{1});
  EXPECT_EQ(policy.next(now, none), Next::look);
  EXPECT_EQ(policy.next(now + Micros{19}, none), Next::look);
  EXPECT_EQ(policy.next(now + Micros{20}, none), Next::yield);
  EXPECT_EQ(policy.next(now + Micros{21}, none), Next::yield);
  EXPECT_EQ(policy.next(now + Micros{22}, none), Next::yield);
  EXPECT_EQ(policy.next(now + Micros{23}, none), Next::sleep);
  policy.found(now);
  EXPECT_EQ(policy.next(now + Micros{24}, none), Next::look);
}

TEST(SpinPolicy, SpinsThatFindNothingBecomeRare) {
  SpinPolicy policy(WaiterConfig{});
  Time now = at(Seconds{1});
  long switches = 0;
  Duration spun{0};
  for (int i = 0; i < 160; ++i) spun += lonely_wait(policy, now, switches);
  EXPECT_LE(spun, Micros{21} * (4 + 10)) << "4 in a row, then one in 16";
  EXPECT_GT(spun, Duration::zero());
}

TEST(SpinPolicy, OneAnswerInTimeBringsSpinningBack) {
  SpinPolicy policy(WaiterConfig{});
  Time now = at(Seconds{1});
  long switches = 0;
  for (int i = 0; i < 10; ++i) lonely_wait(policy, now, switches);
  const auto count = [&] { return switches; };
  policy.found(now);
  int waits = 0;
  while (policy.next(now, count) != Next::look) {
    policy.found(now);
    ASSERT_LT(++waits, 17);
  }
  policy.found(now);  // The message arrived during a look.
  EXPECT_EQ(policy.next(now, count), Next::look);
}

TEST(SpinPolicy, AThreadThatIsSwitchedOutStopsSpinningAndRecoversSlowly) {
  SpinPolicy policy(WaiterConfig{});
  Time now = at(Seconds{1});
  long switches = 0;
  const auto count = [&] { return switches; };
  lonely_wait(policy, now, switches);
  for (int i = 0; i < 200 && policy.budget() > Duration::zero(); ++i) lonely_wait(policy, now, switches, 1);
  EXPECT_EQ(policy.budget(), Duration::zero());
  Duration spun{0};
  for (int i = 0; i < 50; ++i) spun += lonely_wait(policy, now, switches);
  EXPECT_LE(spun, Duration(Micros{2}));
  for (int i = 0; i < 64 * 8; ++i) {
    policy.found(now);
    policy.next(now, count);
  }
  EXPECT_EQ(policy.budget(), Duration(Micros{20}));
}

TEST(SpinPolicy, TheShareOfTheCoreIsKept) {
  WaiterConfig config;
  config.spin = Micros{100};
  config.cpu_share = 0.1;
  SpinPolicy policy(config);
  const auto none = [] { return 0L; };
  Time now = at(Seconds{1});
  Duration spun{0};
  // A message arrives 90 us into each spin: spinning pays, but takes 90 % of the core.
  for (int i = 0; i < 10000; ++i) {
    const Time start = now;
    while (policy.next(now, none) == Next::look && now - start < Micros{90}) now += Micros{1};
    spun += now - start;
    if (now == start) now += Micros{90};  // The thread has slept for the 90 us.
    policy.found(now);
  }
  const Duration wall = now - at(Seconds{1});
  EXPECT_LE(spun, wall / 10 + Millis{11}) << "a tenth, and what it had saved up before";
  EXPECT_GE(spun, wall / 20);
}

TEST(SpinPolicy, NoBudgetNoSpin) {
  WaiterConfig config;
  config.spin = Micros{0};
  SpinPolicy policy(config);
  EXPECT_EQ(policy.next(at(Seconds{1}), [] { return 0L; }), Next::sleep);
}

TEST(Waiter, SleepsAtMostSleepMaxAndWakesForWork) {
  EXPECT_GE(usable_cores(), 1u);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd in{ends[0]}, out{ends[1]};
  Waiter waiter;
  while (waiter.sleeps() == 0) waiter.wait(0, in.get(), kNever);  // Each wait() returns although nothing ever arrived.
  WaiterConfig patient;
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
  WaiterConfig config;
  config.spin = Micros{0};
  config.sleep_max = Seconds{3600};
  Waiter waiter(config);
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
