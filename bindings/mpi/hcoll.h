/* The pieces of the `hcoll` component and the order in which they come into play:
 *
 *   component.c  opened -> settings.c read -> presence.c published with MPI's start-up data
 *   module.c     asked for every new communicator; refuses without a message where a member lacks us
 *   job.c        MPI_COMM_WORLD's module begins the job; the last one to go ends it
 *   group.c      a communicator's first collective makes its group, and all ranks agree whether it stands
 *   collectives.c, types.c, tally.c   what runs from then on
 *
 * Threads: Open MPI never runs two collectives of one communicator at a time; what communicators share is guarded where it is kept. */
#ifndef SUMAC_MPI_HCOLL_H
#define SUMAC_MPI_HCOLL_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"

#include "settings.h"
#include "sharp/api/sharp_coll.h"
#include "sharp/api/sumac_ext.h"

/* ---- component.c ---- */

struct hcoll_component {
  mca_coll_base_component_2_0_0_t super;
  int enable;   /* --mca coll_hcoll_enable */
  int np;       /* --mca coll_hcoll_np: communicators of fewer ranks are left alone */
  int priority; /* --mca coll_hcoll_priority */
  struct hcoll_settings settings;
};
extern struct hcoll_component mca_coll_hcoll_component;

/** True when the component is to do anything at all in this process. */
static inline bool hcoll_on(void) {
  return mca_coll_hcoll_component.enable && mca_coll_hcoll_component.settings.level != HCOLL_OFF;
}

/** One line on stderr in the form people know: [host:pid:rank][file:line:function] text. */
void hcoll_say(const char* file, int line, const char* function, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
#define HCOLL_SAY(...) hcoll_say(__FILE__, __LINE__, __func__, __VA_ARGS__)

/* ---- presence.c ---- */

/** Publishes this process's presence and settings with MPI's start-up data. */
int hcoll_presence_publish(const struct hcoll_settings* settings);

/** What comm_query must know about a communicator; found without a message. */
struct hcoll_shape {
  int hosts;        /* distinct hosts of its members */
  bool all_present; /* every member published, with our settings */
  int absent_rank;  /* else: the first one that did not ... */
  const char* why;  /* ... and why */
};
int hcoll_presence_of(ompi_communicator_t* comm, struct hcoll_shape* shape);
void hcoll_presence_forget(void);

/* ---- module.c ---- */

enum hcoll_state {
  HCOLL_FRESH,    /* no collective yet */
  HCOLL_STARTING, /* inside the first one: what it calls itself passes through */
  HCOLL_GROUP,    /* the group stands */
  HCOLL_PASS      /* goes on without the tree */
};

/** The functions that were selected before us: what we do not do ourselves, they do. */
struct hcoll_next {
  mca_coll_base_module_allreduce_fn_t allreduce;
  mca_coll_base_module_t* allreduce_module;
  mca_coll_base_module_barrier_fn_t barrier;
  mca_coll_base_module_t* barrier_module;
  mca_coll_base_module_bcast_fn_t bcast;
  mca_coll_base_module_t* bcast_module;
  mca_coll_base_module_gather_fn_t gather;
  mca_coll_base_module_t* gather_module;
};

enum hcoll_kind { HCOLL_BARRIER, HCOLL_ALLREDUCE, HCOLL_KINDS };

/** Why a call went to the next module. */
enum hcoll_why { HCOLL_WHY_TYPE, HCOLL_WHY_SIZE, HCOLL_WHY_NO_GROUP, HCOLL_WHYS };

struct hcoll_tally {
  uint64_t tree[HCOLL_KINDS];             /* calls whose last number the group's root answered */
  uint64_t next[HCOLL_KINDS][HCOLL_WHYS]; /* calls that the next module did */
};

struct hcoll_module {
  mca_coll_base_module_t super;
  ompi_communicator_t* comm; /* not counted: the communicator owns us */
  struct hcoll_next next;
  enum hcoll_state state;
  bool world;    /* of MPI_COMM_WORLD: holds the job */
  bool internal; /* of a subcommunicator we made for ourselves: nothing is counted */
  int hosts;
  ompi_communicator_t* host_comm;    /* ranks of this host, or NULL where every host has one rank */
  ompi_communicator_t* leaders_comm; /* first ranks of the hosts; NULL elsewhere and where host_comm is */
  bool leader;
  struct sharp_coll_comm* group; /* leaders only */
  int64_t bytes_max;             /* largest allreduce for the tree */
  bool broken;                   /* an operation failed: all later ones fail, with the reason already said */
  struct hcoll_tally tally;
};
typedef struct hcoll_module hcoll_module_t;
OBJ_CLASS_DECLARATION(hcoll_module_t);

mca_coll_base_module_t* hcoll_comm_query(struct ompi_communicator_t* comm, int* priority);

/* ---- job.c ---- */

/** Begins the job over MPI_COMM_WORLD with the OOB functions of `module`'s next modules; all ranks get the same answer. */
int hcoll_job_begin(hcoll_module_t* module);
bool hcoll_job_failed(void);
struct sharp_coll_context* hcoll_job_context(void);
/** Takes over a group whose communicator is going: its Leave is posted now and waited for at the end of the job. */
void hcoll_job_leave(struct sharp_coll_comm* group);
/** Waits for all Leaves and ends the job. No MPI call in it. */
void hcoll_job_end(void);
/** Ends the MPI job with the line that users of HCOLL know. */
void hcoll_abort(ompi_communicator_t* comm) __attribute__((noreturn));

/* ---- group.c ---- */

/** A communicator's first collective; collective over it. Afterwards module->state is HCOLL_GROUP or HCOLL_PASS, the same at all ranks. */
int hcoll_group_make(hcoll_module_t* module);
/** The OOB functions that libsharp_coll calls; their context is a `struct hcoll_oob`. */
struct hcoll_oob {
  ompi_communicator_t* comm;
  struct hcoll_next next;
};
extern const struct sharp_coll_out_of_band_colls hcoll_oob_colls;

/* ---- types.c ---- */

/** An MPI reduction in SHARP's words. */
struct hcoll_reduction {
  enum sharp_datatype dtype;
  enum sharp_datatype tag_dtype;
  enum sharp_reduce_op op;
  size_t per_element;   /* SHARP elements in one MPI element (2 for a complex sum) */
  size_t element_bytes; /* of one MPI element */
};
/** False: this pair is not one for the tree. The answer depends on (type, operation) alone, so it is the same at all ranks. */
bool hcoll_map(struct ompi_datatype_t* type, struct ompi_op_t* op, struct hcoll_reduction* out);

/* ---- collectives.c ---- */

int hcoll_barrier(struct ompi_communicator_t* comm, mca_coll_base_module_t* module);
int hcoll_allreduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                    struct ompi_communicator_t* comm, mca_coll_base_module_t* module);

/* ---- tally.c ---- */

void hcoll_tally_enlist(hcoll_module_t* module);
void hcoll_tally_delist(hcoll_module_t* module);
/** Collective over MPI_COMM_WORLD, first thing in MPI_Finalize: rank 0 prints what went which way. */
void hcoll_tally_print(hcoll_module_t* world, uint64_t job_id);

#endif
