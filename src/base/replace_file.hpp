#pragma once
// A file that is written anew as a whole: its reader finds the former text or the new one. Root may do so in a directory where others write:
// nothing is written through a link, and what is not ours stays as it is.
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac {

/// Errc::denied: something else than a plain file of our user has that name. `path`.new is used meanwhile.
[[nodiscard]] Result<> replace_file(const std::string& path, std::string_view text, unsigned mode);

}  // namespace sumac
