#pragma once
/* The record of a communicator, which each MPI front end keeps: its team once it has one, the teams of its persistent
 * collectives, and what the last line counts. A front end puts it into an object of its own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rank/communicator.h"
#include "rank/fold.h"
#include "rank/plan.h"
#include "rank/settings.h"
#include "rank/tally.h"
#include "team/team.h"

SUMAC_C_BEGIN

struct sumac_record;
struct sumac_between;
struct sumac_request;

/** A lane's operation that waits: limits.hpp. */
struct sumac_wait {
  int64_t began_ns, looked_ns, asked_ns; /* CLOCK_MONOTONIC; 0: not yet */
  uint64_t ended;                        /* sumac_team_ended() since it began */
};

/** A leader that waits sends it to the other leaders: it has begun the operation. */
struct sumac_note {
  uint64_t number;    /* counts operations from 1 on */
  int32_t count;      /* ranks behind the leader that have not begun it, */
  int32_t missing[8]; /* and the first of them */
};

/** A team runs its operations in one order, the same at all ranks. MPI demands that blocking and nonblocking collectives
 *  are called in one order, so they share a team. Persistent ones are matched by the order in which they were made, and each
 *  rank starts them in its own order; so each has a team of its own while it lives (docs/adr/0046). A lane is such a team. */
typedef struct sumac_lane {
  struct sumac_record* record;
  sumac_team_t* team;
  struct sumac_lane* next_active; /* the list of lanes with posted operations */
  int posted;                     /* operations that are not done */
  int visitors;                   /* threads that are inside the team now */
  struct sumac_wait wait;
} sumac_lane_t;

/** The most persistent collectives of one communicator that have a lane at a time; the MPI does any others. */
#define SUMAC_LANES_MAX 16

enum sumac_life {
  SUMAC_LIFE_FRESH,     /* no team yet */
  SUMAC_LIFE_STARTING,  /* inside the collective that makes one: collectives that it calls itself pass through */
  SUMAC_LIFE_MAKING,    /* nonblocking collectives make one behind them (making.h) */
  SUMAC_LIFE_UNSETTLED, /* they have made it, and no blocking one has come yet */
  SUMAC_LIFE_TEAM,
  SUMAC_LIFE_PASS /* the MPI does everything */
};

/** The room for a communicator's name, with its end. */
#define SUMAC_NAME_BYTES 256

/** The MPI below a front end, one for each process. */
struct sumac_runtime {
  const char* next; /* its name in lines for users: "next module", "MPI" */
  const struct hcoll_settings* settings;
  sumac_team_options_t* const* options;
  /** Adds an error code in class MPI_ERR_OTHER with this text. Returns false if the MPI refuses. */
  bool (*add_error)(const char* words, int* code);
  size_t error_bytes_max;           /* the longest text of an error code, with its end */
  int error_other, error_no_memory; /* MPI_ERR_OTHER, MPI_ERR_NO_MEM */
  void (*name)(const struct sumac_record* record, char name[SUMAC_NAME_BYTES]);
  /** Sets the positions of the record's ranks, with hosts numbered in the order of ranks. Returns an error code. */
  int (*places)(struct sumac_record* record, sumac_place_t* places);
  /** The MPI's own over a record's ranks, whose context is the record. */
  sumac_oob_t oob;
  int host_ranks; /* the job's ranks on this host */
  bool yields;    /* the MPI's own waits yield their core */
  /** Sets `*all` to the bits that every rank has in `mine`; collective. Returns an error code. */
  int (*common_bits)(struct sumac_record* record, uint32_t mine, uint32_t* all);
  /** Makes the communicator's team if it may have one now; collective. Returns an error code. */
  int (*attach)(struct sumac_record* record);
  /** Starts an allgather of the MPI, at its place in the order of the communicator's collectives. The communicator lives
   *  until release(). Returns an error code. */
  int (*iallgather)(struct sumac_record* record, const void* in, void* out, size_t bytes, void* request);
  /** Looks whether it has ended, after which `request` is none. It drives the MPI only if `drives`, or where that disturbs
   *  nothing: Open MPI begins parts of an MPI_Comm_idup in its progress, and they must not come between two collectives at one
   *  rank and behind both at another. Returns an error code. */
  int (*gathered)(void* request, bool drives, bool* done);
  void (*release)(struct sumac_record* record); /* NULL: the MPI itself keeps it */
  /** True if the program has revoked the communicator: then the MPI has every call, and its error. NULL: it can't. */
  bool (*is_revoked)(struct sumac_record* record);

