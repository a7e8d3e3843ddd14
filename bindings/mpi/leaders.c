/* The leaders' communicator is made with Open MPI's own functions, but without its agreement on a context id.
 *
 * Open MPI settles context ids one communicator after the other: MPI_Comm_split waits while an MPI_Comm_idup of
 * a lower communicator is under way. In a program's own call that does no harm. But leaders are made in a
 * communicator's first collective, which one rank may call after an MPI_Comm_idup that another rank calls later:
 * both would wait for ever. Here the leaders reserve ids in the same table and in the same manner as Open MPI, and
 * wait only for ranks that have arrived. */
#include <stdio.h>

#include "hcoll.h"
#include "ompi/mca/pml/pml.h"
#include "opal/class/opal_pointer_array.h"

static int agree(hcoll_module_t* module, int mine, ompi_op_t* op, int* all) {
  return module->next.allreduce(&mine, all, 1, &ompi_mpi_int.dt, op, module->comm, module->next.allreduce_module);
}

static bool reserve(const hcoll_module_t* module, int id) {
  return opal_pointer_array_test_and_set_item(&ompi_mpi_communicators, id, hcoll_series_comm_unborn(module->comm));
}
static void release(int id) { (void)opal_pointer_array_set_item(&ompi_mpi_communicators, id, NULL); }

static int reserve_from(const hcoll_module_t* module, int id) {
  while (id < (int)mca_pml.pml_max_contextid && !reserve(module, id)) {
    ++id;
  }
  return id;
}

/* Finds an id that is free at all leaders, and reserves it there. */
static int agree_on_id(hcoll_module_t* module, bool leads, int* id_p) {
  const int end = (int)mca_pml.pml_max_contextid;
  for (int start = ompi_mpi_communicators.lowest_free;; start = *id_p + 1) {
    int mine = leads ? reserve_from(module, start) : 0, is_free = 1, all_free = 0;
    int rc = agree(module, mine, &ompi_mpi_op_max.op, id_p);
    if (leads && mine != *id_p) {
      release(mine);
      is_free = OMPI_SUCCESS == rc && *id_p < end && reserve(module, *id_p);
    }
    if (OMPI_SUCCESS == rc && *id_p < end) {
      rc = agree(module, is_free, &ompi_mpi_op_min.op, &all_free);
    }
    if (OMPI_SUCCESS == rc && all_free) {
      return OMPI_SUCCESS;
    }
    if (leads && is_free && *id_p < end) {
      release(*id_p);
    }
    if (OMPI_SUCCESS != rc || *id_p >= end) {
      return OMPI_SUCCESS != rc ? rc : OMPI_ERR_OUT_OF_RESOURCE;
    }
  }
}

/* Makes the communicator ready to receive. */
static ompi_communicator_t* make(hcoll_module_t* module, const int* leaders, int count, int id) {
  ompi_communicator_t *parent = module->comm, *made = NULL;
  if (OMPI_SUCCESS != hcoll_series_comm_set(&made, parent, count, leaders)) {
    release(id);
    return NULL;
  }
  hcoll_series_comm_set_id(made, id);
  (void)opal_pointer_array_set_item(&ompi_mpi_communicators, id, made);
  snprintf(made->c_name, MPI_MAX_OBJECT_NAME, "LEADERS OF %.40s", parent->c_name);
  if (OMPI_SUCCESS != MCA_PML_CALL(add_comm(made))) {
    (void)ompi_comm_free(&made);
    return NULL;
  }
  OMPI_COMM_SET_PML_ADDED(made);
  return made;
}

_Thread_local bool hcoll_making_ours;

int hcoll_leaders_make(hcoll_module_t* module, const int* leaders, int count, bool leads,
                       ompi_communicator_t** made_p) {
  *made_p = NULL;
  int id = -1, rc = agree_on_id(module, leads, &id), all_ready = 0;
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  ompi_communicator_t* made = leads ? make(module, leaders, count, id) : NULL;
  /* No leader sends on it before all can receive. */
  rc = agree(module, !leads || NULL != made, &ompi_mpi_op_min.op, &all_ready);
  if (OMPI_SUCCESS == rc && !all_ready) {
    rc = OMPI_ERR_OUT_OF_RESOURCE;
  }
  if (OMPI_SUCCESS == rc && leads) {
    hcoll_making_ours = true;
    rc = mca_coll_base_comm_select(made);
    hcoll_making_ours = false;
  }
  if (OMPI_SUCCESS != rc) {
    if (NULL != made) {
      (void)ompi_comm_free(&made);
    }
    return rc;
  }
  *made_p = made;
  return OMPI_SUCCESS;
}
