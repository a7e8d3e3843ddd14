#pragma once
// Inside this folder only: what a node's groups share.
#include <algorithm>
#include <cstring>
#include <deque>

#include "proto/id_pool.hpp"
#include "proto/job_table.hpp"
#include "proto/link_table.hpp"
#include "proto/node.hpp"
#include "proto/resend.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

inline constexpr std::size_t kFinishedKept = 16;

struct NodeContext {
  NodeContext(const NodeConfig& c, Outbox& o)
      : config(c), outbox(o), jobs(c.limits), ids(c.root ? c.limits.groups : 0) {}

  NodeConfig config;
  Outbox& outbox;
  NodeStats stats{};
  JobTable jobs;
  IdPool ids;
  std::size_t stream_bytes = 0;  ///< Of stats.window_bytes, for streaming windows.
  LinkTable links;
  std::deque<GroupView> finished;  ///< The last kFinishedKept groups that are over, as they were then.
  LinkId parent{};
  std::uint16_t parent_version = 0;  ///< Of the wire: the highest that both speak.
  bool parent_lost = false;          ///< There was one; until the shell brings the next, nothing goes up.
  Time due = kNever;                 ///< Nothing has to be repeated before.
  BufferPool copies{static_cast<std::size_t>(-1) / 2};  ///< For accumulators whose frame somebody else holds as well.

  bool take_stream() noexcept {
    if (stats.streams_held >= config.limits.streams) {
      ++stats.streams_denied;
      return false;
    }
    ++stats.streams_held;
    return true;
  }

  /// Something was sent that is to be repeated.
  void expect_answer(Time now) noexcept { due = std::min(due, resend_time(now, config.limits.resend_after)); }

  wire::AggHeader header(wire::AggKind kind, std::uint32_t group_id, std::uint32_t epoch) const noexcept {
    wire::AggHeader h;
    h.kind = kind;
    h.tree_id = config.tree_id;
    h.group_id = group_id;
    h.epoch = epoch;
    h.version = wire::version_of(h);
    return h;
  }

  template <class Body>
  void control(LinkId to, wire::AggHeader h, const Body& body) {
    h.payload_bytes = sizeof(Body);
    std::byte bytes[sizeof(Body)];
    wire::store(bytes, body);
    outbox.send_control(to, h, {bytes, sizeof bytes});
  }

  /// False: there will be no more for this group.
  bool multicast(const wire::InvitedBody& to, const wire::AggHeader& h, const BufferSlice& slice) {
    if (!outbox.multicast(to, h, slice.bytes())) return false;
    ++stats.multicasts;
    stats.multicast_bytes += h.payload_bytes;
    return true;
  }

  void data(LinkId to, const wire::AggHeader& h, const BufferSlice& slice) {
    ++stats.messages_out;
    stats.bytes_out += h.payload_bytes;
    outbox.send(to, h, Payload{slice.bytes(), slice.buffer()});
  }
};

}  // namespace sumac::proto
