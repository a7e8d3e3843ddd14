/* The pieces of the `hcoll` component and the order in which they come into play:
 *
 *   component.c  opened -> settings.c, the team's options read -> presence.c published with MPI's start-up data
 *   module.c     asked for every new communicator; refuses without a message where a member lacks us
 *   job.c        MPI_COMM_WORLD's module begins the tree's job, where there is to be one; the last one to go ends it
 *   attach.c     a communicator's first collective makes its team (src/team), and all ranks agree whether it stands
 *   across.c     what goes between hosts: the tree, or MPI's own collectives among the leaders
 *   leaders.c    the communicator that those collectives need
 *   lanes.c      a team for each persistent collective, which may be started in another order at each rank
 *   collectives/ MPI's functions, a file for each collective; forms.c runs, posts or makes what they plan, plan.c and pack.c say where the
 *                data lies, folds.c what a reduction does, requests.c and progress.c move what does not block, tally.c counts
 *
 * Threads: Open MPI never runs two collectives of one communicator at a time; what communicators share is guarded where it is kept. */
#ifndef SUMAC_MPI_HCOLL_H
#define SUMAC_MPI_HCOLL_H

#include "ompi_config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"

#include "settings.h"
#include "team/team.h"

/* ---- component.c ---- */

struct hcoll_component {
  mca_coll_base_component_2_0_0_t super;
  int enable;   /* --mca coll_hcoll_enable */
  int np;       /* --mca coll_hcoll_np: communicators of fewer ranks are left alone */
  int priority; /* --mca coll_hcoll_priority */
  struct hcoll_settings settings;
  sumac_team_options_t* options;
};
extern struct hcoll_component mca_coll_hcoll_component;

/** True when the component is to do anything at all in this process. */
static inline bool hcoll_on(void) { return mca_coll_hcoll_component.enable; }
/** True when the tree is asked for. */
static inline bool hcoll_tree_wanted(void) { return HCOLL_OFF != mca_coll_hcoll_component.settings.level; }

/** All ranks of a host mostly have one environment: does this one tell what is wrong with it? */
bool hcoll_speaks_for_host(void);

