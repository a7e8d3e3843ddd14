// Groups as large as those of many-core hosts, whose members lie in domains of every size.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>

#include "shm/steps.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {
namespace {

std::vector<Member> members_in(const std::vector<int>& domains) {
  auto members = everybody(static_cast<int>(domains.size()));
  for (std::size_t m = 0; m < members.size(); ++m) members[m].domain = domains[m];
  return members;
}

TEST(VisitingOrder, ItsOwnDomainComesFirstAndTheOthersSpread) {
  using Order = std::vector<std::uint16_t>;
  const struct {
    const char* name;
    std::vector<int> domains;
    int index;
    Order order;
  } rows[] = {
      {"a lone member", {0}, 0, {}},
      {"two", {0, 0}, 1, {0}},
      {"one domain: the order of ranks from the next one on", {3, 3, 3, 3}, 2, {3, 0, 1}},
      {"two domains, one after the other", {0, 0, 0, 1, 1, 1}, 1, {2, 0, 4, 5, 3}},
      {"two domains in turn", {0, 1, 0, 1, 0, 1}, 3, {5, 1, 2, 4, 0}},
      {"uneven: the position goes round in a smaller domain", {0, 0, 0, 1, 1, 2}, 2, {0, 1, 3, 4, 5}},
      {"each in its own domain: the next domain first", {2, 0, 1}, 2, {0, 1}},
  };
  for (const auto& row : rows) EXPECT_EQ(row.order, visiting_order(members_in(row.domains), row.index)) << row.name;
}

TEST(VisitingOrder, EveryOtherMemberComesOnceAndEvenDomainsAreReadEvenly) {
  const int domain_count = 8, each = 21;
  std::vector<int> domains(domain_count * each);
  for (std::size_t m = 0; m < domains.size(); ++m) domains[m] = static_cast<int>(m) / each;
  const auto members = members_in(domains);
  std::vector<std::vector<int>> readers(members.size(), std::vector<int>(members.size()));  // [step][member]
  for (std::size_t index = 0; index < members.size(); ++index) {
    auto order = visiting_order(members, static_cast<int>(index));
    for (std::size_t step = 0; step < order.size(); ++step) ++readers[step][order[step]];
    order.push_back(static_cast<std::uint16_t>(index));
    std::sort(order.begin(), order.end());
    std::vector<std::uint16_t> all(members.size());
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    ASSERT_EQ(all, order);
  }
  for (std::size_t step = 0; step + 1 < members.size(); ++step)
    EXPECT_EQ(1, *std::max_element(readers[step].begin(), readers[step].end())) << "step " << step;
}

TEST(TouchOwnLines, APageOfLinesIsThereBeforeOthersPollIt) {
  const Shape shape = small_shape(8);
  auto segment = Segment::create(shape, Backing::memfd);
  ASSERT_TRUE(segment);
  const GroupLayout at = layout_of(shape, 0);
  const auto is_there = [&](std::size_t offset) {
    unsigned char resident = 0;
    EXPECT_EQ(0, ::mincore(segment->at(offset / kPage * kPage), kPage, &resident));
    return (resident & 1) != 0;
  };
  const auto lines_of = [&](std::size_t member) { return at.lines + member * kLineRing * sizeof(Line); };
  ASSERT_FALSE(is_there(lines_of(7)));
  touch_own_lines(*segment, 0, 7);
  EXPECT_TRUE(is_there(lines_of(7)));
  EXPECT_TRUE(is_there(lines_of(7) + kLineRing * sizeof(Line) - 1)) << "the last of its lines";
  EXPECT_TRUE(is_there(at.controls + 7 * sizeof(Control)));
  EXPECT_FALSE(is_there(lines_of(0))) << "another member's";
  EXPECT_FALSE(is_there(at.large + 7 * at.large_stride)) << "its owner writes it first anyway";
}

class Domains : public testing::TestWithParam<int> {};

TEST_P(Domains, EveryAlgorithmGivesTheReferenceResult) {
  const int n = GetParam();
  Shape shape = small_shape(n);
  shape.large_bytes = 64 * 1024;  // A slice has room for a cell of each of 168 members.
  // Domains of all sizes, in no order: the last one has one member.
  Random random(static_cast<std::uint64_t>(n));
  std::vector<int> domains(static_cast<std::size_t>(n));
  for (auto& domain : domains) domain = static_cast<int>(std::min(random.below(8), random.below(8)));
  domains.back() = 8;
  const auto members = members_in(domains);
  EXPECT_EQ(
      "", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
        Group group(segment, 0, members, rank, kTestWait, tuning_for(shape, n));
        if (!turns_fit(group)) return "no room for large messages";
        std::uint64_t seed = static_cast<std::uint64_t>(n);
        for (const Algorithm& algorithm : algorithms()) {
          if (algorithm.usable != nullptr && !algorithm.usable(group)) continue;
          Tuning tuning = tuning_for(shape, n);
          if (auto forced = tuning.force(algorithm.kind, algorithm.name); !forced) return forced.error().context;
          group.set_tuning(tuning);
          const coll::Collective& row = coll::collective(algorithm.kind);
          // The reference folds all vectors at each member: in large groups shorter vectors, of quick types.
          const bool is_vector = row.keeps == coll::Share::vector && (!row.reduces || n <= 32);
          for (const std::size_t bytes : {std::size_t{8}, is_vector ? slice_bytes(group) + 40 : n <= 64 ? 328 : 104}) {
            ++seed;
            const Ask ask{.kind = algorithm.kind,
                          .bytes = bytes,
                          .root = static_cast<int>(seed * 7 % static_cast<unsigned>(n)),
                          .in_place = seed % 3 == 0,
                          .reduction = n <= 32 ? seed % std::size(kReductions) : seed % 2,
                          .seed = seed};
            Exercise exercise(ask, n, rank);
            if (run(group, exercise.operation()) != Errc::ok) return fmt::format("run: {}", group.error());
            if (std::string fault = exercise.check(); !fault.empty())
              return fmt::format("{}: {}", algorithm.name, fault);
            if (algorithm.kind == coll::Kind::barrier) break;
          }
        }
        return {};
      }));
}
INSTANTIATE_TEST_SUITE_P(Ranks, Domains, testing::Values(17, 24, 32, 48, 64, 96, 128, 168));

}  // namespace
}  // namespace sumac::shm
