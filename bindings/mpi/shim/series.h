#pragma once
/* The differences between the series of Open MPI that the component is compiled for: 4.1 and 5.0. No other file of the
 * component asks for a version. Each half below has the same names. cmake/OpenMpi.cmake refuses any other series. */

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"

/* The release that the component is compiled for. */
#define HCOLL_SERIES_TEXT(number) #number
#define HCOLL_SERIES_NUMBERS(major, minor, release) \
  HCOLL_SERIES_TEXT(major) "." HCOLL_SERIES_TEXT(minor) "." HCOLL_SERIES_TEXT(release)
#define HCOLL_BUILT_FOR HCOLL_SERIES_NUMBERS(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION)

#if 4 == OMPI_MAJOR_VERSION && 1 == OMPI_MINOR_VERSION

#include "ompi/mca/rte/rte.h"
#include "opal/mca/pmix/pmix.h"

/* The version of the interface between Open MPI and its coll components. */
#define HCOLL_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0

/* Start-up data for all processes of the job, and the launcher's number of a process's node. */
#define HCOLL_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#define HCOLL_MODEX_NODE OPAL_PMIX_NODEID
#define HCOLL_MODEX_UINT32 OPAL_UINT32

/** Makes a communicator of `count` ranks of `parent`, without a context id. */
static inline int hcoll_series_comm_set(ompi_communicator_t** made_p, ompi_communicator_t* parent, int count,
                                        const int* ranks) {
  return ompi_comm_set(made_p, parent, count, (int*)ranks, 0, NULL, NULL, parent->error_handler, false, NULL, NULL);
}

static inline void hcoll_series_comm_set_id(ompi_communicator_t* comm, int id) { comm->c_contextid = (uint32_t)id; }

/** Returns the entry by which Open MPI's table of communicators holds an id whose communicator does not exist yet. */
static inline void* hcoll_series_comm_unborn(ompi_communicator_t* parent) { return parent; }

/** Returns true if the component can work with the Open MPI whose MPI_Get_library_version() is `running`. */
static inline bool hcoll_series_serves(const char* running) {
  (void)running;
  return true;
}

/** Serves as the copy function of an attribute that no duplicate of its communicator gets. */
static inline int hcoll_series_not_copied(ompi_communicator_t* comm, int key, void* extra, void* in, void* out,
                                          int* flag, ompi_communicator_t* made) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)made;
  *flag = 0;
  return MPI_SUCCESS;
}

#elif 5 == OMPI_MAJOR_VERSION && 0 == OMPI_MINOR_VERSION

#include "ompi/runtime/ompi_rte.h"
#include "opal/mca/pmix/pmix-internal.h"

#define HCOLL_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0

#define HCOLL_MODEX_GLOBAL PMIX_GLOBAL
#define HCOLL_MODEX_NODE PMIX_NODEID
#define HCOLL_MODEX_UINT32 PMIX_UINT32

static inline int hcoll_series_comm_set(ompi_communicator_t** made_p, ompi_communicator_t* parent, int count,
                                        const int* ranks) {
  return ompi_comm_set(made_p, parent, count, (int*)ranks, 0, NULL, NULL, parent->error_handler, NULL, NULL, 0);
}

/* As Open MPI does for a communicator with a parent: all its members have the same index, and it is the id as well. The
 * epoch by which Open MPI tells revoked communicators of one id apart stays 0: no program can revoke ours. */
static inline void hcoll_series_comm_set_id(ompi_communicator_t* comm, int id) {
  comm->c_flags |= OMPI_COMM_GLOBAL_INDEX;
  comm->c_index = (uint32_t)id;
  comm->c_contextid.cid_base = 0;
  comm->c_contextid.cid_sub.u64 = (uint64_t)id;
}

/* Open MPI 5.0 has a mark for it from 5.0.4 on. */
static inline void* hcoll_series_comm_unborn(ompi_communicator_t* parent) {
#ifdef OMPI_COMM_SENTINEL
  (void)parent;
  return (void*)(intptr_t)OMPI_COMM_SENTINEL;
#else
  return parent;
#endif
}

/* Structures that a component shares with Open MPI 5.0 differ from release to release: 5.0.10 has one more function in a
 * module. Their version is 2.4.0 in all of them, so Open MPI loads a component of another release without a word. */
static inline bool hcoll_series_serves(const char* running) {
  int major = 0, minor = 0, release = 0;
  return 3 == sscanf(running, "Open MPI v%d.%d.%d", &major, &minor, &release) && OMPI_MAJOR_VERSION == major &&
         OMPI_MINOR_VERSION == minor && OMPI_RELEASE_VERSION == release;
}

static inline int hcoll_series_not_copied(ompi_communicator_t* comm, int key, void* extra, void* in, void* out,
                                          int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_SUCCESS;
}

#else
#error "The component is for Open MPI 4.1 and 5.0."
#endif
