#pragma once
// The table of a job's profile: calls, bytes and time of each kind of call. It knows no MPI and no clock: profile.cpp
// fills it at each rank and sums it over the ranks.
#include <cstdint>
#include <string>
#include <vector>

#include "rank/profile.h"

namespace sumac::rank {

/// Size classes: no byte, at most 64 B, 512 B, 4 KiB, 32 KiB, 256 KiB, 2 MiB, 16 MiB, and more.
inline constexpr int kSizeClasses = 9;

/// Numbers of int64_t and nothing else: they are summed over ranks as an array.
struct ProfileCell {
  std::int64_t calls = 0, bytes = 0, ns = 0;
  ProfileCell& operator+=(const ProfileCell& other);
};
struct ProfileTable {
  ProfileCell cells[SUMAC_PROFILE_COLLS][SUMAC_FORMS][kSizeClasses][SUMAC_PROFILE_WAYS] = {};
  ProfileCell* flat() { return &cells[0][0][0][0]; }
  const ProfileCell* flat() const { return &cells[0][0][0][0]; }
  void count(int coll, int form, int way, std::uint64_t bytes, std::int64_t ns);
  ProfileCell total() const;
};
inline constexpr std::size_t kProfileCells = sizeof(ProfileTable) / sizeof(ProfileCell);

/// The kind of calls that a cell counts.
struct ProfileKind {
  int coll, form, size_class, way;
};
ProfileKind profile_kind_of(std::size_t cell);

/// Returns the class of a call of so many bytes.
int size_class_of(std::uint64_t bytes);
/// Returns "<= 64 B".
const char* size_class_name(int size_class);

/// A rank, and the time that it spent.
struct ProfileRank {
  std::int64_t ns = 0;
  int rank = 0;
  char host[64] = "";
};

/// A row of the printed table: the cell's sum over all ranks, and the rank that spent most time there.
struct ProfileRow {
  std::size_t cell = 0;
  ProfileCell sum;
  ProfileRank slowest;
};

/// The cells with the most time, in descending order, without their slowest ranks; the others are summed up.
struct ProfileRows {
  std::vector<ProfileRow> rows;
  ProfileCell left_out;
  std::size_t left_out_rows = 0;
};
/// The most rows of SUMAC_PROFILE=1; all others are summed up in one more.
inline constexpr std::size_t kProfileRowsMax = 20;
ProfileRows profile_rows(const ProfileTable& sum, std::size_t rows_max);

/// A whole profile, ready to be printed.
struct Profile : ProfileRows {
  int ranks = 0, hosts = 0;
  std::int64_t wall_ns_max = 0, wall_ns_sum = 0;  ///< From MPI_Init to MPI_Finalize: the longest rank's, and the sum.
  std::int64_t ns_min = 0;                        ///< The least time that a rank spent in collectives.
  ProfileRank slowest;
  ProfileCell total;
  const char* next = "";
  bool is_exact = false;  ///< Bytes are printed to the last one.
};
std::string to_string(const Profile& profile);

}  // namespace sumac::rank
