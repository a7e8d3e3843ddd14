#pragma once
/* Moves posted operations: by the program's threads, inside calls of the MPI, and by a thread of our own. The thread serves a
 * rank that computes outside the MPI, so that it does not delay the others: from the first post on with
 * SUMAC_PROGRESS_THREAD=1, else as a last resort where the front end wants it so. It calls no function of the MPI, and sleeps
 * while nothing is posted. The runtime's record says what the front end wants (record.h). */

#include "rank/record.h"

SUMAC_C_BEGIN

/** Ends the thread, and waits for its end. */
void sumac_progress_end(void);

/** Called before an operation of the lane is posted, and once for each when its end is reported or it was not posted. */
void sumac_progress_enter(sumac_lane_t* lane);
void sumac_progress_leave_once(sumac_lane_t* lane);
/** Called after a post: wakes the thread if it sleeps. */
void sumac_progress_kick(void);
/** Called before a lane's team is destroyed: afterwards no thread is inside it or enters it. */
void sumac_progress_leave(sumac_lane_t* lane);

/** True while an operation is posted whose end is not reported. */
bool sumac_progress_is_posted(void);
bool sumac_progress_is_posted_on(const struct sumac_record* record);

enum sumac_moved {
  SUMAC_MOVED_BY_OTHERS, /* another thread moves the lanes, or this one does so further up its stack */
  SUMAC_MOVED_NOTHING,   /* something is posted, and no operation ended */
  SUMAC_MOVED            /* an operation ended, or nothing is posted */
};
/** Moves every lane. Called by the program's threads. */
enum sumac_moved sumac_progress_move(void);

/** A member of a request: links finished operations whose end the MPI does not know of. */
struct sumac_done {
  struct sumac_done* next;
};
/** Any thread may call it. */
void sumac_progress_done(struct sumac_done* done);
/** Returns those that ended since the last call, in the order in which they ended; NULL: none. */
struct sumac_done* sumac_progress_take_done(void);

SUMAC_C_END
