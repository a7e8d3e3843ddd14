#pragma once
#include <new>

namespace sumac::rank {

/// No exception leaves a library of C: `use` is called, and one of the two statuses stands for what it throws.
template <class Status, class Use>
Status guarded(Use use, Status no_memory, Status otherwise) noexcept {
  try {
    return use();
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (...) {
    return otherwise;
  }
}

}  // namespace sumac::rank
