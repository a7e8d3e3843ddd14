#pragma once
#include <string>

namespace sumac::wire {

/// docs/wire.md as it should be: written from the layout rows, so that it can't be out of date.
std::string wire_markdown();

}  // namespace sumac::wire
