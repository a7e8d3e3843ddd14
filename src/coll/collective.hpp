#pragma once
// The table of collectives: their names, the data that each rank contributes and receives, and the means to run them.
// Options, explain, the last line, statistics, tests and docs read this table; a new collective begins with a row here.
// static_asserts compare it with the numbers of the wire and of the two C headers (numbers.cpp, and team/c_types.hpp
// for team.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sumac::coll {

/// An index into the table.
enum class Kind : std::uint8_t {
  barrier,
  allreduce,
  reduce,
  bcast,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce_scatter_block,
  gather,
  gatherv,
  scatter,
  scatterv,
  scan,
  exscan,
  reduce_scatter,
};
inline constexpr int kKinds = 16;

/// The data that one rank contributes to a collective, or receives from it.
enum class Share : std::uint8_t {
  nothing,
  vector,        ///< The data is a vector of Operation::bytes.
  block,         ///< The data is one block of Operation::bytes.
  blocks,        ///< One block of Operation::bytes for each rank, or from each rank.
  sized_blocks,  ///< The same as `blocks`, with counts and displacements (Blocks).
  own_of_sized,  ///< The data is the rank's own one of the sized blocks. If a vector is given, they follow each other in it.
};

struct Collective {
  Kind kind;
  std::string_view name;      ///< MPI's name in lower case: "allreduce".
  std::string_view variable;  ///< The end of its options' names: "ALLREDUCE" in HCOLL_ML_DISABLE_ALLREDUCE.
  Share gives, keeps;
  bool reduces = false;       ///< True if it needs a Fold.
  bool has_root = false;      ///< True if one rank alone contributes, or one rank alone receives.
  bool waits_for_all = true;  ///< True if no rank returns before every rank has entered.
  bool has_levels = false;    ///< True if shared memory can do it socket by socket.
  /// True if two ranks may have a block for each other that no third rank sees: across hosts it is an alltoallv.
  bool is_pairwise = false;
  /// True if a rank keeps the reduction of the ranks up to it, or before it: the canonical fold of those (canonical.hpp).
  bool is_prefix = false;
  /// The number of the wire::Coll by which the tree does it; 0 if the tree has no such collective.
  std::uint8_t wire = 0;
};

// clang-format off
inline constexpr std::array<Collective, kKinds> kCollectives{{
    {.kind = Kind::barrier, .name = "barrier", .variable = "BARRIER", .gives = Share::nothing, .keeps = Share::nothing, .has_levels = true, .wire = 1},
    {.kind = Kind::allreduce, .name = "allreduce", .variable = "ALLREDUCE", .gives = Share::vector, .keeps = Share::vector, .reduces = true, .has_levels = true, .wire = 2},
    {.kind = Kind::reduce, .name = "reduce", .variable = "REDUCE", .gives = Share::vector, .keeps = Share::vector, .reduces = true, .has_root = true, .waits_for_all = false, .has_levels = true, .wire = 3},
    {.kind = Kind::bcast, .name = "bcast", .variable = "BCAST", .gives = Share::vector, .keeps = Share::vector, .has_root = true, .waits_for_all = false, .has_levels = true, .wire = 4},
    {.kind = Kind::allgather, .name = "allgather", .variable = "ALLGATHER", .gives = Share::block, .keeps = Share::blocks, .wire = 6},
    {.kind = Kind::allgatherv, .name = "allgatherv", .variable = "ALLGATHERV", .gives = Share::own_of_sized, .keeps = Share::sized_blocks, .wire = 6},
    {.kind = Kind::alltoall, .name = "alltoall", .variable = "ALLTOALL", .gives = Share::blocks, .keeps = Share::blocks, .is_pairwise = true},
    {.kind = Kind::alltoallv, .name = "alltoallv", .variable = "ALLTOALLV", .gives = Share::sized_blocks, .keeps = Share::sized_blocks, .is_pairwise = true},
    {.kind = Kind::reduce_scatter_block, .name = "reduce_scatter_block", .variable = "REDUCE_SCATTER_BLOCK", .gives = Share::blocks, .keeps = Share::block, .reduces = true, .wire = 5},
    {.kind = Kind::gather, .name = "gather", .variable = "GATHER", .gives = Share::block, .keeps = Share::blocks, .has_root = true, .waits_for_all = false, .is_pairwise = true},
    {.kind = Kind::gatherv, .name = "gatherv", .variable = "GATHERV", .gives = Share::block, .keeps = Share::sized_blocks, .has_root = true, .waits_for_all = false, .is_pairwise = true},
    {.kind = Kind::scatter, .name = "scatter", .variable = "SCATTER", .gives = Share::blocks, .keeps = Share::block, .has_root = true, .waits_for_all = false, .is_pairwise = true},
    {.kind = Kind::scatterv, .name = "scatterv", .variable = "SCATTERV", .gives = Share::sized_blocks, .keeps = Share::block, .has_root = true, .waits_for_all = false, .is_pairwise = true},
    {.kind = Kind::scan, .name = "scan", .variable = "SCAN", .gives = Share::vector, .keeps = Share::vector, .reduces = true, .waits_for_all = false, .is_prefix = true},
    {.kind = Kind::exscan, .name = "exscan", .variable = "EXSCAN", .gives = Share::vector, .keeps = Share::vector, .reduces = true, .waits_for_all = false, .is_prefix = true},
    {.kind = Kind::reduce_scatter, .name = "reduce_scatter", .variable = "REDUCE_SCATTER", .gives = Share::vector, .keeps = Share::own_of_sized, .reduces = true},
}};
// clang-format on

constexpr std::size_t index_of(Kind kind) noexcept { return static_cast<std::size_t>(kind); }

constexpr const Collective& collective(Kind kind) noexcept { return kCollectives[index_of(kind)]; }

/// Returns "barrier", "allgatherv" and so on; "?" for a number that is no row.
constexpr std::string_view to_string(Kind kind) noexcept {
  return index_of(kind) < kCollectives.size() ? collective(kind).name : "?";
}

/// True if `from` has a block for `to` in a pairwise collective. Without a root every rank has one for every rank,
/// itself included.
constexpr bool has_block(Kind kind, int root, int from, int to) noexcept {
  const Collective& row = collective(kind);
  const bool root_keeps = row.keeps == Share::blocks || row.keeps == Share::sized_blocks;
  return !row.has_root || (root_keeps ? to : from) == root;
}

/// The number of the first ranks whose values a rank keeps of a scan or exscan.
constexpr int prefix_of(Kind kind, int rank) noexcept { return kind == Kind::exscan ? rank : rank + 1; }

/// True for rank 0 of an exscan.
constexpr bool keeps_nothing(Kind kind, int rank) noexcept {
  return collective(kind).is_prefix && prefix_of(kind, rank) == 0;
}

/// True if Operation::bytes gives the amount of data, the same at every member. The v-forms have it in their blocks.
constexpr bool has_size(Kind kind) noexcept {
  const auto& row = collective(kind);
  return row.keeps != Share::nothing && row.gives != Share::sized_blocks && row.keeps != Share::sized_blocks;
}

}  // namespace sumac::coll
