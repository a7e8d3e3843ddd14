/* The aggregation tree from the component's side: one job per process, a group per communicator that uses it. */
#ifndef SUMAC_MPI_JOB_H
#define SUMAC_MPI_JOB_H

#include "hcoll.h"
#include "sharp/api/sharp_coll.h"

/** Watches for MPI_Finalize. If the user wants the tree and there are enough hosts, it also begins the job over
 *  MPI_COMM_WORLD. If the job is refused, this prints it or ends the program, as HCOLL_ENABLE_SHARP demands; all
 *  ranks decide alike. */
int hcoll_job_begin(hcoll_module_t* world);
/** True once the job exists, at all ranks or at none. */
bool hcoll_job_stands(void);
/** Returns the job's context; NULL: there is no job. */
struct sharp_coll_context* hcoll_job_context(void);
/** Waits for all Leaves and ends the job. It calls no MPI function. */
void hcoll_job_end(void);
/** Ends the MPI job with the line that users of HCOLL know. */
void hcoll_abort(ompi_communicator_t* comm) __attribute__((noreturn));

/** The communicator and the functions that libsharp_coll's out-of-band exchange uses. */
struct hcoll_group_oob {
  ompi_communicator_t* comm;
  mca_coll_base_module_t *bcast_module, *barrier_module, *gather_module;
  mca_coll_base_module_bcast_fn_t bcast;
  mca_coll_base_module_barrier_fn_t barrier;
  mca_coll_base_module_gather_fn_t gather;
};
/** Makes a group of all ranks of oob->comm; collective over them. Returns libsharp_coll's status. */
int hcoll_group_make(struct hcoll_group_oob* oob, struct sharp_coll_comm** group_p);
/** Computes for each kind the largest operation that may use the tree, from sumac_tree_limits() and the settings.
 *  [SUMAC_COLLS] */
void hcoll_group_limits(struct sharp_coll_comm* group, int64_t* limits);
/** Takes over a group whose communicator is being freed: its Leave is posted now and waited for at the end of the
 *  job. */
void hcoll_group_leave(struct sharp_coll_comm* group);

#endif
