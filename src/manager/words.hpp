#pragma once
// Translates between the messages of control.proto and the records of the manager's machines. Nothing else in the manager
// but the gRPC service knows those messages.
#include <optional>

#include "control/control.pb.h"
#include "manager/records.hpp"

namespace sumac::manager {

/// Nothing: a message of a kind that this manager does not know.
std::optional<FromNode> read(const control::v1::NodeUp& message);
std::optional<FromHost> read(const control::v1::HostUp& message);
control::v1::NodeDown written(const SendToNode& to);
control::v1::HostDown written(const SendToHost& to);

}  // namespace sumac::manager
