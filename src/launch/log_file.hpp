#pragma once
// Reads what a child has written into its log.
#include <cstddef>
#include <string>
#include <vector>

namespace sumac::launch {

/// Returns the last lines that are not empty, oldest first, or fewer if there are fewer.
std::vector<std::string> last_lines(const std::string& log, std::size_t count);

/// Returns "its last words: LINE", or "it said nothing".
std::string last_words(const std::string& log);

/// Returns the whole file; empty if there is none.
std::string whole_log(const std::string& log);

/// Returns "status 3" or "signal 11 (Segmentation fault)" for a status as waitpid() gives it.
std::string describe_exit(int wait_status);

}  // namespace sumac::launch
