#pragma once
// This header belongs to src/proto alone: the state that a node's groups share.
#include <algorithm>
#include <cstring>
#include <deque>

#include "proto/id_pool.hpp"
#include "proto/job_table.hpp"
#include "proto/link_table.hpp"
#include "proto/node_types.hpp"
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
  std::size_t stream_bytes = 0;  ///< The part of stats.window_bytes that streaming windows use.
  LinkTable links;
  /// Memory of a group that ended before its members had taken all results. It stays reserved until they have, or until
  /// their links are gone.
  struct Leftover {
    JobId job_id{};
    std::size_t window_bytes = 0, stream_bytes = 0;
    struct Unread {
      LinkId link{};
      std::size_t allowed = 0;
    };
    std::vector<Unread> unread;
  };
  std::vector<Leftover> leftovers;
  Time reap_at = kNever;
  std::deque<GroupView> finished;  ///< The last kFinishedKept groups that are over, as they were at their end.
  LinkId parent{};
  std::string parent_name, parent_address;
  bool parent_lost = false;  ///< The parent is gone; until the shell brings the next one, nothing is sent up.
  wire::LostNode lost{};     ///< The name of the node whose link is being given up.
  Time due = kNever;  ///< tick() has nothing to do before; never later than `reap_at` and the next job that is over.
  BufferPool copies{static_cast<std::size_t>(-1) / 2};  ///< Buffers for accumulators whose frame has another holder.

  std::string own_name() const { return config.name.empty() ? fmt::format("id-{}", config.node_id) : config.name; }

  /// Writes a node that is gone into the record that its members receive.
  void note_lost(std::string_view name, std::string_view host, Duration silence, bool is_parent) {
    lost = {};
    wire::put_name(lost.name, name.empty() ? "unknown" : name);
    wire::put_name(lost.host, host);
    wire::put_name(lost.noticed_by, own_name());
    lost.silent_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<Millis>(silence).count());
    lost.is_parent = is_parent;
  }

  void note_stop() {
    lost = {};
    wire::put_name(lost.name, own_name());
  }

  bool take_stream() noexcept {
    if (stats.streams_held >= config.limits.streams) {
      ++stats.streams_denied;
      return false;
    }
    ++stats.streams_held;
    return true;
  }

  void allow(Link& link, std::size_t more, std::size_t less = 0) {
    link.allowed += more;
    link.allowed -= std::min(less, link.allowed);
    outbox.allow(link.id, link.allowed);
  }

  void release(JobId job_id, std::size_t window, std::size_t stream) noexcept {
    stats.window_bytes -= window;
    stream_bytes -= stream;
    if (Job* job = jobs.find(job_id); job != nullptr) job->stream_bytes -= stream;
  }

  /// Frees leftovers that the members have taken.
  void reap() {
    std::erase_if(leftovers, [&](Leftover& left) {
      std::erase_if(left.unread, [&](const Leftover::Unread& one) {
        Link* link = links.find(one.link);
        if (link != nullptr && outbox.held(one.link) != 0) return false;
        if (link != nullptr) allow(*link, 0, one.allowed);
        return true;
      });
      if (!left.unread.empty()) return false;
      release(left.job_id, left.window_bytes, left.stream_bytes);
      if (Job* job = jobs.find(left.job_id); job != nullptr) --job->groups_here;
      return true;
    });
    if (leftovers.empty()) reap_at = kNever;
  }

  /// The sent message must be repeated by timer.
  void expect_answer(Time now) noexcept { due = std::min(due, resend_time(now, config.limits.resend_after)); }

  wire::AggHeader header(wire::AggKind kind, GroupId group_id = {}) const noexcept {
    wire::AggHeader h;
    h.kind = kind;
    h.tree_id = config.tree_id;
    h.group_id = group_id;
    return h;
  }

  template <class Body>
  void control(LinkId to, wire::AggHeader h, const Body& body) {
    h.payload_bytes = sizeof(Body);
    std::byte bytes[sizeof(Body)];
    wire::store(bytes, body);
    outbox.send_control(to, h, {bytes, sizeof bytes});
  }

  wire::RefusedBody refusal(JobId job_id, std::uint64_t token, wire::RefuseReason reason, wire::AggKind what,
                            std::uint32_t limit, std::uint32_t asked) const noexcept {
    wire::RefusedBody body;
    body.job_id = job_id;
    body.token = token;
    body.reason = reason;
    body.node_id = config.node_id;
    body.limit = limit;
    body.asked = asked;
    body.what = what;
    return body;
  }
  void refuse(LinkId to, const wire::RefusedBody& why) { control(to, header(wire::AggKind::refused), why); }

  /// Returns false when nothing more will be multicast for this group.
  bool multicast(const wire::InvitedBody& to, const wire::AggHeader& h, const BufferSlice& slice) {
    if (Multicast* all = outbox.multicast(); all == nullptr || !all->send(to, h, slice.bytes())) return false;
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
