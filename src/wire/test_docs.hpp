#pragma once
#include <string>

namespace sumac::wire {

/// Returns the page of all bytes, wire.md, made from the layout rows (`make site` writes it).
std::string wire_markdown();

}  // namespace sumac::wire
