#pragma once
// The metrics of a sharpd. The page metrics-list.md is made from them.
#include <string_view>

#include "hostd/server.hpp"
#include "metrics/page.hpp"

namespace sumac::hostd {

metrics::Page metrics_page(std::string_view host, const ServerNumbers& numbers);

}  // namespace sumac::hostd
