/* The blocking collectives: the way of every call depends on the communicator's team and on what all ranks know alike. */
#include <stdlib.h>

#include "plan.h"

/* More than this is not kept for the next call. */
#define SCRATCH_KEPT_MAX ((size_t)16 << 20)

static void* scratch_of(hcoll_module_t* module, size_t bytes) {
  if (module->scratch_bytes < bytes) {
    void* grown = aligned_alloc(64, bytes);
    if (NULL == grown) {
      return NULL;
    }
    free(module->scratch);
    module->scratch = grown;
    module->scratch_bytes = bytes;
  }
  return module->scratch;
}

/* Packed around the collective. `*status_p` is the team's answer. */
static int run_packed(hcoll_module_t* module, struct hcoll_plan* plan, int* status_p) {
  if (plan->is_too_large) {
    HCOLL_SAY("%s: more than %d elements of a type with gaps in one call", sumac_coll_name(plan->call.coll), INT_MAX);
    return OMPI_ERR_NOT_SUPPORTED;
  }
  void* memory = scratch_of(module, plan->memory_bytes);
  if (NULL == memory) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  hcoll_plan_use(plan, memory);
  hcoll_plan_pack(plan);
  *status_p = sumac_team_run(module->ordinary.team, &plan->call);
  if (SUMAC_TEAM_OK == *status_p) {
    hcoll_plan_unpack(plan);
  }
  if (module->scratch_bytes > SCRATCH_KEPT_MAX) {
    free(module->scratch);
    module->scratch = NULL;
    module->scratch_bytes = 0;
  }
  return OMPI_SUCCESS;
}

/* True: done, with MPI's code in `*rc_p`. False: it is the next module's. */
static inline bool run(hcoll_module_t* module, enum hcoll_planned planned, struct hcoll_plan* plan, int* rc_p) {
  if (OPAL_UNLIKELY(HCOLL_PLANNED != planned)) {
    *rc_p = MPI_SUCCESS;
    return HCOLL_NOTHING == planned;
  }
  int status = SUMAC_TEAM_OK;
  if (OPAL_LIKELY(!hcoll_plan_packs(plan))) {
    status = sumac_team_run(module->ordinary.team, &plan->call);
  } else {
    *rc_p = run_packed(module, plan, &status);
    if (OMPI_SUCCESS != *rc_p) {
      return true;
    }
  }
  if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
    *rc_p = MPI_SUCCESS;
    return true;
  }
  if (SUMAC_TEAM_PASS == status) {
    return false;
  }
  *rc_p = hcoll_failed(&module->ordinary, plan->call.coll, status);
  return true;
}

/* The body of every blocking collective: PLAN is the call of its plan's function, NEXT the arguments for the next module. */
#define BLOCKING(name, COLL, PLAN, ...)                                  \
  hcoll_module_t* module = (hcoll_module_t*)base;                        \
  int rc;                                                                \
  if (OPAL_LIKELY(hcoll_attach(module, &rc))) {                          \
    struct hcoll_plan plan;                                              \
    enum hcoll_planned planned = PLAN;                                   \
    if (OPAL_LIKELY(run(module, planned, &plan, &rc))) {                 \
      return rc;                                                         \
    }                                                                    \
    if (HCOLL_NOT_OURS == planned) {                                     \
      hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_WHY_FUNCTION); \
    }                                                                    \
  } else if (OMPI_SUCCESS != rc) {                                       \
    return rc;                                                           \
  } else {                                                               \
    hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_WHY_NO_TEAM);    \
  }                                                                      \
  return module->next.name(__VA_ARGS__, module->next.name##_module)

/* The end of a call that the team did not do, or did not do well. True: MPI's code is in `*rc_p`. */
static bool ended(hcoll_module_t* module, enum sumac_coll coll, int status, int* rc_p) {
  *rc_p = SUMAC_TEAM_PASS == status ? MPI_SUCCESS : hcoll_failed(&module->ordinary, coll, status);
  return SUMAC_TEAM_PASS != status;
}

/* The two that programs wait for most, without a plan: nothing of theirs is ever packed, and every nanosecond counts. */
static int barrier(struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  static const sumac_call_t call = {.coll = SUMAC_COLL_BARRIER};
  hcoll_module_t* module = (hcoll_module_t*)base;
  int rc;
  if (OPAL_LIKELY(hcoll_attach(module, &rc))) {
    int status = sumac_team_run(module->ordinary.team, &call);
    if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
      return MPI_SUCCESS;
    }
    if (ended(module, SUMAC_COLL_BARRIER, status, &rc)) {
      return rc;
    }
  } else if (OMPI_SUCCESS != rc) {
    return rc;
  } else {
    hcoll_count_passed(module, SUMAC_COLL_BARRIER, HCOLL_WHY_NO_TEAM);
  }
  return module->next.barrier(comm, module->next.barrier_module);
}

