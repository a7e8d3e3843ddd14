#include "shm/algorithms.hpp"

#include <algorithm>
#include <string>

#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

// clang-format off
constexpr Algorithm kAlgorithms[] = {
    {Coll::barrier, "flat", "everybody writes a line, everybody reads all lines", barrier_flat},
    {Coll::allreduce, "flat", "everybody publishes, everybody folds all", allreduce_flat},
    {Coll::reduce, "flat", "everybody publishes, the root folds", reduce_flat},
    {Coll::bcast, "flat", "the root publishes, everybody copies", bcast_flat},
    {Coll::allgather, "flat", "everybody publishes, everybody copies all", allgather_flat},
    {Coll::allgatherv, "flat", "everybody publishes, everybody copies all", allgatherv_flat},
    {Coll::alltoall, "flat", "everybody publishes its row, everybody copies its column", alltoall_flat},
    {Coll::alltoallv, "flat", "everybody publishes its row, everybody copies its column", alltoallv_flat},
    {Coll::reduce_scatter_block, "flat", "everybody publishes, everybody folds its block", reduce_scatter_block_flat},

    {Coll::allreduce, "blocks", "everybody folds its block of all vectors, everybody copies all blocks", allreduce_blocks, turns_fit},
    {Coll::reduce, "blocks", "everybody folds its block of all vectors, the root copies all blocks", reduce_blocks, turns_fit},
    {Coll::reduce_scatter_block, "blocks", "everybody folds its block, chunk by chunk", reduce_scatter_block_blocks, turns_fit},
    {Coll::reduce, "stream", "everybody copies in chunk by chunk, the root folds", reduce_stream, turns_fit},
    {Coll::bcast, "stream", "the root copies in chunk by chunk, everybody copies out", bcast_stream, turns_fit},
    {Coll::allgather, "exchange", "everybody copies in chunk by chunk, and copies out all others", allgather_exchange, turns_fit},
    {Coll::allgatherv, "exchange", "everybody copies in chunk by chunk, and copies out all others", allgatherv_exchange, turns_fit},
    {Coll::alltoall, "exchange", "everybody copies its row in chunk by chunk, and its column out", alltoall_exchange, turns_fit},
    {Coll::alltoallv, "exchange", "everybody copies its row in chunk by chunk, and its column out", alltoallv_exchange, turns_fit},
};
// clang-format on

constexpr std::string_view kCollNames[kCollCount] = {"barrier",    "allreduce", "reduce",    "bcast",               "allgather",
                                                     "allgatherv", "alltoall",  "alltoallv", "reduce_scatter_block"};

}  // namespace

std::string_view to_string(Coll coll) noexcept {
  const auto i = static_cast<std::size_t>(coll);
  return i < kCollCount ? kCollNames[i] : "?";
}

std::span<const Algorithm> algorithms() noexcept { return kAlgorithms; }

const Algorithm* find_algorithm(Coll coll, std::string_view name) noexcept {
  for (const Algorithm& algorithm : kAlgorithms)
    if (algorithm.coll == coll && algorithm.name == name) return &algorithm;
  return nullptr;
}

Result<> Tuning::force(Coll coll, std::string_view name) {
  const Algorithm* algorithm = find_algorithm(coll, name);
  if (algorithm == nullptr) {
    std::string names;
    for (const Algorithm& a : kAlgorithms)
      if (a.coll == coll) names += (names.empty() ? "" : ", ") + std::string(a.name);
    return fail(Errc::not_found, "there is no algorithm '{}' for {} inside a host: choose one of {}", name, to_string(coll),
                names);
  }
  rows[static_cast<std::size_t>(coll)].fill({SIZE_MAX, algorithm});
  return {};
}

void Tuning::keep_usable(const Group& group) noexcept {
  for (int c = 0; c < kCollCount; ++c)
    for (Row& row : rows[static_cast<std::size_t>(c)])
      if (row.algorithm->usable != nullptr && !row.algorithm->usable(group))
        row.algorithm = find_algorithm(static_cast<Coll>(c), "flat");
}

std::size_t selection_bytes(const Call& call, int group_size) noexcept {
  switch (call.coll) {
    case Coll::barrier:
    case Coll::alltoallv: return 0;
    case Coll::allgatherv: {
      std::size_t largest = 0;
      for (int m = 0; m < group_size; ++m) largest = std::max(largest, call.out_blocks.bytes(m));
      return largest;
    }
    default: return call.bytes;
  }
}

Tuning default_tuning(const TuningInput& input) noexcept {
  (void)input;
  Tuning tuning{};
  for (int c = 0; c < kCollCount; ++c)
    tuning.rows[static_cast<std::size_t>(c)].fill({SIZE_MAX, find_algorithm(static_cast<Coll>(c), "flat")});
  return tuning;
}

}  // namespace sumac::shm
