#pragma once
// The C interface's call and fold are shm's, member by member, so that the hot path hands them on as they are.
#include <cstddef>

#include "shm/call.hpp"
#include "team/team.h"

namespace sumac::team {

static_assert(sizeof(sumac_blocks_t) == sizeof(shm::Blocks) &&
              offsetof(sumac_blocks_t, displacements) == offsetof(shm::Blocks, displacements) &&
              offsetof(sumac_blocks_t, unit) == offsetof(shm::Blocks, unit));
static_assert(sizeof(sumac_call_t) == sizeof(shm::Call) && offsetof(sumac_call_t, root) == offsetof(shm::Call, root) &&
              offsetof(sumac_call_t, in) == offsetof(shm::Call, in) &&
              offsetof(sumac_call_t, out) == offsetof(shm::Call, out) &&
              offsetof(sumac_call_t, bytes) == offsetof(shm::Call, bytes) &&
              offsetof(sumac_call_t, fold) == offsetof(shm::Call, fold) &&
              offsetof(sumac_call_t, in_blocks) == offsetof(shm::Call, in_blocks) &&
              offsetof(sumac_call_t, out_blocks) == offsetof(shm::Call, out_blocks));
static_assert(offsetof(sumac_fold_t, kernel) == offsetof(shm::Fold, kernel) &&
              offsetof(sumac_fold_t, function) == offsetof(shm::Fold, function) &&
              offsetof(sumac_fold_t, context) == offsetof(shm::Fold, context) &&
              sizeof(reduce::Kernel) == sizeof(sumac_fold_t::kernel) && sizeof(sumac_fold_t) >= sizeof(shm::Fold));
static_assert(static_cast<int>(shm::Coll::reduce_scatter_block) == SUMAC_COLL_REDUCE_SCATTER_BLOCK &&
              shm::kCollCount == SUMAC_COLLS);

inline const shm::Call& as_shm(const sumac_call_t& call) { return reinterpret_cast<const shm::Call&>(call); }
inline const shm::Fold* as_shm(const sumac_fold_t* fold) { return reinterpret_cast<const shm::Fold*>(fold); }
inline const sumac_fold_t* as_c(const shm::Fold* fold) { return reinterpret_cast<const sumac_fold_t*>(fold); }

}  // namespace sumac::team
