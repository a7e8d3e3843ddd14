#pragma once
#include <string>

namespace sumac::wire {

/// Returns the intended content of docs/wire.md, made from the layout rows, so that it cannot be out of date.
std::string wire_markdown();

}  // namespace sumac::wire
