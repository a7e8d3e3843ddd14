// Answers of other daemons become part of the job, whatever their bytes are.
#include "tools/look/others.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace sumac::tools::look {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
const Now kNow{.monotonic_ns = 100 * kSecond, .realtime_ns = 1000 * kSecond, .host = "h1"};

/// The packed page of a rank that has begun `begun` collectives of one communicator, the newest at `since_s`, and waits in it.
std::string page_of(int rank, std::uint64_t begun, int since_s, std::uint64_t job = 7) {
  recorder::PageHeader header{.magic = recorder::kPageMagic, .pid = 5, .world_rank = rank, .world_size = 3, .job = job};
  recorder::TrackMemory track{};
  track.begun = track.stamp_begun = begun * recorder::kStep;
  track.ended = (begun - 1) * recorder::kStep;
  track.stamp_ns = since_s * kSecond;
  track.is_used = 1;
  track.id = 9;
  track.rank = rank;
  track.size = 3;
  std::string bytes(sizeof header + sizeof track, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &track, sizeof track);
  return bytes;
}

control::v1::DaemonView& daemon(control::v1::InspectReply& reply, const std::string& role, const std::string& name) {
  auto& view = *reply.add_daemons();
  view.set_role(role);
  view.set_name(name);
  view.set_monotonic_ns(5000 * kSecond);
  return view;
}

control::v1::RankView& rank(control::v1::DaemonView& view, const std::string& page, const std::string& before) {
  auto& one = *view.add_ranks();
  one.set_pid(44);
  one.set_uid(4'000'000'000u);
  one.set_state("S");
  one.set_program("prog");
  one.set_page(page);
  one.set_page_before(before);
  return one;
}

TEST(Others, RanksOfOtherHostsAreJudgedWithOurs) {
  Job job{.id = 7};
  control::v1::InspectReply reply;
  auto& h2 = daemon(reply, "host", "h2");
  rank(h2, page_of(1, 3, 4980), page_of(1, 3, 4980));
  rank(h2, page_of(2, 4, 4988), page_of(2, 4, 4988));
  merge(job, reply, kNow);
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(job.size, 3);
  const auto text = explain_text(job, kNow);
  EXPECT_NE(
      text.find(
          "3 ranks: barrier (number 4): rank 2 in it for 12.0 s\n  rank 1 on h2 (pid 44, asleep) has not begun it"),
      text.npos)
      << "the clocks of hosts differ: " << text;
  EXPECT_NE(text.find("of 1 of its ranks nothing is known"), text.npos) << text;
}

TEST(Others, ARankThatGoesOnBetweenTheLooksIsNotLate) {
  Job job{.id = 7};
  control::v1::InspectReply reply;
  auto& h2 = daemon(reply, "host", "h2");
  rank(h2, page_of(1, 3, 4980), page_of(1, 2, 4980));
  rank(h2, page_of(2, 4, 4988), page_of(2, 4, 4988));
  merge(job, reply, kNow);
  EXPECT_NE(explain_text(job, kNow).find("goes on"), std::string::npos);
}

TEST(Others, WhatIsKnownHereStaysAndWhatIsWrongIsSaid) {
  Job job{.id = 7};
  control::v1::InspectReply reply;
  auto& h1 = daemon(reply, "host", "h1");
  rank(h1, page_of(1, 3, 4980), "");
  merge(job, reply, kNow);
  ASSERT_EQ(job.ranks.size(), 1u);
  job.ranks[0].host.clear();
  reply.Clear();
  auto& h2 = daemon(reply, "host", "h2");
  rank(h2, page_of(1, 30, 4980), "");     // this rank is known
  rank(h2, page_of(2, 30, 4980, 8), "");  // it is of another job
  rank(h2, "no page", "");
  daemon(reply, "host", "h3\x1b[2J").set_silent("no answer in time");
  merge(job, reply, kNow);
  ASSERT_EQ(job.ranks.size(), 1u);
  EXPECT_EQ(job.ranks[0].process.page.tracks[0].begun, 3u);
  ASSERT_EQ(job.notes.size(), 3u);
  EXPECT_EQ(job.notes[0], "pid 44 on h2 has left no record of its collectives");
  EXPECT_EQ(job.notes[2], "host h3?[2J does not answer: no answer in time");
}

TEST(Others, TheDeadAndTheNodesThatWaitAreNamed) {
  Job job{.id = 7};
  control::v1::InspectReply reply;
  auto& death = *daemon(reply, "host", "h2").add_deaths();
  death.set_world_rank(5);
  death.set_who("h2 pid 44");
  death.set_since_ns(4997 * kSecond);
  death.set_page(page_of(2, 3, 4990));
  auto& wait = *daemon(reply, "node", "an-root").add_waits();
  wait.set_since_ns(4990 * kSecond);
  wait.add_children("node an-leaf2");
  wait.add_children("rank 4 on host h4");
  merge(job, reply, kNow);
  EXPECT_EQ(explain_text(job, kNow),
            "job 7: no rank of it is left here\nrank 5 on h2 died 3.0 s ago: h2 pid 44; "
            "it was in barrier (number 3) of a communicator without a name, begun 7.0 s before\n"
            "node an-root waits for node an-leaf2 and rank 4 on host h4, for 10.0 s\n");
}

}  // namespace
}  // namespace sumac::tools::look