  /* Its constants and its types. */
  const void* in_place; /* MPI_IN_PLACE */
  int root, proc_null;  /* MPI_ROOT, MPI_PROC_NULL */
  size_t handle_bytes;  /* the size of an MPI_Datatype */
  /** Returns the facts about a type, in `room` or in memory that outlives the call. NULL: it is none. */
  const struct sumac_layout* (*layout)(uintptr_t type, struct sumac_layout* room);
  struct sumac_packing packing;
  /** Returns the column of a predefined operation in fold.h's table, or one of enum sumac_op_kind. */
  int (*op_kind)(uintptr_t op);
  bool own_in_mpi; /* the program's operations are called by its own threads alone */
  void (*reduce_local)(const void* in, void* inout, int count, uintptr_t type, uintptr_t op);

  /* For requests.h. */
  bool moves_in_mpi; /* every call of the MPI moves what is posted; else only what needs no step by the MPI is posted */
  struct sumac_request* (*request_new)(struct sumac_record* record, bool is_persistent); /* NULL: there is no memory */
  int (*request_begin)(struct sumac_request* request); /* called before it is posted. Returns an error code */
  void (*request_drop)(struct sumac_request* request); /* after it was made, and begun or not, but not posted */
  /** A program may free a type, or its operation, before the end: they hold `*type`, or what replaces it. */
  int (*hold_type)(uintptr_t* type);
  void (*release_type)(uintptr_t type);
  void (*hold_op)(uintptr_t op);
  void (*release_op)(uintptr_t op);

  const struct sumac_between* between; /* across.h */

  /* For progress.h. */
  bool threads;     /* several threads may call at the same time, the program's or our own; else no lock is taken */
  bool last_resort; /* our thread also exists without SUMAC_PROGRESS_THREAD */
  /** Called with the lock held, before an operation is posted and after each move with whether anything is posted. NULL: the
   *  front end needs no such notice. */
  void (*entered)(void);
  void (*moved)(bool is_posted);
  /** Prints that there is no thread of our own, and why. */
  void (*no_thread)(const char* why);
  /* For limits.hpp. */
  bool asked;                     /* somebody asked for Sumac */
  void (*drive)(void* context);   /* drives the MPI while a team or the tree's job waits */
  void (*watch_leaves)(bool any); /* job.h */
  /** Sends a note to a rank of the communicator without waiting; `note` lives as long as the record. Returns false if it can't. */
  bool (*send_note)(struct sumac_record* record, int rank, const struct sumac_note* note);
  /** Receives a note if one is there. Returns the rank that sent it, or -1. */
  int (*receive_note)(struct sumac_record* record, struct sumac_note* note);
};

/** Zeroed with `runtime`, `rank`, `size` and `hosts` set: a communicator without a team. */
struct sumac_record {
  const struct sumac_runtime* runtime;
  enum sumac_life life;
  int rank, size, hosts;
  uint32_t spared;             /* collectives that the MPI still does before the team is made (worth.h) */
  bool is_explained;           /* SUMAC_EXPLAIN=1 has said why there is no team yet */
  bool is_counted;             /* this rank, and no other one, counts the communicator's calls */
  bool is_broken;              /* an operation failed and the reason was printed */
  bool is_wide;                /* the ordinary team has leaders that communicate between hosts */
  bool has_tree;               /* the tree may carry some of its collectives */
  bool has_own_network;        /* connections of our own carry its data between hosts: own_network.hpp */
  bool team_passed;            /* the team has just left a blocking call to the MPI */
  bool has_waited_long;        /* the line that names a missing rank was printed */
  bool no_group;               /* the tree had no group for this communicator */
  bool lanes_end;              /* no more lanes can be made */
  uint32_t lanes_taken;        /* a bit for each lane that a request of this rank uses; any thread may change it */
  struct sumac_making* making; /* SUMAC_LIFE_MAKING */
  sumac_lane_t ordinary;       /* for blocking and nonblocking collectives */
  sumac_lane_t* lanes[SUMAC_LANES_MAX]; /* the lanes made so far */
  void* scratch;                        /* packed data of blocking collectives, kept from one call to the next */
  size_t scratch_bytes;
  uint64_t passed[SUMAC_COLLS][SUMAC_WHYS];    /* calls that the MPI does without a team being asked */
  uint64_t uncounted[SUMAC_COLLS][SUMAC_WAYS]; /* the ordinary team's calls by the MPI itself, and by us */
  struct sumac_note own_note, *notes;          /* limits.hpp; NULL: none was needed. [leaders] */
  struct sumac_record* next_living;
};

