#pragma once
// The way between hosts: here a team gets what carries data among its leaders.
#include "bindings/python/core/hosts.hpp"
#include "team/team.h"

namespace sumac::python {

/// Given to sumac_team_create() as `open_context`, which calls open().
struct WayAcross {
  Exchange& exchange;
  const Members& members;
  bool is_reproducible;
  std::string error{};  ///< Why there is none.

  void set(sumac_team_spec_t& spec) {
    spec.open_across = &WayAcross::open;
    spec.open_context = this;
  }
  static int open(void* context, const int* leaders, int leader_count, int my_index, sumac_across_t* across);
};

}  // namespace sumac::python
