// The streaming lock of a communicator: taken when the communicator is made, if asked for; and the log line if there is
// none.
#include <algorithm>
#include <utility>

#include "client/comm.hpp"

namespace sumac::client {

Outcome<> Comm::take_stream_locks() {
  using Phase = proto::ClientGroup::Phase;
  using proto::StreamLock;
  const auto failed = [&](int status, std::string_view why) {
    return failure(status, "Failed to lock SAT tree(ID:0x{:x} ret:0x{:x}): {}",
                   channels_.front().group.config().tree_id, -status, why);
  };
  {
    auto guard = context_.lock();
    for (auto& channel : channels_) {
      if (context_.job().granted.quota.stream_window == 0)
        return failed(SHARP_COLL_ELOCK_DENIED, "no streaming was granted to this job; see sharp_am's log");
      if (channel.group.shape().stream_window == 0)
        return failed(
            SHARP_COLL_ELOCK_DENIED,
            "no node memory is left for its window; destroy a communicator, or raise SUMAC_NODE_MEMORY of sharp_an");
      channel.group.on_tree().ask_for_lock(monotonic_now());
    }
  }
  const auto settled = [&] {
    return std::ranges::all_of(channels_, [](const auto& channel) {
      return channel.group.phase() != Phase::standing || channel.group.on_tree().stream_lock() != StreamLock::asked;
    });
  };
  const bool answered = context_.wait_until(settled, Patience(context_.config().job_create_timeout));
  auto guard = context_.lock();
  for (const auto& channel : channels_) {
    if (!answered || channel.group.phase() != Phase::standing) return failed(SHARP_COLL_ELOCK_FAILED, "no answer");
    if (channel.group.on_tree().stream_lock() == StreamLock::denied)
      return failed(SHARP_COLL_ELOCK_FAILED,
                    "other communicators hold it; destroy one, set SHARP_COLL_SAT_LOCK_BATCH_SIZE=1 for all, or raise "
                    "SUMAC_NODE_STREAMS of sharp_an");
  }
  return {};
}

void Comm::tell_of_lock() {
  if (std::exchange(has_told_of_lock_, true) || rank_ != 0) return;
  SUMAC_WARN(context_.log(),
             "Streaming Tree lock failed: other communicators hold it, so large operations go in small fragments; set "
             "SHARP_COLL_SAT_LOCK_BATCH_SIZE=1 for all, or raise SUMAC_NODE_STREAMS of sharp_an");
}

}  // namespace sumac::client