/** Lists a record whose calls the last line counts. */
void sumac_record_enlist(struct sumac_record* record);
/** Takes it off the list, and adds what it counted to the sum of those that are gone. */
void sumac_record_delist(struct sumac_record* record);
/** Calls `visit` for every record of the list. */
void sumac_records_each(void (*visit)(struct sumac_record* record));

/** Begins the tree's job if the user wants it and there are enough hosts; collective over MPI_COMM_WORLD, whose record and
 *  ranks these are. The others are members of sumac_job_spec. Returns an error code, or -1: there is no random number. */
int sumac_record_begin_job(struct sumac_record* world, const struct sumac_communicator* ranks, uint64_t id,
                           int local_rank, bool threads);
/** Makes the team of a communicator that has none yet; collective over it. Returns an error code: success, also where the
 *  communicator has no team then. */
int sumac_record_attach(struct sumac_record* record);
/** With SUMAC_EXPLAIN=1 rank 0 prints, once, why the communicator has no team yet. */
void sumac_record_explain_spared(struct sumac_record* record);
/** With SUMAC_EXPLAIN=1 rank 0 prints why the communicator has no team. */
void sumac_record_explain_none(const struct sumac_record* record, const char* why);
/** Destroys the teams and the memory. It is local: other ranks may still be in their last collective. */
void sumac_record_end(struct sumac_record* record);

/** Returns memory for the packed data of one blocking collective; NULL: there is none. sumac_record_trim() follows the
 *  collective. */
void* sumac_record_scratch(struct sumac_record* record, size_t bytes);
void sumac_record_trim(struct sumac_record* record);

/** Makes the team of a lane; collective. Returns a status of src/team, and in `why` the reason if there is none. */
int sumac_lane_make_team(sumac_lane_t* lane, char* why, size_t why_bytes);
/** Returns a lane for a persistent collective that is being made, the same one at all ranks; collective. NULL: there is none
 *  at any rank, or `*rc_p` is an error. */
sumac_lane_t* sumac_lane_take(struct sumac_record* record, int* rc_p);
/** Releases a lane whose request this rank has freed. Any thread may call it. */
void sumac_lane_give(sumac_lane_t* lane);

/** Returns the error code for a team's failure, whose text names the collective, and prints the reason once. */
int sumac_lane_failed(sumac_lane_t* lane, enum sumac_coll coll, int status);

/** The calls of one collective that a record has counted so far. */
struct sumac_counted {
  uint64_t ways[SUMAC_WAYS], passed[SUMAC_WHYS];
};
struct sumac_counted sumac_record_counted(const struct sumac_record* record, int coll);
/** Returns the way of a profile (rank/profile.h) that a call of so many bytes took. */
int sumac_record_way_since(const struct sumac_record* record, int coll, uint64_t bytes,
                           const struct sumac_counted* before);

/** Prints the line at MPI_Finalize if `prints` is true at rank 0, and what SUMAC_EXPLAIN=1 adds at the end; collective.
 *  @param world  MPI_COMM_WORLD: `rank`, `sum`. */
void sumac_records_tally(const struct sumac_runtime* runtime, const struct sumac_communicator* world, bool prints);

SUMAC_C_END
