#include "sim/recovery_seed.hpp"

#include "sim/recovery_lasting_world.hpp"

namespace sumac::sim {

Report run_recovery_seed(std::uint64_t seed, int verbose) {
  const RecoveryPlan plan = make_recovery_plan(seed);
  LastingWorld world(plan, verbose);
  return world.run();
}

}  // namespace sumac::sim
