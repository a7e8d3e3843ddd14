/* A blocking or persistent collective makes a communicator's team, once the communicator is worth one
 * (src/rank/worth.h). comm_query cannot, because MPI_Comm_idup asks for modules from inside progress, where nothing
 * may block. A nonblocking collective cannot either, because it must not wait for other ranks: the next module does those
 * that come before, at every rank, since all ranks call the same collectives in the same order. Only MPI_COMM_WORLD of a
 * single host has its team from MPI_Init on. */
#include "hcoll.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "ompi/runtime/mpiruntime.h"
#include "rank/explain.h"
#include "rank/join.h"

bool hcoll_threads;

/* The functions of `oob`; they call the modules that were selected before us. */
static int oob_allgather(void* context, const void* in, void* out, size_t bytes) {
  hcoll_module_t* module = context;
  int rc = module->next.allgather(in, (int)bytes, &ompi_mpi_byte.dt, out, (int)bytes, &ompi_mpi_byte.dt, module->comm,
                                  module->next.allgather_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static int oob_bcast(void* context, void* buffer, size_t bytes, int root) {
  hcoll_module_t* module = context;
  int rc = module->next.bcast(buffer, (int)bytes, &ompi_mpi_byte.dt, root, module->comm, module->next.bcast_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static int oob_barrier(void* context) {
  hcoll_module_t* module = context;
  return OMPI_SUCCESS == module->next.barrier(module->comm, module->next.barrier_module) ? 0 : -1;
}

void hcoll_explain_none(ompi_communicator_t* comm, const char* why) {
  sumac_explain_none(mca_coll_hcoll_component.options, comm->c_name, ompi_comm_size(comm), why);
}

static void drop_offer(void* context) {
  (void)context;
  sumac_join_drop_offer();
}

static int make_team(hcoll_lane_t* lane, sumac_place_t* places, char* why, size_t why_bytes) {
  hcoll_module_t* module = lane->module;
  int rc = hcoll_presence_places(module->comm, places);
  if (OMPI_SUCCESS != rc) {
    return SUMAC_TEAM_NO_MEMORY;
  }
  sumac_team_spec_t spec;
  memset(&spec, 0, sizeof(spec));
  spec.struct_bytes = sizeof(spec);
  spec.rank = module->rank;
  spec.size = module->size;
  spec.places = places;
  spec.ranks_apart = 1 == module->hosts && sumac_job_serves(&mca_coll_hcoll_component.settings, 1);
  spec.options = mca_coll_hcoll_component.options;
  spec.oob = (sumac_oob_t){module, oob_allgather, oob_bcast, oob_barrier};
  spec.progress = hcoll_drive_mpi;
  spec.yields = hcoll_mpi_yields();
  spec.threads = hcoll_threads;
  spec.host_ranks = (int)ompi_process_info.num_local_peers + 1;
  spec.name = module->comm->c_name;
  spec.offer_across = hcoll_across_offer;
  spec.offer_bytes = SUMAC_TREE_OFFER_BYTES;
  spec.drop_offer = drop_offer;
  spec.open_across = hcoll_across_open;
  spec.agree_across = hcoll_across_agree;
  spec.open_context = lane;
  return sumac_team_create(&spec, &lane->team, why, why_bytes);
}

int hcoll_team_make(hcoll_lane_t* lane, char* why, size_t why_bytes) {
  sumac_place_t* places = malloc(sizeof(*places) * (size_t)lane->module->size);
  if (NULL == places) {
    return SUMAC_TEAM_NO_MEMORY;
  }
  int status = make_team(lane, places, why, why_bytes);
  free(places);
  return status;
}

int hcoll_attach_first(hcoll_module_t* module) {
  module->state = HCOLL_STARTING;
  hcoll_threads = ompi_mpi_thread_multiple || mca_coll_hcoll_component.settings.progress_thread;
  hcoll_folds_fill();
  module->ordinary.module = module;
  char why[1024] = "";
  int status = hcoll_team_make(&module->ordinary, why, sizeof(why));
  switch (status) {
    case SUMAC_TEAM_OK:
      module->state = HCOLL_TEAM;
      sumac_say_each_once(why, 0 == module->rank);
      if (0 == module->rank) {
        sumac_explain_team(mca_coll_hcoll_component.options, module->ordinary.team);
      }
      return OMPI_SUCCESS;
    case SUMAC_TEAM_PASS:
      module->state = HCOLL_PASS;
      sumac_say_once(why, 0 == module->rank);
      if (0 == module->rank) {
        hcoll_explain_none(module->comm, why);
      }
      return OMPI_SUCCESS;
    default:
      module->state = HCOLL_PASS;
      SUMAC_SAY("no team for communicator %s: %s", module->comm->c_name, why);
      return hcoll_error_code(why);
  }
}
