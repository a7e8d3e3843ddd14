#include "rank/error_codes.hpp"

#include <fmt/format.h>

#include <cstring>

#include "rank/communicators.hpp"
#include "rank/job.h"
#include "rank/say.h"

namespace {

/// One reason mostly holds for many communicators, so it is looked up first.
constexpr std::size_t kReasonsMax = 32;

/// The team failed for all its ranks, so one of them prints the reason: rank 0, or rank 1 if rank 0 is the one that died.
void say(const sumac_lane& lane, sumac_coll coll, const char* why) {
  sumac_record& record = *lane.record;
  if (record.is_broken) return;
  record.is_broken = true;
  const int speaker = std::strstr(why, "rank 0 ") != nullptr ? 1 : 0;
  if (speaker != record.rank) return;
  char name[SUMAC_NAME_BYTES];
  record.runtime->name(&record, name);
  SUMAC_SAY("%s%s failed: %s (communicator %s)", sumac_job_stands() ? "SHArP: " : "", sumac_coll_name(coll), why, name);
}

}  // namespace

int sumac_error_code(const sumac_runtime* runtime, const char* words) {
  const auto text = std::string(words).substr(0, runtime->error_bytes_max - 1);
  auto& codes = sumac::rank::communicators().codes;
  const std::lock_guard guard(sumac::rank::communicators().words_lock);
  if (const auto known = codes.find(text); known != codes.end()) return known->second;
  int code = runtime->error_other;
  if (codes.size() == kReasonsMax || !runtime->add_error(text.c_str(), &code)) return runtime->error_other;
  codes.emplace(text, code);
  return code;
}

const char* sumac_error_words(int code) {
  const std::lock_guard guard(sumac::rank::communicators().words_lock);
  for (const auto& [words, known] : sumac::rank::communicators().codes)
    if (known == code) return words.c_str();
  return nullptr;
}

int sumac_lane_failed(sumac_lane_t* lane, sumac_coll coll, int status) {
  if (status == SUMAC_TEAM_NO_MEMORY) return lane->record->runtime->error_no_memory;
  const char* why = sumac_team_error(lane->team);
  if (why[0] == '\0') why = "a call that breaks the rules of teams";
  say(*lane, coll, why);
  return sumac_error_code(lane->record->runtime, fmt::format("{} failed: {}", sumac_coll_name(coll), why).c_str());
}
