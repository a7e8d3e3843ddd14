#pragma once
// Replaces a file as a whole: its reader finds the former text or the new one. Root may do so in a directory that other
// users can write: nothing is written through a link, and a file of another user stays untouched.
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac {

/// Returns Errc::denied if `path` names anything but a plain file of our user. Meanwhile `path`.new exists.
[[nodiscard]] Result<> replace_file(const std::string& path, std::string_view text, unsigned mode);

}  // namespace sumac
