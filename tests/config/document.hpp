#pragma once
#include <string>

namespace sumac::tests {

/// Returns the intended content of docs/config.md, made from the option tables, so that it cannot be out of date.
std::string config_markdown();

}  // namespace sumac::tests
