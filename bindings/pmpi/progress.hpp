#pragma once
// Moves posted operations: inside the calls of MPI that complete requests, while a team waits in a blocking collective,
// and otherwise by a thread of our own (rank/progress.h), since a program may stay in any call of MPI, or outside, for as long
// as it likes.

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

/// These serve as functions of the runtime.
void say_no_thread(const char* why);
void watch_leaves(bool any);

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
