#pragma once
// The two roles in the bare tree. A host sends and waits for the echo; a node answers its children when all have sent,
// after its parent has answered it. After each case the hosts' durations travel up, added up by the nodes, and the root
// prints them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/bare/link.hpp"

namespace sumac::bare {

struct Case {
  std::string name;
  std::size_t bytes = 0;  ///< The bytes of one operation, per host.
  std::size_t chunk = 0;  ///< The payload of one message; the last one is padded to it.
  std::uint64_t chunks = 1;
  std::uint64_t window = 1;  ///< The messages in flight per host.
  int iterations = 0, warmup = 0;

  int total() const { return iterations + warmup; }
  std::uint64_t messages() const { return chunks * static_cast<std::uint64_t>(total()); }
};

struct Plan {
  std::vector<Case> cases;
  bool spin = false;
};

Result<> run_host(Link parent, const Plan& plan);
/// If `parent` is empty this is the root, which prints one JSON line per case.
Result<> run_node(std::vector<Link> children, std::optional<Link> parent, const Plan& plan);

}  // namespace sumac::bare
