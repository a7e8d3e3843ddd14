#include "page/events.hpp"

#include <gtest/gtest.h>

namespace sumac::page {
namespace {

Event of_job(std::uint64_t id) {
  return {.kind = EventKind::job_granted, .subject = "job", .text = "runs", .owner = 7, .job = JobId{id}};
}
Event node(EventKind kind, const std::string& name) { return {.kind = kind, .subject = name, .text = "registered"}; }

TEST(Events, those_of_the_last_hour_stay_in_order) {
  EventLog log;
  log.add(of_job(1), at(Seconds(0)));
  log.add(node(EventKind::node_registered, "a"), at(Seconds(10)));
  log.add(of_job(2), at(Seconds(20)));
  const auto all = log.recent(at(Seconds(3600)));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_LT(all[0]->id, all[1]->id);
  EXPECT_EQ(all[1]->subject, "a");
  EXPECT_EQ(log.recent(at(Seconds(3601))).size(), 2u);
}

TEST(Events, none_is_a_version_too) {
  EventLog log;
  const auto before = log.version();
  EXPECT_NE(before, 0u) << "0 is what a page has that has nothing";
  log.add(of_job(1), at(Seconds(0)));
  EXPECT_NE(log.version(), before);
}

TEST(Events, a_crowd_is_one_event_with_a_count) {
  EventLog log;
  for (int i = 0; i < 10'000; ++i)
    log.add(node(EventKind::host_registered, "h" + std::to_string(i)), at(Millis(i / 10)));
  const auto all = log.recent(at(Seconds(1)));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->count, 10'000u);
  EXPECT_EQ(all[0]->subject, "h0");
  log.add(node(EventKind::host_registered, "late"), at(Seconds(60)));
  EXPECT_EQ(log.recent(at(Seconds(60))).size(), 2u);
}

TEST(Events, jobs_do_not_push_out_the_fabric) {
  EventLog log;
  log.add(node(EventKind::node_lost, "an-1"), at(Seconds(0)));
  for (std::uint64_t i = 0; i < 3 * EventLog::kKept; ++i) log.add(of_job(i), at(Seconds(1)));
  const auto all = log.recent(at(Seconds(1)));
  EXPECT_EQ(all.size(), EventLog::kKept + 1);
  EXPECT_EQ(all.front()->subject, "an-1");
  EXPECT_EQ(log.dropped(), 2 * EventLog::kKept);
}

TEST(Events, a_busy_user_does_not_push_out_another) {
  EventLog log;
  auto quiet = of_job(1);
  quiet.owner = 2001;
  quiet.subject = "quiet";
  log.add(quiet, at(Seconds(0)));
  for (std::uint64_t i = 0; i < 2 * EventLog::kKept; ++i) log.add(of_job(i), at(Seconds(1)));
  const auto all = log.recent(at(Seconds(1)));
  EXPECT_EQ(all.size(), EventLog::kKept);
  EXPECT_EQ(all.front()->subject, "quiet");
  log.add(of_job(1), at(Seconds(3601)));
  EXPECT_EQ(log.recent(at(Seconds(3601))).front()->subject, of_job(0).subject) << "an hour is over for all";
}

}  // namespace
}  // namespace sumac::page
