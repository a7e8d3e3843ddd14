#include "shm/algorithms.hpp"

#include <algorithm>
#include <string>

#include "coll/canonical_fold.hpp"
#include "shm/block_shapes.hpp"
#include "shm/segment/layout.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

// clang-format off
constexpr Algorithm kAlgorithms[] = {
    {coll::Kind::barrier, "flat", "everybody writes a line, everybody reads all lines", barrier_flat},
    {coll::Kind::allreduce, "flat", "everybody publishes, everybody folds all", allreduce_flat},
    {coll::Kind::reduce, "flat", "everybody publishes, the root folds", reduce_flat},
    {coll::Kind::bcast, "flat", "the root publishes, everybody copies", bcast_flat},
    {coll::Kind::allgather, "flat", "everybody publishes, everybody copies all", allgather_flat},
    {coll::Kind::allgatherv, "flat", "everybody publishes, everybody copies all", allgatherv_flat},
    {coll::Kind::scatter, "flat", "the root writes the slots of all, everybody copies its own", scatter_flat},
    {coll::Kind::scatterv, "flat", "the root writes the slots of all, everybody copies its own", scatterv_flat},
    {coll::Kind::alltoall, "flat", "everybody publishes its row, everybody copies its column", alltoall_flat},
    {coll::Kind::alltoallv, "flat", "everybody publishes its row, everybody copies its column", alltoallv_flat},
    {coll::Kind::reduce_scatter_block, "flat", "everybody publishes, everybody folds its block", reduce_scatter_block_flat},
    {coll::Kind::reduce_scatter, "flat", "everybody publishes, everybody folds its block", reduce_scatter_flat},
    {coll::Kind::gather, "flat", "everybody publishes, the root copies", gather_flat},
    {coll::Kind::gatherv, "flat", "everybody publishes, the root copies", gatherv_flat},
    {coll::Kind::scan, "flat", "everybody publishes, everybody folds those up to it", scan_flat},
    {coll::Kind::exscan, "flat", "everybody publishes, everybody folds those before it", exscan_flat},

    {coll::Kind::allreduce, "blocks", "everybody folds its block of all vectors, everybody copies all blocks", allreduce_blocks, turns_fit},
    {coll::Kind::allreduce, "pairs", "the later of two halves adds both, everybody copies the sum", allreduce_pairs, turns_fit},
    {coll::Kind::allreduce, "stream", "everybody copies in chunk by chunk, and folds all", allreduce_stream, turns_fit},
    {coll::Kind::reduce, "blocks", "everybody folds its block of all vectors, the root copies all blocks", reduce_blocks, turns_fit},
    {coll::Kind::reduce_scatter_block, "blocks", "everybody folds its block, chunk by chunk", reduce_scatter_block_blocks, turns_fit},
    {coll::Kind::reduce_scatter, "blocks", "everybody folds its block, chunk by chunk", reduce_scatter_blocks, turns_fit},
    {coll::Kind::reduce, "stream", "everybody copies in chunk by chunk, the root folds", reduce_stream, turns_fit},
    {coll::Kind::bcast, "stream", "the root copies in chunk by chunk, everybody copies out", bcast_stream, turns_fit},
    {coll::Kind::allgather, "exchange", "everybody copies in chunk by chunk, and copies out all others", allgather_exchange, turns_fit},
    {coll::Kind::allgatherv, "exchange", "everybody copies in chunk by chunk, and copies out all others", allgatherv_exchange, turns_fit},
    {coll::Kind::alltoall, "exchange", "everybody copies its row in chunk by chunk, and its column out", alltoall_exchange, turns_fit},
    {coll::Kind::alltoallv, "exchange", "everybody copies its row in chunk by chunk, and its column out", alltoallv_exchange, turns_fit},
    {coll::Kind::gather, "stream", "everybody copies in chunk by chunk, the root copies out", gather_stream, turns_fit},
    {coll::Kind::gatherv, "stream", "everybody copies in chunk by chunk, the root copies out", gatherv_stream, turns_fit},
    {coll::Kind::scatter, "stream", "the root copies in chunk by chunk, everybody copies its own out", scatter_stream, turns_fit},
    {coll::Kind::scatterv, "stream", "the root copies in chunk by chunk, everybody copies its own out", scatterv_stream, turns_fit},
    {coll::Kind::scan, "stream", "everybody publishes the sum of a block of members, and adds those before its own", scan_stream, turns_fit},
    {coll::Kind::exscan, "stream", "everybody publishes the sum of a block of members, and adds those before it", exscan_stream, turns_fit},

    {coll::Kind::allreduce, "single", "everybody folds its share of all vectors where they are, and writes it to all", allreduce_single, single_copy_agreed},
    {coll::Kind::bcast, "single", "everybody reads the root's memory; of two both copy half", bcast_single, single_copy_agreed},
    {coll::Kind::allgather, "single", "everybody reads everybody's memory; two write", allgather_single, single_copy_agreed},
    {coll::Kind::allgatherv, "single", "everybody reads everybody's memory", allgatherv_single, single_copy_agreed},
    {coll::Kind::alltoall, "single", "everybody reads everybody's memory; two write", alltoall_single, single_copy_agreed, SIZE_MAX, "exchange"},
    {coll::Kind::alltoallv, "single", "everybody reads everybody's memory", alltoallv_single, single_copy_agreed, SIZE_MAX, "exchange"},
    {coll::Kind::scatter, "single", "everybody reads its block from the root's memory", scatter_single, single_copy_agreed},

    {coll::Kind::allreduce, kTimed, "\"blocks\" or \"single\", by the times of the first calls", timed, has_decisions},
    {coll::Kind::bcast, kTimed, "\"stream\" or \"single\", by the times of the first calls", timed, has_decisions},
    {coll::Kind::allgather, kTimed, "\"exchange\" or \"single\", by the times of the first calls", timed, has_decisions},
    {coll::Kind::alltoall, kTimed, "\"exchange\" or \"single\", by the times of the first calls", timed, has_decisions},
    {coll::Kind::scatter, kTimed, "\"stream\" or \"single\", by the times of the first calls", timed, has_decisions},
};
// clang-format on

