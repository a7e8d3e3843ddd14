#pragma once
#include <string>

namespace sumac::tests {

/// Returns the page of all options, config.md, made from the option tables.
std::string config_markdown();

/// Returns the page of types and operations, types.md, made from legal().
std::string types_markdown();

/// Returns the page of all metrics, metrics-list.md, made from the pages that the daemons serve.
std::string metrics_markdown();

}  // namespace sumac::tests
