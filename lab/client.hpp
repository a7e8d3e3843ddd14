#pragma once
// The requests that `sumac lab exec|mpirun|status|down` send to a lab, from the machine or from inside one of its
// namespaces.
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/channel.hpp"

namespace sumac::lab {

/// Connects to a lab. Inside a namespace: to its lab. Outside: to the lab of that name, or the only one that is up.
Result<UniqueFd> connect_lab(const std::optional<std::string>& name);

/// Returns the status as JSON.
Result<std::string> ask_status(const std::optional<std::string>& name);

/// Sends a request that is answered by "ok", and returns when it was. "down": everything of the lab is gone then.
/// "link A B up|down|loss P": what becomes of frames between neighbours. "daemon NAME stop|cont|kill|start": the
/// manager, a node, or the sharpd of a host.
Result<> request(const std::optional<std::string>& name, const std::string& text);

/// Runs a command in a namespace with this process's standard input, output and error, passes signals on, and returns
/// its exit status (128 + number for a signal; 126 and 127 with a line on stderr if it could not be started).
Result<int> run_in_place(const std::optional<std::string>& name, const std::string& place, const Command& command);

/// Returns whether `NAME=VALUE` must stay outside the lab, because its name is that of a token, password or key.
bool looks_secret(std::string_view variable);

/// Returns this process's environment (without secrets) and directory, for a program in the lab.
Command command_from_here(std::vector<std::string> arguments);

}  // namespace sumac::lab
