#include "rank/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "rank/communicators.hpp"
#include "rank/error_codes.hpp"
#include "rank/explain.h"
#include "rank/job.h"
#include "rank/making.h"
#include "rank/profile.h"
#include "rank/progress.h"
#include "rank/say.h"
#include "recorder/recorder.hpp"

using sumac::rank::communicators, sumac::rank::Communicators;

namespace {

/// A larger buffer is not kept for the next call.
constexpr std::size_t kScratchKeptMax = std::size_t{16} << 20;

void add(sumac_tally& sum, const sumac_record& record) {
  sumac_tally_add_team(&sum, record.ordinary.team, record.rank);
  for (const sumac_lane* lane : record.lanes)
    if (lane != nullptr) sumac_tally_add_team(&sum, lane->team, record.rank);
  if (!record.is_counted) return;
  sum.no_group += record.no_group ? 1 : 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll)
    for (int way = 0; way < SUMAC_WAYS; ++way) sum.teams.calls[coll][way] -= record.uncounted[coll][way];
  sumac_tally_add_passed(&sum, record.passed);
}

void end_lane(sumac_lane& lane) {
  if (lane.team == nullptr) return;
  sumac_progress_leave(&lane);
  sumac_team_destroy(lane.team);  // This closes the tree's group too: its Leave is only posted.
  lane.team = nullptr;
}

}  // namespace

void sumac_record_enlist(sumac_record* record) {
  Communicators& all = communicators();
  const std::lock_guard guard(all.records_lock);
  record->next_living = all.living;
  all.living = record;
}

void sumac_record_delist(sumac_record* record) {
  Communicators& all = communicators();
  const std::lock_guard guard(all.records_lock);
  for (sumac_record** at = &all.living; *at != nullptr; at = &(*at)->next_living) {
    if (*at != record) continue;
    add(all.gone, *record);
    *at = record->next_living;
    return;
  }
}

void sumac_records_each(void (*visit)(sumac_record*)) {
  const std::lock_guard guard(communicators().records_lock);
  for (sumac_record* each = communicators().living; each != nullptr; each = each->next_living) visit(each);
}

void sumac_records_tally(const sumac_runtime* runtime, const sumac_communicator* world, bool prints) {
  sumac_tally sum;
  {
    const std::lock_guard guard(communicators().records_lock);
    sum = communicators().gone;
    for (const sumac_record* each = communicators().living; each != nullptr; each = each->next_living) add(sum, *each);
  }
  sumac_explain_end(*runtime->options, runtime->next);
  // Sums of int64_t and of uint64_t have the same bits.
  const int rc = world->sum(world->context, reinterpret_cast<std::int64_t*>(&sum), SUMAC_TALLY_NUMBERS);
  if (rc == 0 && world->rank == 0 && prints)
    sumac_tally_print(&sum, sumac_job_id(), runtime->settings->level != HCOLL_OFF, runtime->next);
}

sumac_counted sumac_record_counted(const sumac_record* record, int coll) {
  sumac_counted counted{};
  std::copy_n(record->passed[coll], SUMAC_WHYS, counted.passed);
  if (record->ordinary.team != nullptr) sumac_team_ways(record->ordinary.team, coll, counted.ways);
  return counted;
}

int sumac_record_way_since(const sumac_record* record, int coll, std::uint64_t bytes, const sumac_counted* before) {
  auto now = sumac_record_counted(record, coll);
  std::uint64_t passed = 0;
  for (int way = 0; way < SUMAC_WAYS; ++way) now.ways[way] -= before->ways[way];
  for (int why = 0; why < SUMAC_WHYS; ++why) passed += now.passed[why] - before->passed[why];
  return sumac_profile_way_of(now.ways, passed, coll, bytes);
}

void sumac_record_explain_none(const sumac_record* record, const char* why) {
  if (record->rank != 0 || sumac_team_options_explain(*record->runtime->options) == 0) return;
  char name[SUMAC_NAME_BYTES];
  record->runtime->name(record, name);
  sumac_explain_none(*record->runtime->options, name, record->size, why);
}

void sumac_record_explain_spared(sumac_record* record) {
  if (record->is_explained) return;
  record->is_explained = true;
  const auto why = fmt::format(
      "a team costs more than a few calls gain, so it is made after {} collectives: set "
      "SUMAC_TEAM_AFTER=0 to make it at once",
      record->spared);
  sumac_record_explain_none(record, why.c_str());
}

int sumac_record_begin_job(sumac_record* world, const sumac_communicator* ranks, std::uint64_t id, int local_rank,
                           bool threads) {
  const sumac_runtime& runtime = *world->runtime;
  sumac::recorder::set_job(id, world->rank, world->size);
  if (sumac_job_refusal(runtime.settings, world->hosts) != nullptr) return 0;
  std::vector<sumac_place_t> places(static_cast<std::size_t>(world->size));
  if (const int rc = runtime.places(world, places.data()); rc != 0) return rc;
  const sumac_job_spec spec{.world = *ranks,
                            .id = id,
                            .local_rank = local_rank,
                            .threads = threads,
                            .places = places.data(),
                            .settings = runtime.settings,
                            .options = *runtime.options,
                            .progress = runtime.drive,
                            .watch_leaves = runtime.watch_leaves};
  return sumac_job_begin(&spec);
}

int sumac_record_attach(sumac_record* record) {
  sumac_makings_look();  // It may need the groups that freed communicators still have.
  record->life = SUMAC_LIFE_STARTING;
  record->ordinary.record = record;
  char why[1024] = "", name[SUMAC_NAME_BYTES];
  const int status = sumac_lane_make_team(&record->ordinary, why, sizeof why);
  switch (status) {
    case SUMAC_TEAM_OK:
      record->life = SUMAC_LIFE_TEAM;
      sumac_say_each_once(why, record->rank == 0);
      if (record->rank == 0) sumac_explain_team(*record->runtime->options, record->ordinary.team);
      return 0;
    case SUMAC_TEAM_PASS:
      record->life = SUMAC_LIFE_PASS;
      sumac_say_once(why, record->rank == 0);
      sumac_record_explain_none(record, why);
      return 0;
    default:
      record->life = SUMAC_LIFE_PASS;
      record->runtime->name(record, name);
      SUMAC_SAY("no team for communicator %s: %s", name, why);
      return sumac_error_code(record->runtime, why);
  }
}

void sumac_record_end(sumac_record* record) {
  sumac_making_leave(record);
  end_lane(record->ordinary);
  for (sumac_lane*& lane : record->lanes) {
    if (lane == nullptr) continue;
    end_lane(*lane);
    delete lane;
    lane = nullptr;
  }
  record->life = SUMAC_LIFE_PASS;
  std::free(record->notes);
  record->notes = nullptr;
  std::free(record->scratch);
  record->scratch = nullptr;
  record->scratch_bytes = 0;
}

void* sumac_record_scratch(sumac_record* record, std::size_t bytes) {
  if (record->scratch_bytes < bytes) {
    void* grown = std::aligned_alloc(64, bytes);
    if (grown == nullptr) return nullptr;
    std::free(record->scratch);
    record->scratch = grown;
    record->scratch_bytes = bytes;
  }
  return record->scratch;
}

void sumac_record_trim(sumac_record* record) {
  if (record->scratch_bytes <= kScratchKeptMax) return;
  std::free(record->scratch);
  record->scratch = nullptr;
  record->scratch_bytes = 0;
}
