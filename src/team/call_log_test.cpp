#include "team/call_log.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/meaning.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using coll::Operation;

/// The memory in which so many ranks compare their calls.
class Memory {
 public:
  explicit Memory(int ranks) : bytes_(CallLog::bytes_for(ranks) + alignof(CallRing)), at_(bytes_.data()) {
    std::size_t room = bytes_.size();
    (void)std::align(alignof(CallRing), CallLog::bytes_for(ranks), at_, room);
  }
  void* at() const { return at_; }

 private:
  std::vector<std::byte> bytes_;
  void* at_;
};

/// The log of some ranks, all of one host.
struct Host {
  explicit Host(int ranks) : memory(ranks), layouts(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      Layout& layout = layouts[static_cast<std::size_t>(rank)];
      layout.rank = rank;
      layout.size = ranks;
      for (int here = 0; here < ranks; ++here) layout.host_members.push_back(here);
      logs.emplace_back(memory.at(), layout);
    }
  }

  Memory memory;
  std::vector<Layout> layouts;
  std::vector<CallLog> logs;
};

/// Returns how the ranks differ; "": they do not.
std::string words(const Result<>& compared) { return compared ? "" : compared.error().context; }

Operation plain(Kind kind, std::size_t bytes, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.root = root;
  return operation;
}

TEST(CallLog, AReaderSeesAnEntryWholeOrNotAtAll) {
  Host host(1);
  const auto nth = [](std::uint64_t n) { return plain(static_cast<Kind>(n % 5), n, static_cast<int>(n % 7)); };
  std::thread writer([&] {
    for (std::uint64_t n = 1; n <= 20000; ++n) host.logs[0].begin(n, nth(n));
  });
  for (std::uint64_t n = 1; n <= 20000; ++n)
    if (const auto found = host.logs[0].read(0, n)) {
      EXPECT_EQ(*found, terms_of(nth(n), 1)) << n;
    }
  writer.join();
  EXPECT_TRUE(host.logs[0].has_begun(0, 20000));
  EXPECT_FALSE(host.logs[0].read(0, 20000 - CallRing::kEntries).has_value()) << "its entry has been used again";
}

TEST(CallLog, RanksThatDifferAreNamedByOperation) {
  Host host(3);
  const coll::Fold fold{.dtype = Dtype::float32, .op = Op::sum};
  Operation sum = plain(Kind::allreduce, 16);
  sum.fold = &fold;
  for (CallLog& log : host.logs) log.begin(1, sum);
  EXPECT_EQ(words(host.logs[0].compare(1, 1)), "");
  host.logs[0].begin(2, sum);
  EXPECT_EQ(words(host.logs[0].compare(1, 2)), "") << "nobody else has begun it";
  sum.bytes = 24;
  host.logs[2].begin(2, sum);
  EXPECT_FALSE(host.logs[0].all_have_begun(2));
  EXPECT_EQ(words(host.logs[0].compare(1, 9)),
            "the ranks differ: operation 2 is allreduce of 16 B, float32, sum at rank 0 and allreduce of 24 B, "
            "float32, sum at rank 2");
  EXPECT_EQ(words(host.logs[1].compare(1, 9)), "") << "this rank has begun nothing that differs";
  Operation other = plain(Kind::bcast, 24, 1);
  other.meaning = Meaning{.kind = 3, .element = element_of(Dtype::int16)}.packed();
  host.logs[1].begin(2, other);
  EXPECT_TRUE(host.logs[0].all_have_begun(2));
  EXPECT_EQ(words(host.logs[2].compare(2, 2)),
            "the ranks differ: operation 2 is allreduce of 24 B, float32, sum at rank 2 and allreduce of 16 B, "
            "float32, sum at rank 0");
  EXPECT_NE(words(host.logs[1].compare(2, 2)).find("bcast of 24 B, int16, root 1 at rank 1"), std::string::npos);
}

TEST(CallLog, AnOperationIsForgottenWhenItsEntryIsUsedAgain) {
  Host host(2);
  host.logs[1].begin(1, plain(Kind::barrier, 0));
  for (std::uint64_t n = 1; n <= CallRing::kEntries; ++n) host.logs[0].begin(n, plain(Kind::bcast, 8));
  EXPECT_NE(words(host.logs[0].compare(1, CallRing::kEntries)), "");
  host.logs[0].begin(CallRing::kEntries + 1, plain(Kind::bcast, 8));
  EXPECT_EQ(words(host.logs[0].compare(1, CallRing::kEntries + 1)), "");
}

