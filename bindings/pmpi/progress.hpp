#pragma once
// Moves posted operations: inside the calls of MPI that complete requests, while a team waits in a blocking collective,
// and otherwise by a thread of our own (thread.hpp), since a program may stay in any call of MPI, or outside, for as long
// as it likes.

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

struct Request;

/// True while an operation is posted whose end the MPI does not know of.
bool anything_posted() noexcept;

/// Called before an operation of the lane is posted, and once for each when its end is reported or it was not posted.
void enter_progress(Lane& lane);
void leave_progress_once(Lane& lane);
/// Called before a lane's team is destroyed: afterwards no thread is inside it or enters it.
void leave_progress(Lane& lane);
/// Called after a post.
void kick_progress();
/// Puts a finished operation on the list of those that advance() reports. Any thread may call it.
void report_done(Request& request);

/// Moves every lane, and reports what is done to the MPI. Called by the program's threads alone.
void advance();
/// A wait calls it between two looks that found nothing.
void pause(unsigned looks);
/// Waits until nothing is posted on the communicator's lanes.
void settle(const Communicator& communicator);
/// spec.progress of a team: drives the MPI, and what is posted.
void drive(void* context);

/// Makes what drive() needs; collective over MPI_COMM_WORLD. False if the MPI refuses.
bool begin_progress();
/// Ends the thread.
void end_progress();

}  // namespace sumac::pmpi
