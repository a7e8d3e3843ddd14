// A lane is only a segment of shared memory. Over several hosts it would also need a communicator of leaders or a group of the
// tree of its own, and there are few of those: so there the MPI does the persistent collectives, and matches them correctly
// too. Making a persistent collective may wait for the other ranks. So they agree on a lane that no rank uses any more, whose
// teams have all done the same number of operations.
#include <atomic>
#include <bit>
#include <new>
#include <vector>

#include "rank/across.h"
#include "rank/error_codes.hpp"
#include "rank/job.h"
#include "rank/limits.hpp"
#include "rank/making.h"
#include "rank/record.h"
#include "rank/say.h"

namespace {

std::atomic_ref<std::uint32_t> taken(sumac_record& record) {
  return std::atomic_ref<std::uint32_t>(record.lanes_taken);
}

/// Returns the lowest lane that no rank uses, or -1.
int agree(sumac_record& record, int& rc) {
  std::uint32_t all = 0;
  rc = record.runtime->common_bits(&record, ~taken(record).load() & ((std::uint32_t{1} << SUMAC_LANES_MAX) - 1), &all);
  return rc == 0 && all != 0 ? std::countr_zero(all) : -1;
}

/// Succeeds at all ranks or fails at all.
sumac_lane* make(sumac_record& record, int& rc) {
  auto* lane = new (std::nothrow) sumac_lane{};
  if (lane == nullptr) {
    rc = record.runtime->error_no_memory;
    return nullptr;
  }
  lane->record = &record;
  char why[1024] = "", name[SUMAC_NAME_BYTES];
  record.life = SUMAC_LIFE_STARTING;
  const int status = sumac_lane_make_team(lane, why, sizeof why);
  record.life = SUMAC_LIFE_TEAM;
  if (status == SUMAC_TEAM_OK) return lane;
  delete lane;
  record.lanes_end = true;
  if (status != SUMAC_TEAM_PASS) {
    record.runtime->name(&record, name);
    SUMAC_SAY("no team for a persistent collective of communicator %s: %s", name, why);
    rc = sumac_error_code(record.runtime, why);
  }
  return nullptr;
}

}  // namespace

int sumac_lane_make_team(sumac_lane_t* lane, char* why, std::size_t why_bytes) {
  sumac_record& record = *lane->record;
  const sumac_runtime& runtime = *record.runtime;
  const bool is_ordinary = lane == &record.ordinary;
  std::vector<sumac_place_t> places(static_cast<std::size_t>(record.size));
  if (runtime.places(&record, places.data()) != 0) return SUMAC_TEAM_NO_MEMORY;
  char name[SUMAC_NAME_BYTES];
  runtime.name(&record, name);
  sumac_team_spec_t spec{};
  spec.struct_bytes = sizeof spec;
  spec.rank = record.rank;
  spec.size = record.size;
  spec.places = places.data();
  spec.ranks_apart = is_ordinary && record.hosts == 1 && sumac_job_serves(runtime.settings, 1) ? 1 : 0;
  spec.options = *runtime.options;
  spec.oob = runtime.oob;
  spec.oob.context = &record;
  spec.progress = sumac_limits_drive;
  spec.progress_context = lane;
  spec.threads = runtime.threads ? 1 : 0;
  spec.yields = runtime.yields ? 1 : 0;
  spec.host_ranks = runtime.host_ranks;
  spec.name = name;
  if (is_ordinary) sumac_across_set(&spec, lane);
  if (record.making != nullptr) sumac_making_set(&spec, &record);
  return sumac_team_create(&spec, &lane->team, why, why_bytes);
}

sumac_lane_t* sumac_lane_take(sumac_record* record, int* rc_p) {
  *rc_p = 0;
  if (record->hosts > 1 || record->lanes_end) return nullptr;
  const int at = agree(*record, *rc_p);
  if (at < 0) return nullptr;
  sumac_lane*& lane = record->lanes[at];
  if (lane == nullptr) lane = make(*record, *rc_p);
  if (lane != nullptr) taken(*record).fetch_or(std::uint32_t{1} << at);
  return lane;
}

void sumac_lane_give(sumac_lane_t* lane) {
  for (unsigned at = 0; at < SUMAC_LANES_MAX; ++at)
    if (lane->record->lanes[at] == lane) taken(*lane->record).fetch_and(~(std::uint32_t{1} << at));
}
