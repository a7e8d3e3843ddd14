#pragma once
// Reads a page in Prometheus' text form, as our daemons serve it. The page comes over a network: whatever is wrong in it
// is skipped, and no control character of it reaches a terminal.
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sumac::tools::top {

struct Sample {
  std::map<std::string, std::string, std::less<>> labels;  ///< In printable ASCII; other bytes are '?'.
  double value = 0;

  std::string label(std::string_view name) const {
    const auto found = labels.find(name);
    return found == labels.end() ? std::string() : found->second;
  }
};
using Samples = std::map<std::string, std::vector<Sample>, std::less<>>;  ///< Keyed by the metric's name.

Samples parse(std::string_view text);

/// Returns the sum of a metric's values whose label `tree` is this one; of all values if `tree` is empty.
double sum(const Samples& page, std::string_view name, std::string_view tree = {});

/// Returns the upper bound in seconds of the bucket where this share of a histogram lies, counting only what `now` has
/// more than `before`; 0 if that is nothing. The bound of +Inf is infinite.
double quantile(const Samples& before, const Samples& now, std::string_view histogram, std::string_view tree,
                double share);

}  // namespace sumac::tools::top
