/* The aggregation tree as the component sees it: one job per process, a group per communicator that uses it. */
#ifndef SUMAC_MPI_JOB_H
#define SUMAC_MPI_JOB_H

#include "hcoll.h"
#include "sharp/api/sharp_coll.h"

/** Watches for MPI_Finalize and, where the tree is wanted and the hosts are enough, begins the job over MPI_COMM_WORLD. A job that is
 *  refused was said, or has ended the program, as HCOLL_ENABLE_SHARP asks; all ranks go the same way. */
int hcoll_job_begin(hcoll_module_t* world);
/** True once it stands: at all ranks or at none. */
bool hcoll_job_stands(void);
/** Waits for all Leaves and ends the job. No MPI call in it. */
void hcoll_job_end(void);
/** Ends the MPI job with the line that users of HCOLL know. */
void hcoll_abort(ompi_communicator_t* comm) __attribute__((noreturn));

/** What libsharp_coll's out-of-band exchange goes by. */
struct hcoll_group_oob {
  ompi_communicator_t* comm;
  mca_coll_base_module_t *bcast_module, *barrier_module, *gather_module;
  mca_coll_base_module_bcast_fn_t bcast;
  mca_coll_base_module_barrier_fn_t barrier;
  mca_coll_base_module_gather_fn_t gather;
};
/** A group of all ranks of oob->comm; collective over them. Returns libsharp_coll's status. */
int hcoll_group_make(struct hcoll_group_oob* oob, struct sharp_coll_comm** group_p);
/** By kind, the largest operation that is for the tree: sumac_tree_limits(), and what the settings say. [SUMAC_COLLS] */
void hcoll_group_limits(struct sharp_coll_comm* group, int64_t* limits);
/** Takes over a group whose communicator is going: its Leave is posted now and waited for at the end of the job. */
void hcoll_group_leave(struct sharp_coll_comm* group);

#endif
