#include "rank/left.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <tuple>

namespace {

/// A program has few kinds of calls; those beyond are counted in the last line alone.
std::array<sumac_left_calls_t, 64> rows;
std::size_t used;

auto kind_of(const sumac_left_calls_t& row) {
  return std::tuple(row.coll, row.why, std::string_view(row.type_name), std::string_view(row.op_name));
}

void add(const sumac_left_calls_t& one) {
  auto* const end = rows.data() + used;
  auto* const row = std::find_if(rows.data(), end, [&](const auto& each) { return kind_of(each) == kind_of(one); });
  if (row != end) {
    row->calls += one.calls;
    row->bytes_min = std::min(row->bytes_min, one.bytes_min);
    row->bytes_max = std::max(row->bytes_max, one.bytes_max);
  } else if (used < rows.size()) {
    rows[used++] = one;
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

void sumac_left_print(const char* next) {
  std::for_each_n(rows.begin(), used, [&](const auto& row) { print(row, next); });
}
