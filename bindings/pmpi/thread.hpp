#pragma once
// A thread of our own that moves posted operations while the program's threads are elsewhere, in any call of MPI or outside.
// It calls no function of MPI and sleeps while nothing is posted.

namespace sumac::pmpi {

/// Starts the thread if it does not run yet. Called with the lock of `active` held.
void start_thread();
/// Returns true if the thread sleeps and is to be woken up, because something was posted or because the teams now wait for
/// events that it does not watch. Called with the lock held; the caller then calls wake_thread() without it, or the
/// thread would wake up only to wait for the lock.
bool wakes_for_post();
bool wakes_for_move();
void wake_thread();
/// Ends the thread and waits for its end.
void end_thread();

}  // namespace sumac::pmpi
