/* The functions of a module: every collective in its three forms, from the table in rank/signatures.h. Each is wrapped by a
 * look at its caller (callers.h). The next module does what the team leaves. */
#include "rank/signatures.h"

#include "callers.h"
#include "datatypes.h"
#include "rank/forms.h"
#include "requests.h"

#define SUMAC_BITS(handle) ((uintptr_t)(handle))
/* The description of the call. */
#define GIVEN(S) (&(const struct sumac_arguments){SUMAC_GIVEN_##S})

static inline struct sumac_record* record_of(mca_coll_base_module_t* base) { return &((hcoll_module_t*)base)->record; }

/* ---- what a form does, and what it does once the next module has done the call ---- */

/* Open MPI agrees on context ids by nonblocking allreduces of one int on the parent communicator. Those of
 * MPI_Comm_idup begin inside progress: at one rank before the program's next blocking collective there, at another
 * one after it. So they have no position in the team's order, and nothing distinguishes them from the program's own. They are
 * not counted either. */
static inline bool is_like_mpis_own(enum sumac_coll coll, const struct sumac_arguments* given) {
  return SUMAC_COLL_ALLREDUCE == coll && 1 == given->out_count && SUMAC_BITS(MPI_INT) == given->out_type &&
         (SUMAC_BITS(MPI_MAX) == given->op || SUMAC_BITS(MPI_MIN) == given->op);
}

static inline int post(mca_coll_base_module_t* base, enum sumac_coll coll, const struct sumac_arguments* given,
                       ompi_request_t** request) {
  struct sumac_request* made;
  if (is_like_mpis_own(coll, given)) {
    return SUMAC_TO_NEXT;
  }
  const int rc = sumac_form_post(record_of(base), coll, given, &made);
  if (MPI_SUCCESS == rc) {
    *request = NULL == made ? &ompi_request_empty : hcoll_request_of(made);
  }
  return rc;
}
static inline int spared(mca_coll_base_module_t* base, enum sumac_coll coll, const struct sumac_arguments* given,
                         int rc) {
  return is_like_mpis_own(coll, given) ? rc : sumac_form_spared(record_of(base), rc);
}

static inline int make(mca_coll_base_module_t* base, enum sumac_coll coll, const struct sumac_arguments* given,
                       ompi_request_t** request) {
  struct sumac_request* made;
  const int rc = sumac_form_make(record_of(base), coll, given, &made);
  if (MPI_SUCCESS == rc && NULL == made) {
    return ompi_request_persistent_noop_create(request);
  }
  if (MPI_SUCCESS == rc) {
    *request = hcoll_request_of(made);
  }
  return rc;
}

/* Predefined operations need no plan, because neither side is packed. */
static inline int run_allreduce(mca_coll_base_module_t* base, const void* in, void* out, int count,
                                ompi_datatype_t* type, ompi_op_t* op) {
  struct sumac_record* record = record_of(base);
  if (OPAL_UNLIKELY(0 == count)) {
    return MPI_SUCCESS;
  }
  if (OPAL_LIKELY(SUMAC_LIFE_TEAM == record->life)) {
    const struct sumac_pair* pair = hcoll_pair_of(type, op);
    if (OPAL_LIKELY(NULL != pair)) {
      return sumac_form_allreduce(record, pair, in, out, (size_t)count, MPI_IN_PLACE);
    }
  }
  return sumac_form_run(record, SUMAC_COLL_ALLREDUCE, GIVEN(SUMS));
}

static inline int run_bcast(mca_coll_base_module_t* base, void* buffer, int count, ompi_datatype_t* type, int root) {
  struct sumac_record* record = record_of(base);
  struct sumac_layout room;
  const struct sumac_layout* layout = hcoll_layout(SUMAC_BITS(type), &room);
  return OPAL_LIKELY(sumac_form_is_plain_bcast(record, layout, count, root))
             ? sumac_form_bcast(record, layout, buffer, count, root)
             : sumac_form_run(record, SUMAC_COLL_BCAST, GIVEN(BUFFER));
}

/* ---- the functions ---- */

static struct sumac_shape shape_of(const hcoll_module_t* module) {
  return (struct sumac_shape){
      module->record.rank, module->record.size,
      OMPI_COMM_IS_INTER(module->comm) ? ompi_comm_remote_size(module->comm) : ompi_comm_size(module->comm)};
}

#define BARE(...) __VA_ARGS__
#define NEXT(name) ((hcoll_module_t*)base)->next.name

/* `more` are the parameters of a form, which follow the communicator, and `their` the same as arguments. `ours` is the answer of
 * the team, and `after` gets the code of the next module. */
