#include "rank/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/listed.hpp"
#include "rank/communicators.hpp"
#include "rank/say.h"

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLookEvery = kMs, kReceiveEvery = 20 * kMs, kSayAfter = 10'000 * kMs, kMissesAfter = 500 * kMs,
                       kAnswersWithin = 2'000 * kMs;

/// The operation that this rank waits in, as far as it knows.
struct Late {
  std::vector<int> ranks;  ///< They have not begun it.
  bool speaks = true;      ///< No rank before this one knows as much.
};

/// Several leaders exchange notes; nobody else hears of other hosts.
bool has_notes(const sumac_lane& lane, int& leaders, int& me) {
  leaders = sumac_team_leaders(lane.team, &me);
  return leaders > 1 && me >= 0 && lane.record->runtime->send_note != nullptr;
}

std::vector<int> missing_here(const sumac_lane& lane, std::int64_t now) {
  std::vector<int> ranks(static_cast<std::size_t>(lane.record->size));
  ranks.resize(static_cast<std::size_t>(sumac_team_missing(lane.team, lane.wait.began_ns, now, ranks.data())));
  return ranks;
}

/// Tells the other leaders that this one waits, once, and takes what they have told.
void exchange_notes(sumac_lane& lane, std::int64_t now, bool is_half) {
  sumac_record& record = *lane.record;
  int leaders = 0, me = 0;
  if (!has_notes(lane, leaders, me)) return;
  if (record.notes == nullptr)
    record.notes = static_cast<sumac_note*>(std::calloc(static_cast<std::size_t>(leaders), sizeof(sumac_note)));
  if (record.notes == nullptr) return;
  bool is_asked = is_half;
  sumac_note note;
  for (int from = 0; (from = record.runtime->receive_note(&record, &note)) >= 0;)
    for (int i = 0; i < leaders; ++i)
      if (sumac_team_leader(lane.team, i) == from) record.notes[i] = note;
  for (int i = 0; i < leaders; ++i) is_asked = is_asked || record.notes[i].number == lane.wait.ended + 1;
  if (!is_asked || lane.wait.asked_ns != 0) return;
  lane.wait.asked_ns = now;
  const auto here = missing_here(lane, now);
  record.own_note = {.number = lane.wait.ended + 1, .count = static_cast<std::int32_t>(here.size())};
  std::copy_n(here.begin(), std::min(here.size(), std::size(record.own_note.missing)), record.own_note.missing);
  bool is_sent = true;
  for (int i = 0; i < leaders; ++i)
    is_sent =
        is_sent && (i == me || record.runtime->send_note(&record, sumac_team_leader(lane.team, i), &record.own_note));
  if (is_sent) return;
  std::free(std::exchange(record.notes, nullptr));  // Then nothing is known of other hosts.
}

Late who_is_late(const sumac_lane& lane, std::int64_t now) {
  const sumac_record& record = *lane.record;
  Late late{.ranks = missing_here(lane, now)};
  int leaders = 0, me = 0;
  if (!has_notes(lane, leaders, me) || record.notes == nullptr) {
    // On one host each rank knows the same, so the first one that waits speaks.
    late.speaks = leaders == 1;
    for (int rank = 0; rank < record.rank; ++rank)
      late.speaks = late.speaks && std::binary_search(late.ranks.begin(), late.ranks.end(), rank);
    return late;
  }
  for (int i = 0; i < leaders; ++i) {
    const sumac_note& note = record.notes[i];
    if (i == me) continue;
    if (note.number <= lane.wait.ended) {
      late.ranks.push_back(sumac_team_leader(lane.team, i));
      continue;
    }
    late.speaks = late.speaks && i > me;
    if (note.number == lane.wait.ended + 1)
      late.ranks.insert(
          late.ranks.end(), note.missing,
          note.missing + std::min<std::size_t>(static_cast<std::size_t>(note.count), std::size(note.missing)));
  }
  std::sort(late.ranks.begin(), late.ranks.end());
  return late;
}

/// "ranks 1 and 2 have not begun it"
std::string words_of(const sumac_lane& lane, const std::vector<int>& ranks) {
  if (ranks.empty())
    return sumac_team_leaders(lane.team, nullptr) > 1 ? "the ranks of this host have begun it"
                                                      : "all ranks have begun it";
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  const bool is_one = names.size() == 1;
  return fmt::format("{} {} {} not begun it", is_one ? "rank" : "ranks", sumac::listed(names, " and "),
                     is_one ? "has" : "have");
}

void look_alone(sumac_lane& lane, bool may_call_mpi) {
  sumac_record& record = *lane.record;
  sumac_wait& wait = lane.wait;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  if (now - wait.looked_ns < kLookEvery) return;
  if (const auto ended = sumac_team_ended(lane.team); wait.began_ns == 0 || ended != wait.ended)
    wait = {.began_ns = now, .ended = ended};
  const std::int64_t before = std::exchange(wait.looked_ns, now), waited = now - wait.began_ns;
  const std::int64_t limit = record.runtime->settings->timeout_ms * kMs;
  const std::int64_t soon = limit > 0 && limit < kSayAfter ? limit : kSayAfter;
  sumac_team_waits(lane.team, now);
  const bool is_due = waited / kReceiveEvery != (before - wait.began_ns) / kReceiveEvery;
  if (is_due && may_call_mpi && waited > soon / 8 && sumac_limits_on(record.runtime))
    exchange_notes(lane, now, waited > soon / 2);
  if (is_due && waited > kMissesAfter) {
    // Leaders that wait as well answer a note when they look.
    const bool has_heard = wait.asked_ns != 0 && now - wait.asked_ns > kAnswersWithin;
    const auto late = has_heard ? who_is_late(lane, now).ranks : missing_here(lane, now);
    sumac_team_misses(lane.team, late.data(), late.size());
  }
  if (limit > 0 && waited > limit) {
    const auto late = who_is_late(lane, now).ranks;
    // A rank that knows of nobody leaves the word to its leader for a while.
    if (late.empty() && waited < limit + limit / 4) return;
    const auto why =
        fmt::format("timed out after {} ms at rank {}: {}", waited / kMs, record.rank, words_of(lane, late));
    return sumac_team_break(lane.team, why.c_str());
  }
  if (!record.runtime->asked || waited < kSayAfter || std::exchange(record.has_waited_long, true)) return;
  const Late late = who_is_late(lane, now);
  if (!late.speaks || late.ranks.empty()) return;
  char name[SUMAC_NAME_BYTES];
  record.runtime->name(&record, name);
  SUMAC_SAY("rank %d has waited %d s in a collective of communicator %s: %s", record.rank,
            static_cast<int>(waited / kMs / 1000), name, words_of(lane, late.ranks).c_str());
}

void look(sumac_lane& lane, bool may_call_mpi) {
  auto& is_looking = sumac::rank::communicators().is_looking;
  if (lane.team == nullptr || is_looking.exchange(true, std::memory_order_acquire)) return;
  look_alone(lane, may_call_mpi);
  is_looking.store(false, std::memory_order_release);
}

}  // namespace

void sumac_limits_drive(void* lane) {
  auto& own = *static_cast<sumac_lane*>(lane);
  own.record->runtime->drive(nullptr);
  look(own, true);
}

void sumac_limits_look(sumac_lane_t* lane) { look(*lane, false); }
