#pragma once
// A cluster that is only played: a real manager with a page, simulated nodes and sharpds, and jobs that run. For tests
// and pictures of the page.
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace sumac::bench {

struct Play {
  std::size_t hosts = 1000, leaves = 40, spines = 4, jobs = 50, job_hosts = 32, users = 5;
  std::uint32_t trees = 2;
  std::string page = "127.0.0.1:0";
};

/// Prints one line of JSON when all is up: the manager's endpoint. Returns when standard input has ended.
Result<> play_cluster(const std::string& am, const Play& play);

}  // namespace sumac::bench
