/* Open MPI's upper layer calls a module's functions for the program, but so do its own parts: MPI_Comm_split calls an
 * allgather, a window's creation an allreduce, a reduction of coll/basic a bcast. Only the program's calls count, in a
 * profile and in the last line. They come from the MPI function of the same name, MPI_Allreduce for an allreduce, so the
 * address to which a wrapper returns tells them apart. What OpenSHMEM calls counts too: it all comes from scoll/mpi. */
#define _GNU_SOURCE /* dladdr */
#include "watch.h"

#include <dlfcn.h>
#include <stdatomic.h>
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
         (NULL != info.dli_fname && NULL != strstr(info.dli_fname, "mca_scoll_mpi"));
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
static const void* _Atomic usual[SUMAC_PROFILE_COLLS][SUMAC_FORMS];

static inline bool needs_nothing(const void* caller, int coll, int form) {
  return caller == atomic_load_explicit(&usual[coll][form], memory_order_relaxed);
}

/* ---- one call ---- */

struct watch {
  enum { PLAIN, MEASURED, OWN } kind; /* OWN: Open MPI's */
  hcoll_module_t* module;
  struct sumac_profile_call call;
  struct sumac_counted before;
};

static void begins(struct watch* watch, mca_coll_base_module_t* base, int coll, int form, const void* caller) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  const bool is_alone = 1 == module->record.size && !OMPI_COMM_IS_INTER(module->comm);
  watch->kind = !is_of_program(caller, coll, form) ? OWN : hcoll_watches() && !is_alone ? MEASURED : PLAIN;
  watch->module = module;
  watch->call = (struct sumac_profile_call){.coll = coll, .form = form};
  if (PLAIN == watch->kind) {
    if (!hcoll_watches()) {
      atomic_store_explicit(&usual[coll][form], caller, memory_order_relaxed);
    }
    return;
  }
  if (coll < SUMAC_COLLS) {
    watch->before = sumac_record_counted(&module->record, coll);
  }
  if (OWN == watch->kind && NULL != module->record.ordinary.team) {
    sumac_team_notes_left(module->record.ordinary.team, false);
  }
  watch->call.start_ns = sumac_profile_now();
}

