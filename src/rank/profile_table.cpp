// The printed profile. An example is in docs/profile.md.
#include "rank/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/c_text.hpp"

namespace sumac::rank {
namespace {

static_assert(sizeof(ProfileCell) == 3 * sizeof(std::int64_t), "summed as an array of int64_t");

constexpr const char* kClassNames[kSizeClasses] = {"0 B",        "<= 64 B",  "<= 512 B",  "<= 4 KiB", "<= 32 KiB",
                                                   "<= 256 KiB", "<= 2 MiB", "<= 16 MiB", "> 16 MiB"};

// ---- numbers for people: three digits and a unit ----

std::string scaled(double value, double per_unit, std::span<const char* const> units) {
  std::size_t at = 0;
  for (; at + 1 < units.size() && value >= per_unit - 0.5; value /= per_unit) ++at;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[at]);
}

std::string time_text(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  return scaled(ns, 1000, kUnits);
}

std::string bytes_text(std::int64_t bytes, bool is_exact) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (is_exact || bytes < 1024) return fmt::format("{} B", bytes);
  return scaled(static_cast<double>(bytes), 1024, kUnits);
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}
std::string percent(std::int64_t part, std::int64_t whole) { return fmt::format("{:.1f} %", 100 * ratio(part, whole)); }

std::string row_text(const Profile& profile, std::string_view name, std::string_view size, std::string_view way,
                     std::string_view calls, std::string_view bytes, std::string_view time, std::string_view share,
                     std::string_view mean) {
  return fmt::format("  {:<26} {:<10}  {:<25} {:>12} {:>{}} {:>9} {:>6} {:>9}", name, size, way, calls, bytes,
                     profile.is_exact ? 18 : 10, time, share, mean);
}

std::string cell_text(const Profile& profile, std::string_view name, std::string_view size, std::string_view way,
                      const ProfileCell& cell) {
  return row_text(profile, name, size, way, std::to_string(cell.calls), bytes_text(cell.bytes, profile.is_exact),
                  time_text(static_cast<double>(cell.ns)), percent(cell.ns, profile.total.ns),
                  time_text(ratio(cell.ns, cell.calls)));
}

}  // namespace

ProfileCell& ProfileCell::operator+=(const ProfileCell& other) {
  calls += other.calls;
  bytes += other.bytes;
  ns += other.ns;
  return *this;
}

void ProfileTable::count(int coll, int form, int way, std::uint64_t bytes, std::int64_t ns) {
  cells[coll][form][size_class_of(bytes)][way] += {1, static_cast<std::int64_t>(bytes), ns};
}

ProfileCell ProfileTable::total() const {
  ProfileCell total;
  for (std::size_t i = 0; i < kProfileCells; ++i) total += flat()[i];
  return total;
}

int size_class_of(std::uint64_t bytes) {
  int size_class = bytes > 0 ? 1 : 0;
  for (std::uint64_t most = 64; size_class > 0 && size_class < kSizeClasses - 1 && bytes > most; most *= 8)
    ++size_class;
  return size_class;
}

const char* size_class_name(int size_class) { return kClassNames[size_class]; }

ProfileKind profile_kind_of(std::size_t cell) {
  const auto at = static_cast<int>(cell / SUMAC_PROFILE_WAYS);
  return {at / kSizeClasses / SUMAC_FORMS, at / kSizeClasses % SUMAC_FORMS, at % kSizeClasses,
          static_cast<int>(cell % SUMAC_PROFILE_WAYS)};
}

ProfileRows profile_rows(const ProfileTable& sum, std::size_t rows_max) {
  ProfileRows found;
  for (std::size_t i = 0; i < kProfileCells; ++i)
    if (sum.flat()[i].calls > 0) found.rows.push_back({i, sum.flat()[i], {}});
  std::stable_sort(found.rows.begin(), found.rows.end(), [](auto& a, auto& b) { return a.sum.ns > b.sum.ns; });
  for (; found.rows.size() > rows_max; found.rows.pop_back(), ++found.left_out_rows)
    found.left_out += found.rows.back().sum;
  return found;
}

std::string to_string(const Profile& profile) {
  const auto time = [](std::int64_t ns) { return time_text(static_cast<double>(ns)); };
  std::string text = fmt::format(
      "sumac: profile: {} ranks on {} host{}, {} from MPI_Init to MPI_Finalize\n"
      "  in collectives: {} of all ranks together, {} of their time\n"
      "  a rank: least {}, mean {}, most {} (rank {} on {})\n",
      profile.ranks, profile.hosts, profile.hosts == 1 ? "" : "s", time(profile.wall_ns_max), time(profile.total.ns),
      percent(profile.total.ns, profile.wall_ns_sum), time(profile.ns_min),
      time_text(ratio(profile.total.ns, profile.ranks)), time(profile.slowest.ns), profile.slowest.rank,
      profile.slowest.host);
  if (profile.total.calls == 0) return text + "  no collective was called\n";
  text +=
      row_text(profile, "collective", "size", "way", "calls", "bytes", "time", "share", "mean") + "   slowest rank\n";
  for (const ProfileRow& row : profile.rows) {
    const auto kind = profile_kind_of(row.cell);
    char name[40];
    sumac_profile_name(kind.coll, kind.form, name);
    text += cell_text(profile, name, size_class_name(kind.size_class), sumac_profile_way_name(kind.way, profile.next),
                      row.sum);
    text += fmt::format("   {} on {}: {}\n", row.slowest.rank, row.slowest.host, time(row.slowest.ns));
  }
  if (profile.left_out_rows > 0)
    text +=
        cell_text(profile, fmt::format("{} more row{}", profile.left_out_rows, profile.left_out_rows == 1 ? "" : "s"),
                  "", "", profile.left_out) +
        "\n";
  return text + cell_text(profile, "all", "", "", profile.total) + "\n";
}

}  // namespace sumac::rank

void sumac_profile_name(int coll, int form, char name[40]) {
  const char* const plain = coll == SUMAC_PROFILE_ALLTOALLW ? "alltoallw" : sumac_coll_name(coll);
  const char* const before = form == SUMAC_FORM_NONBLOCKING ? "i" : "";
  const char* const behind = form == SUMAC_FORM_PERSISTENT ? "_init" : "";
  sumac::copy_text(fmt::format("{}{}{}", before, plain, behind), name, 40);
}

const char* sumac_profile_way_name(int way, const char* next) {
  switch (way) {
    case SUMAC_WAY_HOST: return "shared memory";
    case SUMAC_WAY_LEADERS: return "shared memory and leaders";
    case SUMAC_WAY_TREE: return "tree";
    case SUMAC_WAY_PASS: return next;
    default: return "no data";
  }
}
