#pragma once
#include <string>

namespace sumac::tests {

/// docs/config.md as it should be: written from the option tables, so that it can't be out of date.
std::string config_markdown();

}  // namespace sumac::tests
