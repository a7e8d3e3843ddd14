#pragma once
// Converts the records of wire/quota.hpp and hop_totals.hpp, and keys, to and from the messages between the daemons, which
// have the same fields.
#include <vector>

#include "base/result.hpp"
#include "base/secret.hpp"
#include "control/control.pb.h"
#include "control/hop_totals.hpp"
#include "wire/quota.hpp"

namespace sumac::control {

wire::Quota quota_of(const v1::Quota& message);
v1::Quota quota_message(const wire::Quota& quota);

using RangeMessages = google::protobuf::RepeatedPtrField<v1::NumberRange>;
std::vector<wire::NumberRange> ranges_of(const RangeMessages& messages);
void add_ranges(RangeMessages& to, const std::vector<wire::NumberRange>& ranges);

HopTotals hop_totals_of(const v1::HopTotals& message);
void set_hop_totals(v1::HopTotals& to, const HopTotals& totals);

/// Returns the key that a message carries. Errc::unsupported: it has another length.
Result<Secret> key_of(const std::string& bytes);

}  // namespace sumac::control
