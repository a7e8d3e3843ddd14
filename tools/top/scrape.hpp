#pragma once
#include <string>

#include "base/result.hpp"

namespace sumac::tools::top {

struct Access {
  std::string token;  ///< The text of the token; empty: none is sent.
  std::string ca;     ///< The file of the authority for https://; empty: the system's.
};

/// Returns the page at HOST:PORT, https://HOST:PORT or unix:PATH, or the reason why there is none.
Result<std::string> scrape(const std::string& endpoint, const Access& access);

}  // namespace sumac::tools::top
