#pragma once
// Finds the program of a shell script: the last simple command, as `exec ./program "$@"` in the scripts that people put
// between a launcher and their program. It reads words and quotes, and follows no variable but the script's own
// arguments: what needs a shell to know is said to be unreadable. Pure.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/run/launcher_words.hpp"

namespace sumac::tools {

struct ScriptCommand {
  std::vector<std::string> words;
  std::vector<Setting> settings;  ///< NAME=VALUE before the command.
  bool operator==(const ScriptCommand&) const = default;
};

inline constexpr std::size_t kScriptBytesMax = 1 << 20;

/// `arguments` are those of the script: they stand for "$@". Errc::unsupported says why the command can't be read.
Result<ScriptCommand> last_command(std::string_view script, std::span<const std::string> arguments);

}  // namespace sumac::tools
