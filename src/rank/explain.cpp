#include "rank/explain.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

/// A program may make thousands of communicators without a team. The first of each reason has a line, and the end of the job
/// tells how many more there were.
struct Reason {
  std::string why;
  std::uint64_t more = 0;
};
constexpr std::size_t kReasonsMax = 16;

std::mutex lock;
/// Never destroyed: the end of a job may come after the destructors.
std::vector<Reason>& reasons = *new std::vector<Reason>;

/// Returns true if the reason is new.
bool note(const std::string& why) {
  const std::lock_guard guard(lock);
  const auto known = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& each) { return each.why == why; });
  if (known != reasons.end()) {
    ++known->more;
    return false;
  }
  if (reasons.size() < kReasonsMax) reasons.push_back({why});
  return true;
}

// ---- the calls that teams left to the MPI, with what they asked for and the reason ----

/// A program has few kinds of calls; those beyond are counted in the last line alone.
std::array<sumac_left_calls_t, 64> left_rows;
std::size_t left_used;

auto kind_of(const sumac_left_calls_t& row) {
  return std::tuple(row.coll, row.why, std::string_view(row.type_name), std::string_view(row.op_name));
}

void add(const sumac_left_calls_t& one) {
  auto* const end = left_rows.data() + left_used;
  auto* const row =
      std::find_if(left_rows.data(), end, [&](const auto& each) { return kind_of(each) == kind_of(one); });
  if (row != end) {
    row->calls += one.calls;
    row->bytes_min = std::min(row->bytes_min, one.bytes_min);
    row->bytes_max = std::max(row->bytes_max, one.bytes_max);
  } else if (left_used < left_rows.size()) {
    left_rows[left_used++] = one;
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
  for (const Reason& each : reasons)
    if (each.more > 0)
      std::fprintf(stderr, "sumac: no team for %" PRIu64 " more communicator%s: %s\n", each.more,
                   each.more == 1 ? "" : "s", each.why.c_str());
  std::for_each_n(left_rows.begin(), left_used, [&](const auto& row) { print(row, next); });
}
