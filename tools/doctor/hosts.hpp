#pragma once
// Runs the doctor on several hosts at once, each by a launcher as `sumac run` does, and measures their clocks on the
// way.
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/compare.hpp"

namespace sumac::tools::doctor {

struct Ask {
  Strings hosts;
  std::string launcher;
  std::string manager;
  std::string tls_dir;   ///< The directory of certificates on each host; empty: as its environment says.
  Strings fabric_hosts;  ///< Further names that each host should resolve.
  Duration limit{};      ///< For each host. One that has not answered by then is a finding, and holds nobody else up.
};

/// One answer for each host, in their order.
std::vector<HostAnswer> ask_hosts(const Ask& ask);

/// The peers to which host `index` of `hosts` measures the path: all others of a few hosts, some of many.
Strings peers_of(const Strings& hosts, std::size_t index);

}  // namespace sumac::tools::doctor
