// Every member writes its line and reads all lines: one transfer of a cache line in each direction. Where ranks share
// cores, each rank has to be scheduled once.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step barrier_flat(Task& task) {
  if (task.phase == 0) {
    begin_round(task);
    task.phase = 1;
  }
  if (task.phase == 1) {
    if (!task.group->room(task.round, kLineRing)) return Step::waiting;
    publish(task.group->line(task.group->index(), task.round), task.round, 0);
    task.phase = 2;
  }
  return finish_together(task);
}

}  // namespace sumac::shm
