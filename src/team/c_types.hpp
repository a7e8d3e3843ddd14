#pragma once
// The records of the C interface have the layout of those of coll, member by member, so that the hot path passes them
// on without a copy.
#include <cstddef>

#include "coll/across.hpp"
#include "coll/operation.hpp"
#include "team/team.h"

namespace sumac::team {

static_assert(sizeof(sumac_blocks_t) == sizeof(coll::Blocks) &&
              offsetof(sumac_blocks_t, displacements) == offsetof(coll::Blocks, displacements) &&
              offsetof(sumac_blocks_t, unit) == offsetof(coll::Blocks, unit) &&
              offsetof(sumac_blocks_t, is_wide) == offsetof(coll::Blocks, is_wide) && sizeof(bool) == sizeof(uint8_t));
static_assert(sizeof(sumac_call_t) == sizeof(coll::Operation) &&
              offsetof(sumac_call_t, meaning) == offsetof(coll::Operation, meaning) &&
              offsetof(sumac_call_t, root) == offsetof(coll::Operation, root) &&
              offsetof(sumac_call_t, in) == offsetof(coll::Operation, in) &&
              offsetof(sumac_call_t, out) == offsetof(coll::Operation, out) &&
              offsetof(sumac_call_t, bytes) == offsetof(coll::Operation, bytes) &&
              offsetof(sumac_call_t, fold) == offsetof(coll::Operation, fold) &&
              offsetof(sumac_call_t, in_blocks) == offsetof(coll::Operation, in_blocks) &&
              offsetof(sumac_call_t, out_blocks) == offsetof(coll::Operation, out_blocks));
static_assert(sizeof(sumac_fold_t) == sizeof(coll::Fold) &&
              offsetof(sumac_fold_t, kernel) == offsetof(coll::Fold, kernel) &&
              offsetof(sumac_fold_t, function) == offsetof(coll::Fold, function) &&
              offsetof(sumac_fold_t, context) == offsetof(coll::Fold, context) &&
              offsetof(sumac_fold_t, dtype) == offsetof(coll::Fold, dtype) &&
              offsetof(sumac_fold_t, op) == offsetof(coll::Fold, op) &&
              offsetof(sumac_fold_t, tag) == offsetof(coll::Fold, tag) &&
              offsetof(sumac_fold_t, in_mpi) == offsetof(coll::Fold, in_mpi) &&
              offsetof(sumac_fold_t, type_name) == offsetof(coll::Fold, type_name) &&
              offsetof(sumac_fold_t, op_name) == offsetof(coll::Fold, op_name) &&
              sizeof(bool) == sizeof(std::uint8_t) && sizeof(reduce::Kernel) == sizeof(sumac_fold_t::kernel));

constexpr bool is_row(int number, coll::Kind kind) { return number == static_cast<int>(kind); }
static_assert(is_row(SUMAC_COLL_BARRIER, coll::Kind::barrier) && is_row(SUMAC_COLL_ALLREDUCE, coll::Kind::allreduce) &&
              is_row(SUMAC_COLL_REDUCE, coll::Kind::reduce) && is_row(SUMAC_COLL_BCAST, coll::Kind::bcast) &&
              is_row(SUMAC_COLL_ALLGATHER, coll::Kind::allgather) &&
              is_row(SUMAC_COLL_ALLGATHERV, coll::Kind::allgatherv) &&
              is_row(SUMAC_COLL_ALLTOALL, coll::Kind::alltoall) &&
              is_row(SUMAC_COLL_ALLTOALLV, coll::Kind::alltoallv) &&
              is_row(SUMAC_COLL_REDUCE_SCATTER_BLOCK, coll::Kind::reduce_scatter_block) &&
              is_row(SUMAC_COLL_GATHER, coll::Kind::gather) && is_row(SUMAC_COLL_GATHERV, coll::Kind::gatherv) &&
              is_row(SUMAC_COLL_SCATTER, coll::Kind::scatter) && is_row(SUMAC_COLL_SCATTERV, coll::Kind::scatterv) &&
              is_row(SUMAC_COLL_SCAN, coll::Kind::scan) && is_row(SUMAC_COLL_EXSCAN, coll::Kind::exscan) &&
              is_row(SUMAC_COLL_REDUCE_SCATTER, coll::Kind::reduce_scatter) && SUMAC_COLLS == coll::kKinds);

inline const coll::Operation& operation_of(const sumac_call_t& call) {
  return reinterpret_cast<const coll::Operation&>(call);
}
inline const coll::Fold* fold_of(const sumac_fold_t* fold) { return reinterpret_cast<const coll::Fold*>(fold); }
inline const sumac_call_t* as_c(const coll::Operation& operation) {
  return reinterpret_cast<const sumac_call_t*>(&operation);
}
inline const sumac_fold_t* as_c(const coll::Fold* fold) { return reinterpret_cast<const sumac_fold_t*>(fold); }

/// Returns the object behind the C name; client/tree/tree.h made it.
inline coll::Across* network_of(sumac_network_t* network) { return reinterpret_cast<coll::Across*>(network); }
inline coll::Across* tree_of(sumac_tree_t* tree) { return reinterpret_cast<coll::Across*>(tree); }

}  // namespace sumac::team
