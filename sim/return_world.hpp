#pragma once
// The members' agreement to go to another tree (proto/recovery_return.hpp), in every order of events.
#include <cstddef>
#include <cstdint>
#include <string>

namespace sumac::sim {

/// It says how often something may happen.
struct ReturnCase {
  std::uint32_t members = 3, operations = 2;
  int proposals = 1, refusals = 0, withdrawals = 0, breaks = 0;
};
struct ReturnFound {
  std::string wrong;  ///< Empty: nothing.
  std::size_t states = 0;
};
ReturnFound explore_return(const ReturnCase& plan);

}  // namespace sumac::sim
