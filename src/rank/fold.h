/* Folds by a function of MPI's kind, which replaces its second operand: inout = in op inout. */
#ifndef SUMAC_RANK_FOLD_H
#define SUMAC_RANK_FOLD_H

#include <stddef.h>

#include "team/team.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Computes inout[i] = in[i] op inout[i] for `count` elements. */
typedef void (*sumac_reduce_local_t)(const void* context, const void* in, void* inout, int count);

/** Computes out[i] = a[i] op b[i], as a fold's function does, by `reduce`, which gets fold->context. `out` may be `a` or
 *  `b`. */
void sumac_fold_by_local(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count,
                         sumac_reduce_local_t reduce);

#ifdef __cplusplus
}
#endif

#endif
