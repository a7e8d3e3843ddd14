#pragma once
// `sharp_cmd reserve` and `sharp_cmd release`: OSTs that are kept for a user's jobs on some hosts, before the jobs begin.
#include <string>
#include <vector>

namespace sumac::tools {

/// Says why the words are none of sharp_cmd's, and returns the exit status.
int wrong_usage(const std::string& why);
/// `words` follow "reserve" or "release". Returns the exit status.
int reserve_command(const std::vector<std::string>& words, std::string manager);
int release_command(const std::vector<std::string>& words, std::string manager);

}  // namespace sumac::tools