#define FUNCTION(name, coll, form, S, more, their, request, ours, after)                                              \
  static inline int serve_##name(SUMAC_PARAMETERS_##S(int, int) ompi_communicator_t* comm,                            \
                                 BARE more mca_coll_base_module_t* base) {                                            \
    const int rc = ours;                                                                                              \
    return OPAL_LIKELY(SUMAC_TO_NEXT != rc)                                                                           \
               ? rc                                                                                                   \
               : after(base, coll, GIVEN(S), NEXT(name)(SUMAC_ARGUMENTS_##S comm, BARE their NEXT(name##_module)));   \
  }                                                                                                                   \
  static __attribute__((noinline)) int look_at_##name(SUMAC_PARAMETERS_##S(int, int) ompi_communicator_t* comm,       \
                                                      BARE more mca_coll_base_module_t* base, const void* caller) {   \
    struct hcoll_watch watch;                                                                                         \
    if (hcoll_watch_begins(&watch, base, coll, form, caller)) {                                                       \
      const struct sumac_shape shape = shape_of(watch.module);                                                        \
      hcoll_watch_counts(&watch, sumac_bytes_of(&hcoll_runtime, coll, &shape, GIVEN(S)));                             \
    }                                                                                                                 \
    const int rc = serve_##name(SUMAC_ARGUMENTS_##S comm, BARE their base);                                           \
    hcoll_watch_ends(&watch, request);                                                                                \
    return rc;                                                                                                        \
  }                                                                                                                   \
  static int name(SUMAC_PARAMETERS_##S(int, int) ompi_communicator_t* comm, BARE more mca_coll_base_module_t* base) { \
    const void* caller = __builtin_return_address(0);                                                                 \
    return OPAL_LIKELY(hcoll_watch_needs_nothing(caller, coll, form))                                                 \
               ? serve_##name(SUMAC_ARGUMENTS_##S comm, BARE their base)                                              \
               : look_at_##name(SUMAC_ARGUMENTS_##S comm, BARE their base, caller);                                   \
  }

#define MORE_OF_POSTED (ompi_request_t * *request, )
#define MORE_OF_MADE (struct ompi_info_t * info, ompi_request_t * *request, )
#define PASSED(base, coll, given, rc) sumac_form_passed(record_of(base), rc)
#define AS_IT_IS(base, coll, given, rc) rc

#define BLOCKING(name, coll, S, ours) FUNCTION(name, coll, SUMAC_FORM_BLOCKING, S, (), (), NULL, ours, PASSED)
#define PLANNED(_, Name, name, coll, S) BLOCKING(name, coll, S, sumac_form_run(record_of(base), coll, GIVEN(S)))
#define POSTED_AND_MADE(_, Name, name, coll, S)                                                   \
  FUNCTION(i##name, coll, SUMAC_FORM_NONBLOCKING, S, MORE_OF_POSTED, (request, ), request,        \
           post(base, coll, GIVEN(S), request), spared)                                           \
  FUNCTION(name##_init, coll, SUMAC_FORM_PERSISTENT, S, MORE_OF_MADE, (info, request, ), request, \
           make(base, coll, GIVEN(S), request), AS_IT_IS)
#define LEFT(_, Name, name, coll, S)                                                                                \
  FUNCTION(name, coll, SUMAC_FORM_BLOCKING, S, (), (), NULL, SUMAC_TO_NEXT, AS_IT_IS)                               \
  FUNCTION(i##name, coll, SUMAC_FORM_NONBLOCKING, S, MORE_OF_POSTED, (request, ), request, SUMAC_TO_NEXT, AS_IT_IS) \
  FUNCTION(name##_init, coll, SUMAC_FORM_PERSISTENT, S, MORE_OF_MADE, (info, request, ), request, SUMAC_TO_NEXT,    \
           AS_IT_IS)

BLOCKING(barrier, SUMAC_COLL_BARRIER, NOTHING, sumac_form_barrier(record_of(base)))
BLOCKING(allreduce, SUMAC_COLL_ALLREDUCE, SUMS, run_allreduce(base, in, out, count, type, op))
BLOCKING(bcast, SUMAC_COLL_BCAST, BUFFER, run_bcast(base, buffer, count, type, root))
SUMAC_EACH_PLANNED(PLANNED, )
SUMAC_EACH_COLLECTIVE(POSTED_AND_MADE, )
SUMAC_EACH_LEFT(LEFT, )

void hcoll_offer(mca_coll_base_module_t* module) {
#define OFFER(name)               \
  module->coll_##name = name;     \
  module->coll_i##name = i##name; \
  module->coll_##name##_init = name##_init;
  HCOLL_EACH_COLL(OFFER)
  if (hcoll_watches()) {
    HCOLL_EACH_LEFT(OFFER)
  }
#undef OFFER
}
