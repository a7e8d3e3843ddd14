#pragma once
// The library has these once in a process: the client's functions, its options, and the variables of the environment.
#include <atomic>
#include <cstdint>

#include "bindings/hcoll/refuse.hpp"
#include "rank/record.h"
#include "rank/start.h"

namespace sumac::hcoll {

struct Library {
  bool is_initialized = false;
  bool has_threads = false;
  /// All messages have it: a group is the client's communicator, whose messages meet no others.
  std::uint32_t tag = 0;
  unsigned long mark = 0;  ///< It marks the process that initialized it.
  /// The client is Open MPI 4, which calls long an unsigned type: a least or largest number is the client's own affair.
  bool mistakes_long = false;
  /// False where the client's functions may not be called any more.
  std::atomic<bool> may_drive{false};
  std::atomic<int> contexts{0};  ///< So many were made, or tried.
};
Library& library() noexcept;

/// MPICH has tags from 31 on in 3.4 and 4.0, from 32 on later.
constexpr bool is_of_mpich(int tag) noexcept { return tag == 31 || tag == 32; }

/// The client below, as src/rank sees it. sumac_process_own() must have found no mistake.
const sumac_runtime& runtime() noexcept;

/// Drives the client once, if it may.
void drive(void*) noexcept;

/// HCOLL_SUCCESS if the process has initialized the library, and is not a fork's child; else it is told.
int check_process(const char* function) noexcept;

/// Empty: this library serves communicators. Else the reason why not.
const char* why_off() noexcept;

}  // namespace sumac::hcoll
