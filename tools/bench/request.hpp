#pragma once
// The words of `sumac bench`: its own options, which may stand before and behind the benchmark's name, and the words that
// belong to the benchmark. Pure.
#include <string>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools::bench {

struct Request {
  bool help = false, list = false;
  unsigned ranks = 0;                              ///< 0: not said.
  std::vector<std::string> launcher = {"mpirun"};  ///< --mpirun: the launcher and options of its own.
  std::string lab;                                 ///< --lab: a fabric file.
  std::vector<std::string> run;                    ///< Options that `sumac run` takes: --hosts and its kin, --tree.
  bool hosts_named = false;
  bool compare = false;
  unsigned pairs = 10;
  std::string json, plot;  ///< --json, --plot.
  bool no_plot = false;
  std::vector<std::string> benchmark;  ///< The name, and the benchmark's own options.
  bool operator==(const Request&) const = default;
};

Result<Request> parse_request(const std::vector<std::string>& words);

}  // namespace sumac::tools::bench
