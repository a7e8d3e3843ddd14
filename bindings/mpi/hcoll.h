#pragma once
/* The parts of the `hcoll` component, in the order in which they are used:
 *
 *   state.c      holds the process's state: parameters, settings, the runtime as src/rank sees it
 *   component.c  Open MPI opens it: the settings (src/rank) and the team's options are read, presence.c
 *                publishes with MPI's start-up data
 *   module.c     decides for every new communicator; refuses without a message where a member lacks us
 *   job.c        MPI_COMM_WORLD's module begins the tree's job, if there is to be one; the component's close ends it
 *   attach.c     a collective makes its communicator's team (src/team), and all ranks agree whether it exists
 *   between.c    Open MPI's functions between hosts, for rank/across.h
 *   leaders.c    makes the communicator that those collectives need
 *   calls.c      MPI's functions, each described and handed to rank/forms.h
 *   datatypes.c  Open MPI's datatypes and operations; requests.c and progress.c move nonblocking operations, callers.c
 *                measures the program's calls if a profile is wanted
 *
 * Threads: Open MPI never runs two collectives of one communicator at a time; data that communicators share is guarded
 * in the file that holds it. */

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

#include "rank/progress.h"
#include "rank/record.h"
#include "rank/say.h"
#include "rank/signatures.h"
#include "rank/start.h"
#include "shim/series.h"
#include "team/team.h"

/* ---- state.c ---- */

struct hcoll_state {
  int enable;   /* --mca coll_hcoll_enable */
  int np;       /* --mca coll_hcoll_np: communicators of fewer ranks are left alone */
  int priority; /* --mca coll_hcoll_priority */
  struct sumac_process process;
  const mca_base_component_t* version; /* names the component in what processes publish at their start */
};
extern struct hcoll_state hcoll;
/** Open MPI as src/rank sees it; attach.c fills it when the component opens. */
extern struct sumac_runtime hcoll_runtime;

/** True if the component is to do anything at all in this process: neither its parameter nor SUMAC_ENABLE switches it
 *  off. Valid once the component is open. */
static inline bool hcoll_on(void) { return hcoll.enable && hcoll.process.settings.enable; }
/** Rank 0 of MPI_COMM_WORLD wants this, and all ranks follow it, because mpirun takes the shell's variables to its own
 *  host alone. */
struct hcoll_reporting {
  bool last_line;  /* the line at MPI_Finalize */
  bool asked;      /* its environment asks for Sumac: hcoll_is_asked_for() */
  uint64_t job_id; /* the number that it drew for the tree's job; 0: it could draw none */
};

/** True if the user wants the tree. */
static inline bool hcoll_tree_wanted(void) { return HCOLL_OFF != hcoll.process.settings.level; }

/** All ranks of a host mostly have the same environment: is this the rank that reports what is wrong with it? */
bool hcoll_speaks_for_host(void);

/** The locks that each nonblocking collective would take cost more than the rest of it, so a program with one thread
 *  takes none. hcoll_runtime.threads is set before the first team is made and never changed afterwards. */
static inline void hcoll_lock(pthread_mutex_t* lock) {
  if (hcoll_runtime.threads) {
    pthread_mutex_lock(lock);
  }
}
static inline void hcoll_unlock(pthread_mutex_t* lock) {
  if (hcoll_runtime.threads) {
    pthread_mutex_unlock(lock);
  }
}

/* ---- presence.c ---- */

/** Publishes this process's presence, position and settings with MPI's start-up data. */
int hcoll_presence_publish(void);

/** The facts about a communicator that comm_query needs; they are found without a message. */
struct hcoll_shape {
  int hosts;       /* distinct hosts of its members; 0: */
  int absent_rank; /* the first rank that did not publish, or not with our settings, */
  const char* why; /* and the reason */
  bool is_mute;    /* it lacks the component, and so cannot report that there is no team */
};
int hcoll_presence_of(ompi_communicator_t* comm, struct hcoll_shape* shape);
/** Serves as `places` of hcoll_runtime. All members must be present. */
int hcoll_presence_places(struct sumac_record* record, sumac_place_t* places);
/** Returns what rank 0 reports once MPI_COMM_WORLD was looked up: nothing, if rank 0 lacks the component. */
struct hcoll_reporting hcoll_presence_reporting(void);
void hcoll_presence_forget(void);

