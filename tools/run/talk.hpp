#pragma once
// A program talks with the `sumac run-host` or `sumac run-manager` that it has started over their standard input and
// output:
//   in   "KEY VALUE" lines, a value of several lines under its key repeatedly, then "go"
//   out  the same, then "up", or "failed REASON"
// The end of the standard input, or any word more, ends the command, whatever else happens.
#include <map>
#include <string>

#include "base/result.hpp"
#include "tools/run/pki.hpp"

namespace sumac::tools {

using Settings = std::map<std::string, std::string>;

/// "" for a key that is not there.
std::string get(const Settings& settings, const std::string& key);

class Talk {
 public:
  /// Reads up to the next "go". Errc::interrupted: the caller is gone, or `interrupt_fd` became readable.
  Result<Settings> read(int interrupt_fd);

 private:
  std::string text_;  ///< Read and not yet taken.
};

/// Returns false if nobody reads any more.
bool say(const std::string& line);
/// Says a value of several lines.
bool say(const std::string& key, const std::string& value);
/// The same as text, and the settings in such a text.
std::string lines_of(const std::string& key, const std::string& value);
Result<Settings> settings_in(const std::string& text);

/// Returns the values whose keys begin with `prefix` and name a file behind it, each with a newline at its end.
TlsTexts files_under(const Settings& settings, std::string_view prefix);

}  // namespace sumac::tools
