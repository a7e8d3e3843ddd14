#pragma once
#include <cstring>
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

/// A program of C may have set an enumeration to any number, which C++ may not read as one.
template <class Enumeration>
unsigned number_of(const Enumeration& set) noexcept {
  unsigned number = 0;
  static_assert(sizeof set == sizeof number);
  std::memcpy(&number, &set, sizeof number);
  return number;
}

}  // namespace sumac::rank