static int allreduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                     struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  const struct hcoll_fold* fold;
  int rc;
  if (OPAL_UNLIKELY(0 == count)) {
    return MPI_SUCCESS;
  }
  if (OPAL_UNLIKELY(!hcoll_attach(module, &rc))) {
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    hcoll_count_passed(module, SUMAC_COLL_ALLREDUCE, HCOLL_WHY_NO_TEAM);
  } else if (OPAL_UNLIKELY(NULL == (fold = hcoll_fold_of(dtype, op)))) {
    hcoll_count_passed(module, SUMAC_COLL_ALLREDUCE, HCOLL_WHY_FUNCTION);
  } else {
    const sumac_call_t call = {.coll = SUMAC_COLL_ALLREDUCE,
                               .in = MPI_IN_PLACE == sbuf ? rbuf : sbuf,
                               .out = rbuf,
                               .bytes = (size_t)count * fold->mpi_bytes,
                               .fold = &fold->fold};
    int status = sumac_team_run(module->ordinary.team, &call);
    if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
      return MPI_SUCCESS;
    }
    if (ended(module, SUMAC_COLL_ALLREDUCE, status, &rc)) {
      return rc;
    }
  }
  return module->next.allreduce(sbuf, rbuf, count, dtype, op, comm, module->next.allreduce_module);
}

static int reduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                  int root, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  BLOCKING(reduce, REDUCE, hcoll_plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), sbuf, rbuf, count,
           dtype, op, root, comm);
}

static int reduce_scatter_block(const void* sbuf, void* rbuf, int rcount, struct ompi_datatype_t* dtype,
                                struct ompi_op_t* op, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  BLOCKING(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
           hcoll_plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), sbuf, rbuf, rcount, dtype, op,
           comm);
}

static int bcast(void* buffer, int count, struct ompi_datatype_t* dtype, int root, struct ompi_communicator_t* comm,
                 mca_coll_base_module_t* base) {
  BLOCKING(bcast, BCAST, hcoll_plan_bcast(module, &plan, buffer, count, dtype, root), buffer, count, dtype, root, comm);
}

static int allgather(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                     struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  BLOCKING(allgather, ALLGATHER, hcoll_plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), sbuf,
           scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int allgatherv(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                      const int* displs, struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                      mca_coll_base_module_t* base) {
  BLOCKING(allgatherv, ALLGATHERV,
           hcoll_plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), sbuf, scount,
           sdtype, rbuf, rcounts, displs, rdtype, comm);
}

static int alltoall(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                    struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  BLOCKING(alltoall, ALLTOALL, hcoll_plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), sbuf,
           scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int alltoallv(const void* sbuf, const int* scounts, const int* sdispls, struct ompi_datatype_t* sdtype,
                     void* rbuf, const int* rcounts, const int* rdispls, struct ompi_datatype_t* rdtype,
                     struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  BLOCKING(alltoallv, ALLTOALLV,
           hcoll_plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype), sbuf,
           scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm);
}

void hcoll_offer_blocking(mca_coll_base_module_t* module) {
#define OFFER(name) module->coll_##name = name;
  HCOLL_EACH_COLL(OFFER)
#undef OFFER
}
