// A process may give up the right to be read in the middle of its life, and the system may refuse one member another's
// memory: the group goes on by shared memory, with right results and without an error.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "shm/single/cma.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_filter.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

constexpr coll::Kind kColls[] = {coll::Kind::allreduce,  coll::Kind::bcast,    coll::Kind::allgather,
                                 coll::Kind::allgatherv, coll::Kind::alltoall, coll::Kind::alltoallv,
                                 coll::Kind::scatter};

enum class Place : std::uint8_t { apart, in_place, first_in_place };

std::string one(Group& group, coll::Kind kind, Place place, std::uint64_t seed) {
  const bool in_place = place == Place::in_place || (place == Place::first_in_place && group.index() == 0);
  const Ask ask{.kind = kind, .bytes = 40000, .root = 0, .in_place = in_place, .seed = seed};
  Exercise exercise(ask, group.size(), group.index());
  if (run(group, exercise.operation()) != Errc::ok) return group.error();
  return exercise.check();
}

/// Three operations by single copy, then `change` at member 1, then three more of each collective, `kind` first.
/// Returns the number of operations that were sent through shared memory instead, or what failed.
template <class Change>
std::string runs(Segment& segment, int rank, int n, coll::Kind kind, Place place, const Change& change) {
  Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
  if (agree_on_single_copy(group) != Errc::ok) return group.error();
  if (!group.turning.single_copy) return "shared";
  Tuning tuning = tuning_for(segment.shape(), n);
  for (const coll::Kind each : kColls)
    if (!tuning.force(each, "single")) return "no single";
  group.set_tuning(tuning);
  for (std::uint64_t i = 0; i < 3; ++i)
    if (std::string fault = one(group, kind, place, i); !fault.empty()) return fault;
  if (group.closed() != 0) return "it was closed from the beginning";
  if (rank == 1 && !change()) return "no seccomp";
  for (std::uint64_t i = 0; i < 3; ++i)
    if (std::string fault = one(group, kind, place, 10 + i); !fault.empty()) return fault;
  for (const coll::Kind each : kColls)
    if (std::string fault = one(group, each, Place::apart, 20); !fault.empty()) return fault;
  return fmt::format("{}", group.closed());
}

template <class Change>
void goes_on(const Change& change) {
  for (const int n : {2, 3})
    for (const coll::Kind kind : kColls)
      for (const Place place : {Place::apart, Place::in_place, Place::first_in_place}) {
        // In-place v-forms and alltoall go by shared memory anyway, and bcast has one buffer.
        if (place != Place::apart && kind != coll::Kind::allreduce && kind != coll::Kind::allgather) continue;
        SCOPED_TRACE(fmt::format("{} of {}, place {}", to_string(kind), n, static_cast<int>(place)));
        const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) {
          return runs(segment, rank, n, kind, place, change);
        });
        if (texts[0] == "shared") GTEST_SKIP() << "this system forbids single copy";
        if (texts[1] == "no seccomp") GTEST_SKIP() << "this kernel has no seccomp filters";
        for (const auto& text : texts) EXPECT_EQ("10", text);
      }
}

TEST(Refusal, AMemberThatGivesUpBeingReadableGoesOnThroughSharedMemory) {
  goes_on([] { return ::prctl(PR_SET_DUMPABLE, 0) == 0; });
}

TEST(Refusal, AMemberThatIsRefusedInTheMiddleOfAnOperationGoesOnThroughSharedMemory) {
  goes_on(forbid_copies_with_others);
}

}  // namespace
}  // namespace sumac::shm
