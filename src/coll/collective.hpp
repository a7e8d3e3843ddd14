#pragma once
// The table of collectives: what each one is called, what its ranks give and keep, and which ways can do it. Options, explain, the last
// line, statistics, tests and docs read this table; adding a collective begins with a row here. The numbers of the wire and of the two C
// headers are held against it by static_asserts (numbers.cpp, and team/c_types.hpp for team.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sumac::coll {

/// Index of the table.
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
};
inline constexpr int kKinds = 13;

/// The data that one rank gives to a collective, or keeps of it.
enum class Share : std::uint8_t {
  nothing,
  vector,        ///< Operation::bytes of data.
  block,         ///< One block of Operation::bytes.
  blocks,        ///< A block of Operation::bytes for each rank, or from each rank.
  sized_blocks,  ///< The same with counts and displacements (Blocks).
  own_of_sized,  ///< The rank's own one of the sized blocks.
};

struct Collective {
  Kind kind;
  std::string_view name;      ///< As MPI spells it in lower case: "allreduce".
  std::string_view variable;  ///< The end of its options' names: "ALLREDUCE" of HCOLL_ML_DISABLE_ALLREDUCE.
  Share gives, keeps;
  bool reduces = false;       ///< It needs a Fold.
  bool has_root = false;      ///< A rank that alone gives, or alone keeps.
  bool waits_for_all = true;  ///< No rank comes out before every rank has come in.
  bool has_levels = false;    ///< Shared memory can do it socket by socket.
  bool is_pairwise =
      false;  ///< Two ranks may have a block for each other that no third one sees: across hosts an alltoallv.
  std::uint8_t wire = 0;  ///< The number of wire::Coll that the tree does it by; 0: the tree has no such collective.
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
}};
// clang-format on

constexpr std::size_t index_of(Kind kind) noexcept { return static_cast<std::size_t>(kind); }

constexpr const Collective& collective(Kind kind) noexcept { return kCollectives[index_of(kind)]; }

/// "barrier", "allgatherv"; "?" for a number that is no row.
constexpr std::string_view to_string(Kind kind) noexcept {
  return index_of(kind) < kCollectives.size() ? collective(kind).name : "?";
}

/// True where `from` has a block for `to` in a pairwise collective: without a root every rank for every rank, itself included.
constexpr bool has_block(Kind kind, int root, int from, int to) noexcept {
  const Collective& row = collective(kind);
  const bool root_keeps = row.keeps == Share::blocks || row.keeps == Share::sized_blocks;
  return !row.has_root || (root_keeps ? to : from) == root;
}

/// True where Operation::bytes says how much data there is, the same at every member. The v-forms say it in their blocks.
constexpr bool has_size(Kind kind) noexcept {
  const auto& row = collective(kind);
  return row.keeps != Share::nothing && row.gives != Share::sized_blocks && row.keeps != Share::sized_blocks;
}

}  // namespace sumac::coll
