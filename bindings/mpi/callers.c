/* Open MPI's upper layer calls a module's functions for the program, but so do its own parts: MPI_Comm_split calls an
 * allgather, a window's creation an allreduce, a reduction of coll/basic a bcast. Only the program's calls count, in a
 * profile and in the last line. They come from the MPI function of the same name, MPI_Allreduce for an allreduce, so the
 * address to which a wrapper returns tells them apart. What OpenSHMEM calls counts too: it all comes from scoll/mpi. So
 * does what coll/ucc passes on, which stands before us by its priority (rank/served.h). */
#define _GNU_SOURCE /* dladdr */
#include "callers.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

#include "job.h"
#include "requests.h"

/* ---- who calls ---- */

/* True if `symbol` is a name of the MPI function `name`: MPI_Allreduce, PMPI_Allreduce, PMPIX_Allreduce_init. */
static bool is_function(const char* symbol, const char* name) {
  const char* at = symbol + ('P' == symbol[0]);
  size_t prefix = 0 == strncmp(at, "MPI_", 4) ? 4 : 0 == strncmp(at, "MPIX_", 5) ? 5 : 0;
  return prefix > 0 && 0 == strcasecmp(at + prefix, name);
}

static bool look_up(const void* caller, int coll, int form) {
  char name[40];
  Dl_info info;
  if (0 == dladdr(caller, &info)) {
    return false;
  }
  sumac_profile_name(coll, form, name);
  return (NULL != info.dli_sname && is_function(info.dli_sname, name)) ||
         (NULL != info.dli_fname &&
          (NULL != strstr(info.dli_fname, "mca_scoll_mpi") || NULL != strstr(info.dli_fname, "mca_coll_ucc")));
}

/* A look-up takes microseconds, so the last answers are kept: an address with its lowest bit set is the program's. Every
 * address belongs to one function, which calls one function of ours. */
static bool is_of_program(const void* caller, int coll, int form) {
  static _Atomic uintptr_t kept[256];
  const uintptr_t address = (uintptr_t)caller << 1;
  _Atomic uintptr_t* at = &kept[(address >> 1 ^ address >> 9) % 256];
  uintptr_t found = atomic_load_explicit(at, memory_order_relaxed);
  if ((found & ~(uintptr_t)1) != address) {
    found = address | look_up(caller, coll, form);
    atomic_store_explicit(at, found, memory_order_relaxed);
  }
  return 0 != (found & 1);
}

/* Each form of a collective mostly has one caller, the MPI function of its name. It is kept here once it is known, unless
 * every call is to be measured: then a look at this place tells a wrapper that it has nothing to do. */
const void* _Atomic hcoll_watch_usual[SUMAC_PROFILE_COLLS][SUMAC_FORMS];

/* ---- one call ---- */

bool hcoll_watch_begins(struct hcoll_watch* watch, mca_coll_base_module_t* base, int coll, int form,
                        const void* caller) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  const bool is_alone = 1 == module->record.size && !OMPI_COMM_IS_INTER(module->comm);
  watch->kind = !is_of_program(caller, coll, form) ? HCOLL_WATCH_OWN
                : hcoll_watches() && !is_alone     ? HCOLL_WATCH_MEASURED
                                                   : HCOLL_WATCH_PLAIN;
  watch->module = module;
  watch->call = (struct sumac_profile_call){.coll = coll, .form = form};
  if (HCOLL_WATCH_PLAIN == watch->kind) {
    if (!hcoll_watches()) {
      atomic_store_explicit(&hcoll_watch_usual[coll][form], caller, memory_order_relaxed);
    }
    return false;
  }
  if (coll < SUMAC_COLLS) {
    watch->before = sumac_record_counted(&module->record, coll);
  }
  if (HCOLL_WATCH_OWN == watch->kind && NULL != module->record.ordinary.team) {
    sumac_team_notes_left(module->record.ordinary.team, false);
  }
  return HCOLL_WATCH_MEASURED == watch->kind;
}

void hcoll_watch_counts(struct hcoll_watch* watch, uint64_t bytes) {
  watch->call.bytes = bytes;
  watch->call.start_ns = sumac_profile_now();
}

static int way_of(const struct hcoll_watch* watch, ompi_request_t* const* request) {
  const struct sumac_profile_call* call = &watch->call;
  if (call->coll >= SUMAC_COLLS) {
    return SUMAC_WAY_PASS;
  }
  if (SUMAC_FORM_PERSISTENT == call->form) { /* a team counts it when it is started */
    if (NULL != *request && OBJ_CLASS(hcoll_request_t) == ((const opal_object_t*)*request)->obj_class) {
      return SUMAC_WAY_HOST;
    }
    return SUMAC_LIFE_TEAM == watch->module->record.life && 0 == call->bytes ? SUMAC_PROFILE_NO_DATA : SUMAC_WAY_PASS;
  }
  return sumac_record_way_since(&watch->module->record, call->coll, call->bytes, &watch->before);
}

/* Takes a call of Open MPI's own out of what the last line counts. */
static void uncount(const struct hcoll_watch* watch) {
  hcoll_module_t* module = watch->module;
  const int coll = watch->call.coll;
  if (NULL != module->record.ordinary.team) {
    sumac_team_notes_left(module->record.ordinary.team, true);
  }
  if (coll >= SUMAC_COLLS) {
    return;
  }
  const struct sumac_counted now = sumac_record_counted(&module->record, coll);
  for (int way = 0; way < SUMAC_WAYS; ++way) {
    module->record.uncounted[coll][way] += now.ways[way] - watch->before.ways[way];
  }
  memcpy(module->record.passed[coll], watch->before.passed, sizeof(watch->before.passed));
}

void hcoll_watch_ends(struct hcoll_watch* watch, ompi_request_t* const* request) {
  switch (watch->kind) {
    case HCOLL_WATCH_PLAIN: return;
    case HCOLL_WATCH_OWN: uncount(watch); return;
    case HCOLL_WATCH_MEASURED:
      watch->call.way = way_of(watch, request);
      sumac_profile_add(&watch->call, watch->module->comm->c_name);
  }
}

void hcoll_watch_begin(hcoll_module_t* world) {
  const struct sumac_communicator ranks = hcoll_communicator(world);
  sumac_profile_begin(&hcoll_runtime, &ranks, ompi_process_info.nodename, world->record.hosts);
}
