#include "control/quota.hpp"

#include <algorithm>

namespace sumac::control {

wire::Quota quota_of(const v1::Quota& message) {
  return {.osts = message.osts(),
          .payload_per_ost = message.payload_per_ost(),
          .max_groups = message.max_groups(),
          .max_qps = message.max_qps(),
          .max_group_channels = message.max_group_channels(),
          .num_trees = message.num_trees(),
          .stream_window = message.stream_window(),
          .chunk_bytes = message.chunk_bytes(),
          .features = message.features()};
}

v1::Quota quota_message(const wire::Quota& quota) {
  v1::Quota message;
  message.set_osts(quota.osts);
  message.set_payload_per_ost(quota.payload_per_ost);
  message.set_max_groups(quota.max_groups);
  message.set_max_qps(quota.max_qps);
  message.set_max_group_channels(quota.max_group_channels);
  message.set_num_trees(quota.num_trees);
  message.set_stream_window(quota.stream_window);
  message.set_chunk_bytes(quota.chunk_bytes);
  message.set_features(quota.features);
  return message;
}

std::vector<wire::NumberRange> ranges_of(const RangeMessages& messages) {
  std::vector<wire::NumberRange> ranges;
  for (const auto& message : messages) ranges.push_back({message.first(), message.count()});
  return ranges;
}

void add_ranges(RangeMessages& to, const std::vector<wire::NumberRange>& ranges) {
  for (const auto& range : ranges) {
    auto* message = to.Add();
    message->set_first(range.first);
    message->set_count(range.count);
  }
}

HopTotals hop_totals_of(const v1::HopTotals& message) {
  return {message.frames(),    message.folds(),   message.repeats(), message.sent(),
          message.strangers(), message.expired(), message.runs(),    message.run_ns()};
}

void set_hop_totals(v1::HopTotals& to, const HopTotals& totals) {
  to.set_frames(totals.frames);
  to.set_folds(totals.folds);
  to.set_repeats(totals.repeats);
  to.set_sent(totals.sent);
  to.set_strangers(totals.strangers);
  to.set_expired(totals.expired);
  to.set_runs(totals.runs);
  to.set_run_ns(totals.run_ns);
}

Result<Secret> key_of(const std::string& bytes) {
  Secret key{};
  if (bytes.size() != key.size())
    return fail(Errc::unsupported, "a key of {} bytes came: install the same version everywhere", bytes.size());
  std::ranges::copy(bytes, key.begin());
  return key;
}

}  // namespace sumac::control
