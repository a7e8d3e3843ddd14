#include "rank/explain.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "rank/communicators.hpp"

using sumac::rank::communicators;

namespace {

/// A program may make thousands of communicators without a team. The first of each reason has a line, and the end of the job
/// tells how many more there were.
constexpr std::size_t kReasonsMax = 16;
/// A program has few kinds of calls; those beyond are counted in the last line alone.
constexpr std::size_t kLeftMax = 64;

/// Returns true if the reason is new.
bool note(const std::string& why) {
  auto& reasons = communicators().reasons;
  const std::lock_guard guard(communicators().words_lock);
  const auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& each) { return each.why == why; });
  if (known != reasons.end()) {
    ++known->more;
    return false;
  }
  if (reasons.size() < kReasonsMax) reasons.push_back({why});
  return true;
}

// ---- the calls that teams left to the MPI, with what they asked for and the reason ----

auto kind_of(const sumac_left_calls_t& row) {
  return std::tuple(row.coll, row.why, std::string_view(row.type_name), std::string_view(row.op_name));
}

void add(const sumac_left_calls_t& one) {
  auto& left = communicators().left;
  const auto row =
      std::find_if(left.begin(), left.end(), [&](const auto& each) { return kind_of(each) == kind_of(one); });
  if (row != left.end()) {
    row->calls += one.calls;
    row->bytes_min = std::min(row->bytes_min, one.bytes_min);
    row->bytes_max = std::max(row->bytes_max, one.bytes_max);
  } else if (left.size() < kLeftMax) {
    left.push_back(one);
  }
}

void print(const sumac_left_calls_t& row, const char* next) {
  char sizes[64] = "", types[160] = "";
  if (row.bytes_min < row.bytes_max)
    std::snprintf(sizes, sizeof sizes, " of %zu to %zu B", row.bytes_min, row.bytes_max);
  else if (row.bytes_max > 0)
    std::snprintf(sizes, sizeof sizes, " of %zu B", row.bytes_max);
  if (row.type_name[0] != '\0') std::snprintf(types, sizeof types, " (%s with %s)", row.type_name, row.op_name);
  std::fprintf(stderr, "sumac: left to the %s: %s %" PRIu64 "%s%s: %s\n", next, sumac_coll_name(row.coll), row.calls,
               sizes, types, sumac_left_words(static_cast<sumac_left>(row.why)));
}

}  // namespace

const char* sumac_left_words(sumac_left why) {
  switch (why) {
    case SUMAC_LEFT_OFF: return "switched off";
    case SUMAC_LEFT_FASTER: return "faster there";
    case SUMAC_LEFT_SIZE: return "too large";
    case SUMAC_LEFT_TYPE: return "of a type or operation that the tree lacks";
    case SUMAC_LEFT_COLL: return "that would gain nothing";
    case SUMAC_LEFTS: break;
  }
  return "?";
}

void sumac_left_add(const sumac_team_t* team) {
  sumac_left_calls_t one;
  for (std::size_t index = 0; sumac_team_left(team, index, &one); ++index)
    if (one.calls > 0) add(one);
}

void sumac_explain_none(const sumac_team_options_t* options, const char* name, int size, const char* why) {
  if (sumac_team_options_explain(options) != 0 && note(why))
    std::fprintf(stderr, "sumac: communicator %s: %d rank%s: no team: %s\n", name[0] != '\0' ? name : "without a name",
                 size, size == 1 ? "" : "s", why);
}

void sumac_explain_team(const sumac_team_options_t* options, const sumac_team_t* team) {
  if (sumac_team_options_explain(options) == 0) return;
  char* text = sumac_team_explain(team);
  if (text == nullptr) return;
  std::fputs(text, stderr);
  std::free(text);
}

void sumac_explain_end(const sumac_team_options_t* options, const char* next) {
  if (sumac_team_options_explain(options) == 0) return;
  for (const auto& each : communicators().reasons)
    if (each.more > 0)
      std::fprintf(stderr, "sumac: no team for %" PRIu64 " more communicator%s: %s\n", each.more,
                   each.more == 1 ? "" : "s", each.why.c_str());
  for (const auto& row : communicators().left) print(row, next);
}
