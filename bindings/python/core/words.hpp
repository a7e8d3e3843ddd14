#pragma once
// Text of other processes on its way to people: a host's name, the reason of another rank, a line of a program.
#include <string>
#include <string_view>

namespace sumac::python {

/// Returns the text as UTF-8 that neither Python nor a terminal stumbles over: control characters and bytes that are no character
/// become "\x1b", and a text beyond some thousand bytes is cut.
std::string printable(std::string_view text);

}  // namespace sumac::python
