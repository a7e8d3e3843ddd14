#pragma once
// The collectives of a team of one: what it gives is what it gets.
#include <optional>
#include <string>

#include "team/team.h"

namespace sumac::python {

/// Returns how the two sides of the rank's block for itself differ, if they do: then nothing is done.
std::optional<std::string> run_alone(const sumac_call_t& call);

}  // namespace sumac::python