/// For more than two members: above this size the root does not fold everything alone.
constexpr std::size_t kReduceStreamMax = 64 * 1024;

/// From these sizes on, single copy and shared memory are timed against each other (timed.cpp); below, shared memory is
/// as fast or faster on both machines that were measured. Through shared memory a line crosses twice between two ranks:
/// back to the writer from its last reader, and then to the reader. By single copy it crosses once, but the kernel
/// looks up and pins each page: 0.24 us when reading, 0.17 us when writing.
///   Xeon (model 143), a line's round trip 223 ns: us shared / single: alltoall 1 MiB 338 / 238, allgather 290 / 202, bcast 104 / 85;
///   alltoall 64 KiB 17.0 / 18.3, 128 KiB 33.7 / 31.7, 256 KiB 68 / 63;  allgather 15.8 / 17.8, 31.2 / 29.7, 61 / 57
///   bcast    64 KiB 7.4 / 8.6,   128 KiB 12.4 / 14.6, 256 KiB 23.4 / 20.8
///   allreduce 256 KiB 45 / 49, 384 KiB 65 / 70, 512 KiB 93 / 91, 768 KiB 167 / 143, 1 MiB 245 / 185, 4 MiB 1096 / 813
///   EPYC, 80 to 100 ns: alltoall 1 MiB 105 / 128, allgather 103 / 134, allreduce 78 / 127, bcast 37 / 54
constexpr std::size_t kExchangeMax = 64 * 1024;
constexpr std::size_t kBcastStreamMax = 128 * 1024;
/// In a scatter the root copies twice by shared memory while the others wait, so single copy pays earlier. EPYC, us
/// stream / single: at 80 ns a line 64 KiB 8.2 / 8.2; at 310 ns 64 KiB 30 / 12.
constexpr std::size_t kScatterStreamMax = 32 * 1024;
constexpr std::size_t kBlocksMax = 256 * 1024;

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return kAlgorithms; }

const Algorithm* find_algorithm(coll::Kind kind, std::string_view name) noexcept {
  for (const Algorithm& algorithm : kAlgorithms)
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  return nullptr;
}

Result<> Tuning::force(coll::Kind kind, std::string_view name) {
  const Algorithm* algorithm = find_algorithm(kind, name);
  if (algorithm == nullptr) {
    std::string names;
    for (const Algorithm& a : kAlgorithms)
      if (a.kind == kind) names += (names.empty() ? "" : ", ") + std::string(a.name);
    return fail(Errc::not_found, "there is no algorithm '{}' for {} inside a host: choose one of {}", name,
                to_string(kind), names);
  }
  rows[coll::index_of(kind)].fill({SIZE_MAX, algorithm});
  return {};
}