static int way_of(const struct watch* watch, ompi_request_t* const* request) {
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
static void uncount(const struct watch* watch) {
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

static void ends(struct watch* watch, ompi_request_t* const* request) {
  switch (watch->kind) {
    case PLAIN: return;
    case OWN: uncount(watch); return;
    case MEASURED:
      watch->call.way = way_of(watch, request);
      sumac_profile_add(&watch->call, watch->module->comm->c_name);
  }
}

/* ---- the bytes of a call: what this rank gives, or gets where the root alone gives ---- */

static uint64_t bytes_of(const ompi_datatype_t* type, int count) {
  return count > 0 ? (uint64_t)count * type->super.size : 0;
}

static int own_size(const mca_coll_base_module_t* base) { return ((const hcoll_module_t*)base)->record.size; }
static int own_rank(const mca_coll_base_module_t* base) { return ((const hcoll_module_t*)base)->record.rank; }

static int peers(ompi_communicator_t* comm) {
  return OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : ompi_comm_size(comm);
}

static uint64_t bytes_of_all(const ompi_datatype_t* type, const int* counts, int blocks) {
  uint64_t bytes = 0;
  for (int i = 0; i < blocks; ++i) {
    bytes += bytes_of(type, counts[i]);
  }
  return bytes;
}

static uint64_t bytes_of_each(ompi_datatype_t* const* types, const int* counts, int blocks) {
  uint64_t bytes = 0;
  for (int i = 0; i < blocks; ++i) {
    bytes += bytes_of(types[i], counts[i]);
  }
  return bytes;
}

/* In an intercommunicator the root's own side has no data at its other ranks. */
#define AT_ROOTS(root, bytes) (MPI_PROC_NULL == (root) ? 0 : (bytes))
#define AT_MEMBERS(root, bytes) (MPI_PROC_NULL == (root) || MPI_ROOT == (root) ? 0 : (bytes))

/* ---- the wrappers ---- */

/* A collective: X(its name, its number, its own parameters, the same as arguments, its bytes). */
#define REDUCES const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, ompi_op_t *op,
#define BLOCKS const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf, int rcount, ompi_datatype_t *rdtype,
#define SENT_OR(bytes) (MPI_IN_PLACE != sbuf ? bytes_of(sdtype, scount) : (bytes))
#define OF_TEAMS(X)                                                                                                 \
  X(barrier, SUMAC_COLL_BARRIER, (), (), 0)                                                                         \
  X(allreduce, SUMAC_COLL_ALLREDUCE, (REDUCES), (sbuf, rbuf, count, dtype, op, ), bytes_of(dtype, count))           \
  X(reduce, SUMAC_COLL_REDUCE, (REDUCES int root, ), (sbuf, rbuf, count, dtype, op, root, ),                        \
    AT_ROOTS(root, bytes_of(dtype, count)))                                                                         \
  X(bcast, SUMAC_COLL_BCAST, (void* buffer, int count, ompi_datatype_t* dtype, int root, ),                         \
    (buffer, count, dtype, root, ), AT_ROOTS(root, bytes_of(dtype, count)))                                         \
  X(allgather, SUMAC_COLL_ALLGATHER, (BLOCKS), (sbuf, scount, sdtype, rbuf, rcount, rdtype, ),                      \
    SENT_OR(bytes_of(rdtype, rcount)))                                                                              \
  X(allgatherv, SUMAC_COLL_ALLGATHERV,                                                                              \
    (const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts, const int* displs,      \
     ompi_datatype_t* rdtype, ),                                                                                    \
    (sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, ), SENT_OR(bytes_of(rdtype, rcounts[own_rank(base)])))    \
  X(alltoall, SUMAC_COLL_ALLTOALL, (BLOCKS), (sbuf, scount, sdtype, rbuf, rcount, rdtype, ),                        \
    (uint64_t)peers(comm) * SENT_OR(bytes_of(rdtype, rcount)))                                                      \
  X(alltoallv, SUMAC_COLL_ALLTOALLV,                                                                                \
    (const void* sbuf, const int* scounts, const int* sdispls, ompi_datatype_t* sdtype, void* rbuf,                 \
     const int* rcounts, const int* rdispls, ompi_datatype_t* rdtype, ),                                            \
    (sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, ),                                             \
    MPI_IN_PLACE != sbuf ? bytes_of_all(sdtype, scounts, peers(comm)) : bytes_of_all(rdtype, rcounts, peers(comm))) \
  X(reduce_scatter_block, SUMAC_COLL_REDUCE_SCATTER_BLOCK, (REDUCES), (sbuf, rbuf, count, dtype, op, ),             \
    (uint64_t)own_size(base) * bytes_of(dtype, count))                                                              \
  X(gather, SUMAC_COLL_GATHER, (BLOCKS int root, ), (sbuf, scount, sdtype, rbuf, rcount, rdtype, root, ),           \
    AT_MEMBERS(root, SENT_OR(bytes_of(rdtype, rcount))))                                                            \
  X(gatherv, SUMAC_COLL_GATHERV,                                                                                    \
    (const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts, const int* displs,      \
     ompi_datatype_t* rdtype, int root, ),                                                                          \
    (sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root, ),                                                  \
    AT_MEMBERS(root, SENT_OR(bytes_of(rdtype, rcounts[own_rank(base)]))))                                           \
  X(scatter, SUMAC_COLL_SCATTER, (BLOCKS int root, ), (sbuf, scount, sdtype, rbuf, rcount, rdtype, root, ),         \
    AT_MEMBERS(root, MPI_IN_PLACE != rbuf ? bytes_of(rdtype, rcount) : bytes_of(sdtype, scount)))                   \
  X(scatterv, SUMAC_COLL_SCATTERV,                                                                                  \
    (const void* sbuf, const int* scounts, const int* displs, ompi_datatype_t* sdtype, void* rbuf, int rcount,      \
     ompi_datatype_t* rdtype, int root, ),                                                                          \
    (sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root, ),                                                  \
    AT_MEMBERS(root, MPI_IN_PLACE != rbuf ? bytes_of(rdtype, rcount) : bytes_of(sdtype, scounts[own_rank(base)])))
#define LEFT(X)                                                                                             \
  X(reduce_scatter, SUMAC_PROFILE_REDUCE_SCATTER,                                                           \
    (const void* sbuf, void* rbuf, const int* rcounts, ompi_datatype_t* dtype, ompi_op_t* op, ),            \
    (sbuf, rbuf, rcounts, dtype, op, ), bytes_of_all(dtype, rcounts, own_size(base)))                       \
  X(scan, SUMAC_PROFILE_SCAN, (REDUCES), (sbuf, rbuf, count, dtype, op, ), bytes_of(dtype, count))          \
  X(exscan, SUMAC_PROFILE_EXSCAN, (REDUCES), (sbuf, rbuf, count, dtype, op, ), bytes_of(dtype, count))      \
  X(alltoallw, SUMAC_PROFILE_ALLTOALLW,                                                                     \
    (const void* sbuf, const int* scounts, const int* sdispls, ompi_datatype_t* const* sdtypes, void* rbuf, \
     const int* rcounts, const int* rdispls, ompi_datatype_t* const* rdtypes, ),                            \
    (sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes, ),                                   \
    MPI_IN_PLACE != sbuf ? bytes_of_each(sdtypes, scounts, peers(comm))                                     \
                         : bytes_of_each(rdtypes, rcounts, peers(comm)))

/* The functions of collectives/, which are the same in every module. */
static struct hcoll_plain {
#define PLAIN(name)                            \
  mca_coll_base_module_##name##_fn_t name;     \
  mca_coll_base_module_i##name##_fn_t i##name; \
  mca_coll_base_module_##name##_init_fn_t name##_init;
  HCOLL_EACH_COLL(PLAIN)
#undef PLAIN
} plain;

#define BARE(...) __VA_ARGS__

/* `more` are the parameters of a form, which follow the communicator, and `their` the same as arguments. */
#define WATCHED(function, coll, form, parameters, arguments, more, their, size_of, request, by)                      \
  static __attribute__((noinline)) int look_at_##function(                                                           \
      BARE parameters ompi_communicator_t* comm, BARE more mca_coll_base_module_t* base, const void* caller) {       \
    struct watch watch;                                                                                              \
    begins(&watch, base, coll, form, caller);                                                                        \
    if (MEASURED == watch.kind) {                                                                                    \
      watch.call.bytes = size_of;                                                                                    \
    }                                                                                                                \
    const int rc = by;                                                                                               \
    ends(&watch, request);                                                                                           \
    return rc;                                                                                                       \
  }                                                                                                                  \
  static int watched_##function(BARE parameters ompi_communicator_t* comm, BARE more mca_coll_base_module_t* base) { \
    const void* caller = __builtin_return_address(0);                                                                \
    return OPAL_LIKELY(needs_nothing(caller, coll, form))                                                            \
               ? by                                                                                                  \
               : look_at_##function(BARE arguments comm, BARE their base, caller);                                   \
  }

