// Everybody writes its line, everybody reads all lines: one transfer of a cache line in each direction, and one turn on the
// processor per rank where ranks share cores.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step barrier_flat(Operation& op) {
  if (op.phase == 0) {
    begin_round(op);
    op.phase = 1;
  }
  if (op.phase == 1) {
    if (!op.group->room(op.round, kLineRing)) return Step::waiting;
    publish(op.group->line(op.group->index(), op.round), op.round, 0);
    op.phase = 2;
  }
  return finish_together(op);
}

}  // namespace sumac::shm