void Tuning::keep_usable(const Group& group) noexcept {
  for (std::size_t c = 0; c < coll::kCollectives.size(); ++c)
    for (Row& row : rows[c])
      if (row.algorithm->usable != nullptr && !row.algorithm->usable(group))
        row.algorithm = find_algorithm(static_cast<coll::Kind>(c), "flat");
}

std::size_t selection_bytes(const coll::Operation& operation, int group_size) noexcept {
  switch (operation.kind) {
    case coll::Kind::allgatherv: return UnevenBlocks{operation.out_blocks}.largest(group_size);
    default: return has_size(operation.kind) ? operation.bytes : 0;
  }
}

std::size_t element_bytes_max(coll::Kind kind, int members, std::size_t large_bytes) noexcept {
  // The smallest groups have the smallest slices.
  const std::size_t slice = large_bytes / kSlicesMax / kCacheLine * kCacheLine;
  const std::size_t room = slice == 0 ? Shape{}.eager_bytes : std::min(Shape{}.eager_bytes, slice);
  const bool has_cells = kind == coll::Kind::reduce_scatter_block || kind == coll::Kind::reduce_scatter;
  const std::size_t element = has_cells ? room / static_cast<std::size_t>(members) : room;
  return std::max(kCacheLine, std::min(element, coll::folded_element_max(members)));
}

bool may_copy_once(const TuningInput& input) noexcept { return input.size == 2 && !input.crowded; }

std::string about_single_copy(const TuningInput& input) {
  if (input.size != 2) return "it serves two ranks only: its gain for more is unknown";
  if (input.crowded) return "the ranks share processors";
  return "the first calls of each size go both ways, and the times decide";
}

