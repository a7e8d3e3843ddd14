#pragma once
/* The aggregation tree from the component's side: src/rank/job.h does what needs no Open MPI. */

#include "hcoll.h"
#include "rank/communicator.h"
#include "rank/job.h"

/** Makes MPI_Finalize print the last line and the profile first of all, while all of MPI still works. */
int hcoll_finalize_watch(hcoll_module_t* world);
/** Begins the job over MPI_COMM_WORLD if the user wants the tree and there are enough hosts. If the job is refused, this
 *  prints it or ends the program, as HCOLL_ENABLE_SHARP demands; all ranks decide alike. */
int hcoll_job_begin(hcoll_module_t* world);
/** Serves as `watch_leaves` of hcoll_runtime. */
void hcoll_watch_leaves(bool any);
/** Waits for all Leaves and ends the job. It calls no MPI function. */
void hcoll_job_end(void);
/** Ends the MPI job with the line that users of HCOLL know. */
void hcoll_abort(ompi_communicator_t* comm) __attribute__((noreturn));

/** Returns the module's communicator, with the collectives that were selected before us. Valid as long as the module. */
struct sumac_communicator hcoll_communicator(hcoll_module_t* module);
/** Returns a communicator of our own, with its own bcast and gather. */
struct sumac_communicator hcoll_communicator_of_ours(ompi_communicator_t* comm);
