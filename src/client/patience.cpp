#include "client/patience.hpp"

namespace sumac::client {
namespace {

/// Each thread has its own, since two threads may make two groups with different limits.
thread_local PatienceBound bound;

}  // namespace

void bound_patience(PatienceBound to) { bound = to; }

bool Patience::is_over() const {
  return monotonic_now() >= deadline_ || (bound.may_wait != nullptr && bound.may_wait(bound.context) == 0);
}

}  // namespace sumac::client