// The sizes at which the next algorithm takes over. Measured on 2 cores of an EPYC, in both of its speed states (a
// line's round trip of 60 and 400 ns), and with 8 ranks on them:
//   allreduce, 2 ranks, us flat / blocks: 4 KiB 0.40 / 0.38, 8 KiB 0.66 / 0.52, 64 KiB 6.1 / 2.4, 1 MiB 104 / 51
//   allreduce, 2 ranks, us flat / stream / blocks, fast state: 4 KiB 0.22 / 0.25 / 0.38, 8 KiB 0.34 / 0.36 / 0.50, 16 KiB 0.68 /
//     0.60 / 0.68, 32 KiB 1.50 / 1.49 / 1.39, 48 KiB 2.24 / 2.15 / 1.95, 1 MiB stream / blocks 48 / 44; slow state 65 / 77
//   the same on a Xeon (model 143, a line's round trip 200 ns), us stream / blocks: 16 KiB 4.7 / 6.3, 24 KiB 5.9 / 7.9, 32 KiB 7.1 / 9.4,
//     48 KiB 10.4 / 12.0, 64 KiB 12.2 / 12.3, 1 MiB 241 / 238. So 64 KiB, where neither has a jump.
//   the same on that Xeon, us flat / stream (sumac-shmbench, median of 3): 4160 B 1.41 / 1.88, 5 KiB 1.67 / 1.99, 6 KiB 1.95 / 2.18,
//     8 KiB 2.67 / 2.63, 8256 B 3.60 / 2.74. So one round; at half of one the time jumped by a quarter.
//   8 ranks on 2 cores:                   8 KiB 13 / 18, 32 KiB 58 / 35, 128 KiB 232 / 96, 1 MiB 2150 / 880
//   8 ranks on 2 of the Xeon's, us blocks / pairs (sumac-shmbench): 64 KiB 67 to 75 / 57, 256 KiB 285 to 302 / 245 to 265, 1 MiB 1143 to 1185 / 999 to 1014,
//     4 MiB 6340 to 6531 / 5393 to 5400
//   bcast, flat / stream:                 8 KiB 0.20 / 0.19, 64 KiB 1.24 / 1.03, 1 MiB 22.6 / 19
//   reduce, flat / stream / blocks:       8 KiB 0.22 / 0.23 / 0.38, 64 KiB 1.56 / 1.38 / 2.1, 1 MiB 33 / 27 / 40
//   allgather, flat / exchange:           8 KiB 0.36 / 0.40, 64 KiB 3.0 / 2.6; alltoall: 4 KiB 0.44 / 0.44, 64 KiB 4.6 / 2.6
Tuning default_tuning(const TuningInput& input) noexcept {
  Tuning tuning{};
  const auto set = [&](coll::Kind kind, std::initializer_list<std::pair<std::size_t, std::string_view>> rows) {
    auto& to = tuning.rows[coll::index_of(kind)];
    auto at = to.begin();
    for (const auto& [bytes_max, name] : rows) *at++ = {bytes_max, find_algorithm(kind, name)};
    std::fill(at, to.end(), Tuning::Row{SIZE_MAX, (at - 1)->algorithm});
  };
  // A reader that waits for the next turn gives its core away, and has to be scheduled once more.
  if (input.crowded) tuning.large.one_way_turns = 1;
  const std::size_t one_round = input.eager_bytes;
  const std::size_t one_round_of_rows = input.eager_bytes / static_cast<std::size_t>(std::max(input.size, 1));
  const bool has_two_ways = input.single_copy && may_copy_once(input);
  set(coll::Kind::barrier, {{SIZE_MAX, "flat"}});
  // A rank that shares its core has to be scheduled once instead of three times in a round of `flat`; a rank with its
  // own core reads less in `blocks`. Two ranks read no more in `stream` and wait once instead of twice, until folding
  // everything costs more than a wait.
  if (input.size <= 2 && !input.crowded) {
    set(coll::Kind::allreduce, {{one_round, "flat"},
                                {8 * one_round, "stream"},
                                {has_two_ways ? kBlocksMax : SIZE_MAX, "blocks"},
                                {SIZE_MAX, kTimed}});
  } else if (input.size > 2 && input.crowded) {
    set(coll::Kind::allreduce, {{one_round, "flat"}, {SIZE_MAX, "pairs"}});
  } else {
    set(coll::Kind::allreduce, {{input.crowded ? one_round : one_round / 2, "flat"}, {SIZE_MAX, "blocks"}});
  }
  set(coll::Kind::reduce_scatter_block, {{one_round_of_rows, "flat"}, {SIZE_MAX, "blocks"}});
  set(coll::Kind::reduce_scatter, {{one_round, "flat"}, {SIZE_MAX, "blocks"}});
  // Two ranks share the work best if one copies and leaves; with more ranks, a root that folds everything keeps the
  // others waiting.
  if (input.size <= 2) {
    set(coll::Kind::reduce, {{one_round, "flat"}, {SIZE_MAX, "stream"}});
  } else {
    set(coll::Kind::reduce, {{one_round, "flat"}, {kReduceStreamMax, "stream"}, {SIZE_MAX, "blocks"}});
  }
  const auto set_large = [&](coll::Kind kind, std::size_t flat_max, std::string_view shared, std::size_t shared_max) {
    if (has_two_ways) return set(kind, {{flat_max, "flat"}, {shared_max, shared}, {SIZE_MAX, kTimed}});
    set(kind, {{flat_max, "flat"}, {SIZE_MAX, shared}});
  };
  set_large(coll::Kind::bcast, one_round, "stream", kBcastStreamMax);
  set_large(coll::Kind::allgather, one_round, "exchange", kExchangeMax);
  set(coll::Kind::allgatherv, {{one_round, "flat"}, {SIZE_MAX, "exchange"}});
  set_large(coll::Kind::alltoall, one_round_of_rows, "exchange", kExchangeMax);
  // In alltoallv, gatherv and scatterv members do not know each other's sizes, so the size cannot select.
  set(coll::Kind::alltoallv, {{SIZE_MAX, "exchange"}});
  set(coll::Kind::gather, {{one_round, "flat"}, {SIZE_MAX, "stream"}});
  set(coll::Kind::gatherv, {{SIZE_MAX, "stream"}});
  set_large(coll::Kind::scatter, std::max(one_round_of_rows, kRootedMiddleBytes), "stream", kScatterStreamMax);
  set(coll::Kind::scatterv, {{SIZE_MAX, "stream"}});
  set(coll::Kind::scan, {{one_round, "flat"}, {SIZE_MAX, "stream"}});
  set(coll::Kind::exscan, {{one_round, "flat"}, {SIZE_MAX, "stream"}});
  return tuning;
}

}  // namespace sumac::shm
