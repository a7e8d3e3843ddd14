#include "tools/look/judge.hpp"

#include <gtest/gtest.h>

namespace sumac::tools::look {
namespace {

using recorder::Operation;
using recorder::TrackView;

constexpr std::int64_t kSecond = 1'000'000'000;
const Now kNow{.monotonic_ns = 100 * kSecond, .realtime_ns = 1000 * kSecond, .host = "h1"};
constexpr std::uint32_t kBarrier = 0, kAllreduce = 1;

/// A communicator of a rank, whose newest operation has begun at `since_s`.
TrackView track(std::uint64_t id, const char* name, int rank, int size, std::uint64_t begun, bool inside, int since_s,
                std::uint32_t what = kAllreduce) {
  TrackView made{
      .id = id, .name = name, .rank = rank, .size = size, .begun = begun, .ended = inside ? begun - 1 : begun};
  made.since_ns = since_s * kSecond;
  made.is_exact = true;
  if (begun > 0) made.newest.push_back({begun, what, what == kBarrier ? 0u : 8u});
  if (begun > 1) made.newest.push_back({begun - 1, kBarrier, 0});
  return made;
}

Rank rank(int world_rank, std::vector<TrackView> tracks, char state = 'R', std::uint64_t job = 7) {
  Rank made;
  made.process = {100 + world_rank,
                  4'000'000'000u,
                  state,
                  "prog",
                  {100 + world_rank, world_rank, 4, job, 900 * kSecond, 0, std::move(tracks)}};
  for (const auto& one : made.process.page.tracks) made.before.push_back(one.begun);
  return made;
}

Job job(std::vector<Rank> ranks) { return jobs_of(std::move(ranks)).at(0); }

std::string explained(std::vector<Rank> ranks) { return explain_text(job(std::move(ranks)), kNow); }

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(Look, TheRankThatHasNotBegunIsNamed) {
  const auto text =
      explained({rank(0, {track(1, "w", 0, 2, 18, true, 88)}), rank(1, {track(1, "w", 1, 2, 17, false, 87)})});
  EXPECT_TRUE(says(text, "job 7 of 4000000000: prog, 2 of 4 ranks on h1, since 100.0 s\n")) << text;
  EXPECT_TRUE(says(
      text,
      "w, 2 ranks: allreduce 8 B (number 18): rank 0 in it for 12.0 s\n"
      "  rank 1 on h1 (pid 101, running) has not begun it; its last there: allreduce 8 B (number 17), 13.0 s ago\n"))
      << text;
  EXPECT_TRUE(says(text, "rank 1 on h1, pid 101, running\n  w: 17 allreduce 8 B, 13.0 s ago; 16 barrier\n")) << text;
}

TEST(Look, ARankThatOutlivesTreesSaysHowOftenItHadOne) {
  auto one = rank(0, {track(1, "w", 0, 2, 18, true, 88)});
  one.process.page.on_tree = 12;
  one.process.page.among_members = 5;
  const auto text = explained({one, rank(1, {})});
  EXPECT_TRUE(says(text, "pid 100, running; operations on a tree: 12, among the members without one: 5\n")) << text;
  EXPECT_TRUE(says(text, "pid 101, running\n")) << text;
}

TEST(Look, TheLongestWaitOfAllRanksCountsAndAnUncertainOneIsSaid) {
  auto loose = rank(1, {track(1, "w", 1, 3, 5, true, 40)});
  loose.process.page.tracks[0].is_exact = false;
  const auto text =
      explained({rank(0, {track(1, "w", 0, 3, 5, true, 60)}), loose, rank(2, {track(1, "w", 2, 3, 0, false, 0)})});
  EXPECT_TRUE(says(text,
                   "ranks 0-1 in it for at most 60.0 s\n  rank 2 on h1 (pid 102, running) has not begun it; it has "
                   "begun none there\n"))
      << text;
}

TEST(Look, ALateRankThatWaitsElsewhereIsSaidToWait) {
  const auto text =
      explained({rank(0, {track(1, "a", 0, 2, 2, true, 50), track(2, "b", 0, 2, 1, false, 40)}),
                 rank(1, {track(1, "a", 1, 2, 1, false, 40), track(2, "b", 1, 2, 2, true, 50, kBarrier)})});
  EXPECT_TRUE(says(text, "it waits itself, in barrier of b\n")) << text;
  EXPECT_TRUE(says(text, "it waits itself, in allreduce 8 B of a\n")) << text;
}

TEST(Look, WhatGoesOnIsNoHang) {
  auto moving = rank(0, {track(1, "w", 0, 2, 18, true, 99)});
  moving.before = {10};
  const std::vector<Rank> ranks{moving, rank(1, {track(1, "w", 1, 2, 17, false, 99)})};
  EXPECT_TRUE(says(explained(ranks), "w, 2 ranks: allreduce 8 B (number 18): goes on\n"));
  EXPECT_TRUE(says(ps_text({job(ranks)}, kNow), "collectives of w go on\n"));
}

TEST(Look, AStoppedRankInsideIsNamed) {
  const auto text =
      explained({rank(0, {track(1, "w", 0, 2, 3, true, 90)}), rank(1, {track(1, "w", 1, 2, 3, true, 91)}, 'T')});
  EXPECT_TRUE(
      says(text, "ranks 0-1 in it for 10.0 s\n  rank 1 on h1 (pid 101) is stopped (kill -CONT 101 lets it go on)\n"))
      << text;
}

TEST(Look, RanksOfOtherHostsAreCountedOrNamedAsARankHereHasHeard) {
  auto here = rank(0, {track(1, "w", 0, 4, 3, true, 90)});
  EXPECT_TRUE(
      says(explained({here}),
           "  of 3 of its ranks nothing is known: they are dead, or on hosts where the same number tells more\n"));
  here.process.page.tracks[0].missing = {2, 3};
  EXPECT_TRUE(says(explained({here}), "  ranks 2-3 on other hosts, not begun as the ranks here have heard\n"));
  EXPECT_TRUE(says(ps_text({job({here})}, kNow), "allreduce 8 B of w waits for ranks 2-3, 10.0 s\n"));
}

TEST(Look, RanksThatAreMissingAndHereAreNotNamedTwice) {
  auto here = rank(0, {track(1, "w", 0, 2, 3, true, 90)});
  here.process.page.tracks[0].missing = {1};
  EXPECT_FALSE(says(explained({here, rank(1, {track(1, "w", 1, 2, 2, false, 80)})}), "have heard"));
  EXPECT_TRUE(says(explained({here, rank(1, {track(1, "w", 1, 2, 3, true, 99)})}), "  all its ranks have begun it\n"))
      << "it has begun since";
}

TEST(Look, ARankThatIsAheadKeepsNobodyWaiting) {
  const std::vector<Rank> ranks{rank(0, {track(1, "w", 0, 2, 3, false, 90)}),
                                rank(1, {track(1, "w", 1, 2, 2, false, 80)})};
  EXPECT_TRUE(says(explained(ranks), "\nno rank here is in a collective\n"));
  EXPECT_TRUE(says(ps_text({job(ranks)}, kNow), "no rank here is in a collective\n"));
}

TEST(Look, APlaceInASubgroupIsGivenBesideTheRankOfTheJob) {
  const auto text =
      explained({rank(2, {track(1, "s", 1, 2, 2, true, 90)}), rank(3, {track(1, "s", 0, 2, 1, false, 80)})});
  EXPECT_TRUE(says(text, "  rank 0 (rank 3 of the job) on h1")) << text;
}

TEST(Look, JobsAreCutByNumberAndUserAndTheNewestIsLast) {
  auto young = rank(0, {track(1, "w", 0, 2, 1, false, 90)}, 'R', 5),
       old = rank(0, {track(2, "w", 0, 2, 1, false, 90)}, 'R', 9);
  young.process.page.since_ns = 990 * kSecond;
  auto others = old;
  others.process.uid = 1;
  const auto jobs = jobs_of({young, rank(1, {track(2, "w", 1, 2, 1, false, 90)}, 'R', 9), old, others});
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs.back().id, 5u);
  for (const auto& one : jobs)
    if (one.id == 9 && one.uid != 1) {
      ASSERT_EQ(one.ranks.size(), 2u);
      EXPECT_EQ(one.ranks[1].process.page.world_rank, 1);
    }
  EXPECT_TRUE(says(ps_text(jobs, kNow), " 0-1 of 4 "));
}

TEST(Look, RanksAreNamedInRanges) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({5, 0, 1, 2, 5, 7}), "ranks 0-2, 5, 7");
}

}  // namespace
}  // namespace sumac::tools::look
