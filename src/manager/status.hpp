#pragma once
// The facts as JSON, for `sumac status` and people.
#include <cstdint>
#include <string>

#include "manager/facts.hpp"
#include "page/viewer.hpp"

namespace sumac::manager {

/// `heard` counts the messages so far, without renewals.
std::string status_json(const Facts& facts, Time now, std::uint64_t heard = 0, const page::Viewer& viewer = {});

}  // namespace sumac::manager
