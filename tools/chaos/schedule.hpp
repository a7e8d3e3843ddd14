#pragma once
// Which faults a lab gets, and when: a pure function of a seed, so that a run can be repeated.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace sumac::tools::chaos {

enum class Kind : std::uint8_t { node_killed, node_stopped, sharpd_killed, manager_killed, link_cut, link_loses };
inline constexpr std::array kKinds{Kind::node_killed,    Kind::node_stopped, Kind::sharpd_killed,
                                   Kind::manager_killed, Kind::link_cut,     Kind::link_loses};
const char* to_text(Kind kind);

/// These can be disturbed; they have the names of the lab.
struct Targets {
  std::vector<std::string> nodes, hosts;  ///< Hosts have a sharpd.
  std::vector<std::pair<std::string, std::string>> links;
};

struct Step {
  Duration at{};
  Kind kind{};
  bool is_fault = true;            ///< False: it undoes one.
  std::vector<std::string> words;  ///< They stand behind `sumac lab`, such as "daemon an-leaf1 kill".
};

/// Steps in the order of time. Faults begin before `end`; each is undone, by a later step. Nothing is disturbed twice at
/// a time.
std::vector<Step> schedule(std::uint64_t seed, const Targets& targets, Duration end);

}  // namespace sumac::tools::chaos