/** One line on stderr in the form people know: [host:pid:rank][file:line:function] text. */
void hcoll_say(const char* file, int line, const char* function, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
#define HCOLL_SAY(...) hcoll_say(__FILE__, __LINE__, __func__, __VA_ARGS__)

/** True once several threads may come here at a time: the program's, or our own. Set before the first team is made, then left. */
extern bool hcoll_threads;

/** Locks of what nonblocking collectives touch at each call cost more than the rest of them, so a program of one thread takes none. */
static inline void hcoll_lock(pthread_mutex_t* lock) {
  if (hcoll_threads) {
    pthread_mutex_lock(lock);
  }
}
static inline void hcoll_unlock(pthread_mutex_t* lock) {
  if (hcoll_threads) {
    pthread_mutex_unlock(lock);
  }
}

/* ---- presence.c ---- */

/** Publishes this process's presence, place and settings with MPI's start-up data. */
int hcoll_presence_publish(void);

/** What comm_query must know about a communicator; found without a message. */
struct hcoll_shape {
  int hosts;        /* distinct hosts of its members */
  bool all_present; /* every member published, with our settings */
  int absent_rank;  /* else: the first one that did not ... */
  const char* why;  /* ... and why */
  bool is_mute;     /* it lacks the component, and so cannot say that there is no team */
};
int hcoll_presence_of(ompi_communicator_t* comm, struct hcoll_shape* shape);
/** Where the members are, hosts numbered in the order of ranks. All of them must be present. */
int hcoll_presence_places(ompi_communicator_t* comm, sumac_place_t* places);
void hcoll_presence_forget(void);

/* ---- place.cpp ---- */

/** Socket, NUMA node and core of this process, -1 for what is not known. `why`: one line if the environment describes a machine that is
 *  none (HWLOC_SYNTHETIC), else "". */
void hcoll_own_place(uint32_t local_rank, sumac_place_t* place, char* why, size_t why_bytes);

/* ---- module.c ---- */

/** Every function that we take over, in its three forms. */
#define HCOLL_EACH_COLL(X) \
  X(barrier)               \
  X(allreduce)             \
  X(reduce)                \
  X(bcast)                 \
  X(allgather)             \
  X(allgatherv)            \
  X(alltoall)              \
  X(alltoallv)             \
  X(reduce_scatter_block)  \
  X(gather)                \
  X(gatherv)               \
  X(scatter)               \
  X(scatterv)

/** The functions that were selected before us: what we do not do ourselves, they do. */
struct hcoll_next {
#define HCOLL_NEXT_ONE(name)               \
  mca_coll_base_module_##name##_fn_t name; \
  mca_coll_base_module_t* name##_module;
#define HCOLL_NEXT(name)  \
  HCOLL_NEXT_ONE(name)    \
  HCOLL_NEXT_ONE(i##name) \
  HCOLL_NEXT_ONE(name##_init)
  HCOLL_EACH_COLL(HCOLL_NEXT)
#undef HCOLL_NEXT
#undef HCOLL_NEXT_ONE
};

enum hcoll_state {
  HCOLL_TEAM,     /* the team stands */
  HCOLL_FRESH,    /* no collective yet */
  HCOLL_STARTING, /* inside the first one: what it calls itself passes through */
  HCOLL_PASS      /* left to the next module */
};

/** Why a call went to the next module without the team being asked. */
enum hcoll_why {
  HCOLL_WHY_FUNCTION, /* a user's operation or a derived type in a reduction */
  HCOLL_WHY_NO_TEAM,  /* the team did not come to be */
  HCOLL_WHY_EARLY,    /* nonblocking, before the communicator's first blocking collective made the team */
  HCOLL_WHY_ORDER,    /* persistent, and there is no lane for it (lanes.c) */
  HCOLL_WHYS
};

/** A team runs its operations in one order, the same at all ranks. Blocking and nonblocking collectives are called in one order by MPI's rule
 *  and share a team; persistent ones may be started in any, so each has a team of its own (lanes.c). */
typedef struct hcoll_lane {
  struct hcoll_module* module;
  sumac_team_t* team;
  bool by_thread; /* the progress thread may move it: nothing of it calls MPI */
  /* progress.c: the list of lanes with something posted */
  struct hcoll_lane* active_next;
  int posted;   /* requests not complete yet */
  int visitors; /* of the progress thread, inside the team just now */
} hcoll_lane_t;

/** Persistent collectives of one communicator that have a lane at a time; any others are the next module's. */
#define HCOLL_LANES_MAX 16

typedef struct hcoll_module {
  mca_coll_base_module_t super;
  enum hcoll_state state;
  hcoll_lane_t ordinary;     /* of blocking and nonblocking collectives */
  ompi_communicator_t* comm; /* not counted: the communicator owns us */
  int rank, size;
  bool world;    /* of MPI_COMM_WORLD: holds the job */
  bool internal; /* of a communicator that no program sees: nothing is counted */
  bool broken;   /* an operation failed and the reason was said */
  bool no_group; /* the tree was asked for one and had none */
  int hosts;
  void* scratch; /* packed data of blocking collectives, kept from one to the next */
  size_t scratch_bytes;
  uint64_t passed[SUMAC_COLLS][HCOLL_WHYS];
  struct hcoll_next next;
  /* lanes.c */
  hcoll_lane_t* lanes[HCOLL_LANES_MAX]; /* made so far, */
  _Atomic uint32_t lanes_taken;         /* those of this rank's requests, a bit for each, */
  bool lanes_end;                       /* and there can be no more */
  uint64_t agreements[SUMAC_WAYS];      /* allreduces in the ordinary team that were ours */
} hcoll_module_t;
OBJ_CLASS_DECLARATION(hcoll_module_t);

mca_coll_base_module_t* hcoll_comm_query(struct ompi_communicator_t* comm, int* priority);
/** A communicator that no program sees never has a team. */
void hcoll_leave_alone(ompi_communicator_t* comm);

/* ---- attach.c ---- */

/** The rest of hcoll_attach(): a communicator's first collective; collective over it. */
int hcoll_attach_first(hcoll_module_t* module);
/** Makes a lane's team; collective. A status of src/team. */
int hcoll_team_make(hcoll_lane_t* lane, char* why, size_t why_bytes);

/** Prints once in a job a message that holds for many communicators, by a rank `by_us` of the first one; the others call it too. */
void hcoll_say_once(const char* line, bool by_us);

/** True: the team stands. Otherwise the call is the next module's, or `*rc_p` says what went wrong. */
static inline bool hcoll_attach(hcoll_module_t* module, int* rc_p) {
  *rc_p = OMPI_SUCCESS;
  if (OPAL_LIKELY(HCOLL_TEAM == module->state)) {
    return true;
  }
  if (HCOLL_FRESH == module->state) {
    *rc_p = hcoll_attach_first(module);
  }
  return OMPI_SUCCESS == *rc_p && HCOLL_TEAM == module->state;
}

/** SUMAC_EXPLAIN=1: one rank says of a communicator why it has no team. */
void hcoll_explain_none(ompi_communicator_t* comm, const char* why);

/** A call that the next module does without the team being asked. */
static inline void hcoll_count_passed(hcoll_module_t* module, enum sumac_coll coll, enum hcoll_why why) {
  if (HCOLL_STARTING != module->state) {
    ++module->passed[coll][why];
  }
}

/* ---- errors.c ---- */

/** A code in class MPI_ERR_OTHER whose MPI_Error_string is `words`, as far as it has room for them. */
int hcoll_error_code(const char* words);
/** What a team's failure is to MPI; says once why. */
int hcoll_failed(hcoll_lane_t* lane, enum sumac_coll coll, int status);

/* ---- lanes.c ---- */

/** A lane for a persistent collective that is being made, the same one at all ranks; collective. NULL: there is none, at any rank, or
 *  `*rc_p` says what went wrong. */
hcoll_lane_t* hcoll_lane_take(hcoll_module_t* module, int* rc_p);
/** Its request has gone at this rank. Any thread. */
void hcoll_lane_give(hcoll_lane_t* lane);
/** Ends the teams of all lanes. */
void hcoll_lanes_end(hcoll_module_t* module);

/* ---- leaders.c ---- */

/** True while this thread makes a communicator that is ours alone. */
extern _Thread_local bool hcoll_making_ours;
/** A communicator of `leaders`, ascending ranks of the module's; collective over all of them. `*made_p` is NULL at who does not lead. */
int hcoll_leaders_make(hcoll_module_t* module, const int* leaders, int count, bool leads, ompi_communicator_t** made_p);

/* ---- across.c ---- */

/** spec.open_across; its context is the lane. */
int hcoll_across_open(void* context, const int* leaders, int leader_count, int my_index, sumac_across_t* across);

/* ---- folds.c ---- */

/** A predefined pair of MPI type and operation. */
struct hcoll_fold {
  sumac_fold_t fold;
  uint32_t
      mpi_bytes; /* of one MPI element, as it lies in an array; 0: no such pair. A complex sum has two elements of `fold` in it */
  ompi_datatype_t* type; /* one element of `fold` for MPI, */
  ompi_op_t* op;         /* and what to do with it */
};
extern struct hcoll_fold hcoll_folds[OMPI_DATATYPE_MAX_PREDEFINED][OMPI_OP_NUM_OF_TYPES];

/** Fills the table, once. */
void hcoll_folds_fill(void);

/** NULL: a user's operation, a derived type, or a pair that MPI does not have: the next module's. Depends on type and operation alone,
 *  so it is the same at all ranks. */
static inline const struct hcoll_fold* hcoll_fold_of(const ompi_datatype_t* type, const ompi_op_t* op) {
  if (OPAL_UNLIKELY(!(type->super.flags & OMPI_DATATYPE_FLAG_PREDEFINED) || !(op->o_flags & OMPI_OP_FLAGS_INTRINSIC))) {
    return NULL;
  }
  const struct hcoll_fold* fold = &hcoll_folds[type->id][op->op_type];
  return OPAL_LIKELY(fold->mpi_bytes) ? fold : NULL;
}

/* ---- progress.c ---- */

struct hcoll_request;

/** A request of `lane` is about to be posted. Afterwards MPI's progress moves it, and the progress thread if there is one. */
void hcoll_progress_enter(hcoll_lane_t* lane);
/** It is complete, or was never posted. */
void hcoll_progress_leave(hcoll_lane_t* lane);
/** Wakes the progress thread, if there is one. */
void hcoll_progress_kick(hcoll_lane_t* lane);
/** Puts an operation that is done on the list of those to be completed by MPI's progress. Any thread. */
void hcoll_progress_done(struct hcoll_request* request);
/** Before a lane's team goes: nobody is inside it any more, and nobody comes again. */
void hcoll_progress_forget(hcoll_lane_t* lane);
/** Ends the thread. */
void hcoll_progress_end(void);
/** spec.progress. */
void hcoll_drive_mpi(void* context);
void hcoll_drive_mpi_never_again(void);

/* ---- collectives/ ---- */

/** Each of these puts a collective's three functions into a new module. */
#define HCOLL_OFFER(name) void hcoll_offer_##name(mca_coll_base_module_t* module);
HCOLL_EACH_COLL(HCOLL_OFFER)
#undef HCOLL_OFFER

/* ---- tally.c ---- */

void hcoll_tally_enlist(hcoll_module_t* module);
/** Before its team goes. */
void hcoll_tally_delist(hcoll_module_t* module);
/** Collective over MPI_COMM_WORLD, first thing in MPI_Finalize: rank 0 prints what went which way. */
void hcoll_tally_print(hcoll_module_t* world, uint64_t job_id);

#endif
