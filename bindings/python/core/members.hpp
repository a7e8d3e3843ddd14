#pragma once
// The members of a team, as their ranks tell each other before anything else: the host of each, its process, its place
// and its version of this package.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bindings/python/core/store.hpp"
#include "shm/segment/segment.hpp"
#include "team/team.h"

namespace sumac::python {

struct Member {
  std::string host;  ///< The host's name, for people.
  shm::ProcessName process;
  sumac_place_t place{};  ///< The host's number counts from 0 in the order of ranks.
};

struct Members {
  int rank = 0;
  std::vector<Member> all;
  std::vector<int> here;  ///< The ranks on this rank's host, ascending.
  int hosts = 1;

  int size() const noexcept { return static_cast<int>(all.size()); }
  int index_here() const noexcept;   ///< The index of this rank in `here`.
  std::string name(int rank) const;  ///< "rank 3 (host n4)"
  std::string names(const std::vector<int>& ranks) const;
};

/// Collective. Errc::invalid: a rank has another version of the package; the text names both.
Result<Members> meet(Exchange& exchange);

}  // namespace sumac::python