#define MORE_OF_NONBLOCKING (ompi_request_t * *request, )
#define MORE_OF_PERSISTENT (ompi_info_t * info, ompi_request_t * *request, )
#define BY_TEAM(name, coll, parameters, arguments, size_of)                                                        \
  WATCHED(name, coll, SUMAC_FORM_BLOCKING, parameters, arguments, (), (), size_of, NULL,                           \
          plain.name(BARE arguments comm, base))                                                                   \
  WATCHED(i##name, coll, SUMAC_FORM_NONBLOCKING, parameters, arguments, MORE_OF_NONBLOCKING, (request, ), size_of, \
          request, plain.i##name(BARE arguments comm, request, base))                                              \
  WATCHED(name##_init, coll, SUMAC_FORM_PERSISTENT, parameters, arguments, MORE_OF_PERSISTENT, (info, request, ),  \
          size_of, request, plain.name##_init(BARE arguments comm, info, request, base))
#define NEXT(name) ((hcoll_module_t*)base)->next.name
#define BY_NEXT(name, coll, parameters, arguments, size_of)                                                        \
  WATCHED(name, coll, SUMAC_FORM_BLOCKING, parameters, arguments, (), (), size_of, NULL,                           \
          NEXT(name)(BARE arguments comm, NEXT(name##_module)))                                                    \
  WATCHED(i##name, coll, SUMAC_FORM_NONBLOCKING, parameters, arguments, MORE_OF_NONBLOCKING, (request, ), size_of, \
          request, NEXT(i##name)(BARE arguments comm, request, NEXT(i##name##_module)))                            \
  WATCHED(name##_init, coll, SUMAC_FORM_PERSISTENT, parameters, arguments, MORE_OF_PERSISTENT, (info, request, ),  \
          size_of, request, NEXT(name##_init)(BARE arguments comm, info, request, NEXT(name##_init_module)))

OF_TEAMS(BY_TEAM)
LEFT(BY_NEXT)

void hcoll_watch(mca_coll_base_module_t* module) {
#define WRAP_ONE(name)              \
  plain.name = module->coll_##name; \
  module->coll_##name = watched_##name;
#define WRAP(name)  \
  WRAP_ONE(name)    \
  WRAP_ONE(i##name) \
  WRAP_ONE(name##_init)
  HCOLL_EACH_COLL(WRAP)
#undef WRAP
  if (!hcoll_watches()) {
    return;
  }
#define OFFER(name)                       \
  module->coll_##name = watched_##name;   \
  module->coll_i##name = watched_i##name; \
  module->coll_##name##_init = watched_##name##_init;
  HCOLL_EACH_LEFT(OFFER)
#undef OFFER
}

void hcoll_watch_begin(hcoll_module_t* world) {
  const struct sumac_profile_spec spec = {.world = hcoll_communicator(world),
                                          .settings = &mca_coll_hcoll_component.settings,
                                          .host = ompi_process_info.nodename,
                                          .hosts = world->record.hosts,
                                          .next = "next module"};
  sumac_profile_begin(&spec);
}
