#pragma once
// What `sumac lab exec|mpirun|status|down` say to a lab, from the machine or from inside one of its places.
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/channel.hpp"

namespace sumac::lab {

/// Inside a place: its lab. Outside: the lab of that name, or the only one that is up.
Result<UniqueFd> connect_lab(const std::optional<std::string>& name);

/// The status as JSON.
Result<std::string> ask_status(const std::optional<std::string>& name);

/// Returns when everything of the lab is gone.
Result<> take_down(const std::optional<std::string>& name);

/// Runs a command in a place with this process's standard input, output and error, passes signals on, and returns its exit
/// status (128 + number for a signal; 126 and 127 with a line on stderr if it could not be started).
Result<int> run_in_place(const std::optional<std::string>& name, const std::string& place, const Command& command);

/// Is `NAME=VALUE` one of those that stay here: a token, password or key by its name?
bool looks_secret(std::string_view variable);

/// This process's environment (but for secrets) and directory, as a program in the lab should have it.
Command command_from_here(std::vector<std::string> arguments);

}  // namespace sumac::lab
