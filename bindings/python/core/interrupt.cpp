#include "bindings/python/core/interrupt.hpp"

#include <atomic>

namespace sumac::python {
namespace {

std::atomic<bool (*)()> interrupt_check{nullptr};

}  // namespace

void set_interrupt_check(bool (*check)()) { interrupt_check.store(check, std::memory_order_relaxed); }

bool is_interrupted() {
  const auto check = interrupt_check.load(std::memory_order_relaxed);
  return check != nullptr && check();
}

}  // namespace sumac::python
