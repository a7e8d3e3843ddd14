#include "net/heartbeat.hpp"

#include <gtest/gtest.h>

#include "net/transport.hpp"

namespace sumac::net {
namespace {

TEST(Heartbeat, silence_is_counted_from_the_last_beat_in_which_something_came) {
  Heartbeat one;
  one.set(Millis{0}, Millis{1000});
  EXPECT_FALSE(one.beat(Millis{200})) << "the beat in which it begins";
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(one.beat(Millis{200}));
  one.heard = true;
  EXPECT_FALSE(one.beat(Millis{200}));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(one.beat(Millis{200}));
  EXPECT_TRUE(one.beat(Millis{200}));
  EXPECT_EQ(one.silence, Millis{1000});
}

TEST(Heartbeat, who_is_not_judged_may_be_silent_for_ever) {
  Heartbeat one;
  one.set(Millis{200}, Millis{0});
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(one.beat(Seconds{10}));
}

TEST(Heartbeat, a_peer_is_told_where_nothing_else_was_sent_and_only_once_before_it_answers) {
  Heartbeat one;
  one.set(Millis{200}, Millis{0});
  one.spoke = true;
  EXPECT_FALSE(one.tells());
  EXPECT_TRUE(one.tells());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(one.tells()) << "a peer that computes finds one, not a hundred";
  one.asked = false;
  EXPECT_TRUE(one.tells());
  Heartbeat mute;
  mute.set(Millis{0}, Millis{1000});
  EXPECT_FALSE(mute.tells());
}

TEST(Beats, a_process_that_was_late_or_stopped_holds_one_beat_against_its_peers) {
  Heartbeat one;
  Beats beats;
  EXPECT_EQ(beats.next(), kNever);
  beats.set(one, Millis{0}, Seconds{10}, at(Seconds{1}));
  EXPECT_EQ(beats.next(), at(Seconds{1}) + kBeatMax);
  EXPECT_EQ(beats.take(at(Seconds{1}) + kBeatMax), kBeatMax);
  EXPECT_EQ(beats.take(at(Seconds{3600})), kBeatMax);
  EXPECT_EQ(beats.next(), at(Seconds{3600}) + kBeatMax);
  EXPECT_EQ(beats.take(at(Seconds{3600}) + kBeatMax + Millis{1}), kBeatMax);
}

TEST(Beats, are_as_frequent_as_the_hastiest_needs) {
  Heartbeat slow, hasty;
  Beats beats;
  beats.set(slow, Millis{0}, Seconds{10}, at(Seconds{1}));
  beats.set(hasty, Millis{0}, Millis{100}, at(Seconds{1}));
  EXPECT_EQ(beats.next(), at(Seconds{1}) + Millis{20});
  beats.set(hasty, Millis{0}, Millis{0}, at(Seconds{1}));
  EXPECT_NE(beats.next(), kNever) << "the slow one is still watched";
  beats.forget(hasty);
  beats.forget(slow);
  EXPECT_EQ(beats.next(), kNever);
}

TEST(PeerEnd, says_who_was_silent_and_for_how_long) {
  const struct {
    Error why;
    const char* host;
    Millis silence;
  } rows[] = {
      {{Errc::timeout, "10.77.0.6:43210: silent for 1003 ms"}, "10.77.0.6", Millis{1003}},
      {{Errc::timeout, "[fd00::6]:43210: silent for 7 ms"}, "fd00::6", Millis{7}},
      {{Errc::timeout, "h3:1234: silent for 7 ms"}, "h3", Millis{7}},
      {{Errc::lost, "10.77.0.6:43210: closed by the peer"}, "10.77.0.6", Millis{0}},
      {{Errc::lost, ""}, "", Millis{0}},
  };
  for (const auto& row : rows) {
    const auto end = peer_end(row.why);
    EXPECT_EQ(end.host, row.host);
    EXPECT_EQ(end.silence, row.silence);
  }
}

TEST(PeerEnd, says_whether_a_connection_was_ever_one) {
  const struct {
    const char* why;
    Unreached how;
  } rows[] = {
      {"10.77.0.6:43210: connect: Connection refused", Unreached::refused},
      {"[fd00::6]:43210: connect: No route to host", Unreached::silent},
      {"10.77.0.6:43210: connect: Connection timed out", Unreached::silent},
      {"10.77.0.6:43210: no connection in 5000 ms", Unreached::silent},
      {"10.77.0.6:43210: no greeting in 5000 ms", Unreached::no},
      {"10.77.0.6:43210: closed by the peer", Unreached::no},
      {"", Unreached::no},
  };
  for (const auto& row : rows) EXPECT_EQ(unreached(Error{Errc::lost, row.why}), row.how) << row.why;
}

}  // namespace
}  // namespace sumac::net