TEST(CallLog, BlocksThatDoNotFitTogetherAreNamedByTheirSizes) {
  // counts[from][to], and what each rank expects of them.
  const std::int64_t sent[2][2] = {{1, 2}, {3, 4}}, at[2] = {0, 9};
  std::int64_t expected[2][2] = {{1, 3}, {2, 4}};
  Host host(2);
  const auto nth = [&](int rank) {
    Operation operation = plain(Kind::alltoallv, 0);
    operation.in_blocks = coll::Blocks(sent[rank], at, 4);
    operation.out_blocks = coll::Blocks(expected[rank], at, 4);
    return operation;
  };
  for (std::uint64_t n = 1; n <= 3; ++n) {
    for (int rank = 0; rank < 2; ++rank) host.logs[static_cast<std::size_t>(rank)].begin(n, nth(rank));
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_EQ(words(host.logs[static_cast<std::size_t>(rank)].compare_blocks(n, nth(rank))), "") << n << rank;
  }
  expected[1][0] = 1;
  EXPECT_EQ(words(host.logs[1].compare_blocks(3, nth(1))),
            "the ranks differ: in operation 3, alltoallv, rank 0 sends 8 B to rank 1, which expects 4 B");
  expected[1][0] = 2, expected[1][1] = 5;
  EXPECT_EQ(words(host.logs[1].compare_blocks(3, nth(1))),
            "the ranks differ: in operation 3, alltoallv, rank 1 sends 16 B to itself, and expects 20 B");
}

TEST(Terms, BlocksWithSizesCountTogether) {
  const int counts[] = {1, 2, 5}, at[] = {0, 1, 3};
  Operation operation = plain(Kind::gatherv, 4, 2);
  operation.out_blocks = coll::Blocks(counts, at, 4);
  EXPECT_EQ(to_string(terms_of(operation, 3)), "gatherv of 32 B, root 2");
  operation.kind = Kind::alltoallv;
  operation.in_blocks = operation.out_blocks;
  EXPECT_EQ(to_string(terms_of(operation, 3)), "alltoallv");
}

/// The sum of vectors whose elements are the rank.
struct RankSum {
  explicit RankSum(std::size_t count, int rank) : values(count, rank) {
    (void)sumac_fold_standard(&fold, static_cast<int>(Dtype::int32), static_cast<int>(Op::sum),
                              static_cast<int>(Dtype::null));
    call.coll = SUMAC_COLL_ALLREDUCE;
    call.out = values.data();
    call.bytes = count * sizeof(int);
    call.fold = &fold;
  }
  std::vector<int> values;
  sumac_fold_t fold{};
  sumac_call_t call{};
};

TEST(AgreedCalls, RunWhereAllRanksDoTheSameAndNameThoseThatDiffer) {
  const auto places = places_of(1, 1, 3);
  const auto options = options_with({});
  for (const std::size_t count : {2u, 40'000u}) {
    const Memory memory(3);
    EXPECT_EQ("", as_threads(3, 5, [&](World& world) -> std::string {
                auto spec = world.spec(places, as_c(options));
                spec.calls = memory.at();
                sumac_team_t* team = world.create(spec);
                if (team == nullptr) return world.why;
                char why[512] = "";
                for (std::uint64_t number = 1; number <= 3; ++number) {
                  RankSum same(count, world.rank);
                  if (sumac_team_run_agreed(team, &same.call, number, why, sizeof why) != SUMAC_TEAM_OK)
                    return fmt::format("call {}: {}", number, why);
                  if (same.values != std::vector<int>(count, 3)) return "a wrong sum";
                }
                RankSum other(world.rank == 1 ? count : count + 2, world.rank);
                const int status = sumac_team_run_agreed(team, &other.call, 4, why, sizeof why);
                if (status == SUMAC_TEAM_DIFFER) sumac_team_break(team, why);
                if (status != SUMAC_TEAM_DIFFER && status != SUMAC_TEAM_BROKEN) return fmt::format("status {}", status);
                const std::string text = sumac_team_error(team);
                const bool is_named = text.find("the ranks differ: operation 4 is allreduce of ") == 0 &&
                                      text.find(fmt::format("of {} B, int32, sum", count * sizeof(int))) != text.npos;
                world.meet();
                sumac_team_destroy(team);
                return is_named ? "" : text;
              }));
  }
}

TEST(AgreedCalls, ALargeOneMeetsAllRanksOfTheHostFirst) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  const Memory memory(2);
  EXPECT_EQ("", as_threads(2, 5, [&](World& world) -> std::string {
              auto spec = world.spec(places, as_c(options));
              spec.calls = memory.at();
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              RankSum small(2, world.rank), large(40'000, world.rank);
              char why[512] = "";
              const auto meet = [&](const RankSum& sum, std::uint64_t number) {
                return sumac_team_meet(team, &sum.call, number, 1, why, sizeof why);
              };
              const auto fault = [&]() -> std::string {
                if (world.rank == 0) {
                  sumac_team_begin(team, &small.call, 1);
                  sumac_team_begin(team, &large.call, 2);
                  if (meet(small, 1) != SUMAC_TEAM_OK) return "a small one waits";
                  if (meet(large, 2) != SUMAC_TEAM_PENDING) return "a large one does not wait";
                }
                world.meet();
                if (world.rank == 1) {
                  if (!sumac_team_has_begun(team, 0, 2) || sumac_team_has_begun(team, 1, 1)) return "who has begun?";
                  // The small one differs, which the large one finds too.
                  const RankSum other(3, world.rank);
                  sumac_team_begin(team, &other.call, 1);
                  sumac_team_begin(team, &large.call, 2);
                }
                world.meet();
                if (meet(large, 2) != SUMAC_TEAM_DIFFER) return "they do not differ";
                return std::string(why).find("the ranks differ: operation 1 is allreduce of ") == 0 ? "" : why;
              }();
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

}  // namespace
}  // namespace sumac::team
