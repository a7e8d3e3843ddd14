#pragma once
// The ranks of a team, some of which share this one's host.
#include <algorithm>
#include <string>
#include <vector>

namespace sumac::p2p {

struct Ranks {
  int rank = 0;
  std::vector<int> here;           ///< The ranks on this rank's host, ascending.
  std::vector<std::string> names;  ///< Errors name ranks so: "rank 3 (host n4)".

  bool is_here(int which) const noexcept { return std::binary_search(here.begin(), here.end(), which); }
  int size() const noexcept { return static_cast<int>(names.size()); }
  const std::string& name(int which) const { return names[static_cast<std::size_t>(which)]; }
};

}  // namespace sumac::p2p
