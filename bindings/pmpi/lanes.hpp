#pragma once
// Persistent collectives are matched by the order in which they were made, and each rank starts them in its own order. A
// team has only one order, so each persistent collective of a communicator has a team of its own while it lives: a lane
// (docs/adr/0046). Over several hosts the MPI does them.

namespace sumac::pmpi {

struct Communicator;
struct Lane;

/// Returns a lane that no rank uses, the same one at all ranks. Collective. Null: there is none at any rank, or `rc` is an
/// error.
Lane* take_lane(Communicator& communicator, int& rc);
/// Called when this rank has freed the lane's request. Any thread may call it.
void give_lane(Lane& lane);

}  // namespace sumac::pmpi