/* ---- module.c ---- */

#define HCOLL_NAME(X, Name, name, coll, S) X(name)
/** Every function that we replace, in its three forms. */
#define HCOLL_EACH_COLL(X) SUMAC_EACH_COLLECTIVE(HCOLL_NAME, X)
/** The collectives that are always the next module's: with SUMAC_PROFILE they have functions of ours to be counted. */
#define HCOLL_EACH_LEFT(X) SUMAC_EACH_LEFT(HCOLL_NAME, X)

/** The functions that were selected before us: they do the calls that we pass on. */
struct hcoll_next {
#define HCOLL_NEXT_ONE(name)               \
  mca_coll_base_module_##name##_fn_t name; \
  mca_coll_base_module_t* name##_module;
#define HCOLL_NEXT(name)  \
  HCOLL_NEXT_ONE(name)    \
  HCOLL_NEXT_ONE(i##name) \
  HCOLL_NEXT_ONE(name##_init)
  HCOLL_EACH_COLL(HCOLL_NEXT)
  HCOLL_EACH_LEFT(HCOLL_NEXT)
#undef HCOLL_NEXT
#undef HCOLL_NEXT_ONE
};

typedef struct hcoll_module {
  mca_coll_base_module_t super;
  struct sumac_record record;
  ompi_communicator_t* comm; /* without a reference count: the communicator owns us */
  bool world;                /* it belongs to MPI_COMM_WORLD and holds the job */
  bool internal;             /* it belongs to a communicator that no program sees: nothing is counted */
  bool watches_only;         /* it passes everything on, and is there for the profile alone */
  bool ended;                /* the communicator has ended, and its team with it; the module may outlive both */
  struct hcoll_next next;
} hcoll_module_t;
OBJ_CLASS_DECLARATION(hcoll_module_t);

static inline hcoll_module_t* hcoll_module_of(const struct sumac_record* record) {
  return (hcoll_module_t*)((char*)record - offsetof(hcoll_module_t, record));
}

mca_coll_base_module_t* hcoll_comm_query(struct ompi_communicator_t* comm, int* priority);

/* ---- attach.c ---- */

/** Makes the team of a communicator that has none yet; collective over it. */
int hcoll_attach_first(hcoll_module_t* module);
/** Fills hcoll_runtime. */
void hcoll_attach_prepare(void);

/** With SUMAC_EXPLAIN=1 one rank prints why the communicator has no module. */
void hcoll_explain_none(ompi_communicator_t* comm, const char* why);

/* ---- leaders.c ---- */

/** True while this thread makes a communicator for our own use: no program sees it, and it never has a team. */
extern _Thread_local bool hcoll_making_ours;
/** Makes a communicator of `leaders`, ascending ranks of the module's; collective over all of them. `*made_p` is
 *  NULL at a rank that does not lead. */
int hcoll_leaders_make(hcoll_module_t* module, const int* leaders, int count, bool leads, ompi_communicator_t** made_p);

/* ---- between.c ---- */

/** This serves as `between` of hcoll_runtime. */
extern const struct sumac_between hcoll_between;

/* ---- progress.c ---- */

/** These serve as the functions of hcoll_runtime. */
void hcoll_progress_entered(void);
void hcoll_progress_moved(bool is_posted);
void hcoll_progress_no_thread(const char* why);
/** Ends the progress thread. */
void hcoll_progress_end(void);
/** Serves as spec.progress. */
void hcoll_drive_mpi(void* context);
/** Returns whether MPI's waits yield their core, by the parameter mpi_yield_when_idle. */
bool hcoll_mpi_yields(void);
void hcoll_drive_mpi_never_again(void);

/* ---- calls.c ---- */

/** Puts our functions into a new module. */
void hcoll_offer(mca_coll_base_module_t* module);
