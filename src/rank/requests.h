#pragma once
/* A nonblocking or persistent operation of a front end: a team's operation, and all that must live until its end. A front end
 * has it inside a request of its MPI. */

#include "rank/progress.h"
#include "rank/record.h"

SUMAC_C_BEGIN

/** request_new() of the runtime begins it. */
struct sumac_request {
  struct sumac_done done;
  sumac_lane_t* lane;
  sumac_op_t* op;
  struct sumac_plan plan;
  void* memory;       /* packed data */
  int64_t* numbers;   /* our copy of counts and displacements: some programs free theirs at once */
  uintptr_t types[3]; /* held for packed sides, and for the program's own operation; 0: none */
  uintptr_t held_op;  /* the program's own operation */
  int status;         /* the team's, once done */
  bool is_persistent;
};

/** Begins an empty one, on the record's ordinary lane. */
void sumac_request_begin(struct sumac_request* request, struct sumac_record* record, bool is_persistent);
/** Starts a persistent one. Returns an error code. */
int sumac_request_start(struct sumac_request* request);
/** Called once for each that sumac_progress_take_done() returns: unpacks, and returns its error code. */
int sumac_request_result(struct sumac_request* request);
/** Gives everything back that it holds. It is not under way. */
void sumac_request_end(struct sumac_request* request);
/** Frees its memory alone: the MPI, and the teams, have ended. */
void sumac_request_forget(struct sumac_request* request);

SUMAC_C_END
