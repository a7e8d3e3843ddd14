#pragma once
// The figures of all daemons as a table of plain text.
#include <string>
#include <vector>

#include "tools/top/page.hpp"

namespace sumac::tools::top {

struct Daemon {
  std::string endpoint;
  std::string why;      ///< The reason why the last scrape failed; empty: it succeeded.
  Samples before, now;  ///< The last two pages; `before` is empty until there are two.
  double seconds = 0;   ///< The time between them.
};

std::string view(const std::vector<Daemon>& daemons);

}  // namespace sumac::tools::top
