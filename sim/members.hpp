#pragma once
// This header belongs to sim alone: groups in the making and in use, as the world keeps them.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/client_group.hpp"
#include "proto/client_link.hpp"
#include "sim/network.hpp"
#include "sim/plan.hpp"

namespace sumac::sim {

struct Member;

struct Session {
  const SessionPlan* plan = nullptr;
  std::uint32_t track = 0, index = 0;
  std::uint64_t key = 0;  ///< Seeds the data.
  GroupId group_id{};
  std::uint64_t token = 0;
  std::uint32_t open_tries = 0;
  bool opened_after_revoke = false;
  bool next_scheduled = false;
  bool judged = false;
  bool crosses_lost_link = false;
  std::vector<Member*> members;
  std::vector<std::vector<std::byte>> expected;  ///< [operation], computed when first needed.
  std::uint32_t unfinished = 0;
};

struct Posted {
  std::vector<std::byte> src, dst;  ///< dst is longer by a few bytes that must stay as they are.
  bool in_place = false;
};

struct Member {
  enum class Fate : std::uint8_t { running, left, refused, lost, dead };
  Session* session = nullptr;
  std::uint32_t id = 0, rank = 0, client = 0;
  std::unique_ptr<proto::ClientGroup> group;
  std::uint32_t posted = 0, completed = 0, depth = 1;
  Time think_until{};
  std::optional<std::uint32_t> differs_at;  ///< The operation at which it posted another one than planned.
  bool asked_to_listen = false;
  bool leaving = false;
  std::vector<Posted> buffers;  ///< [operation]: its buffers.
  std::vector<Errc> status;     ///< [operation that is over]: its result code.
  Fate fate = Fate::running;
  std::optional<proto::Verdict> verdict;
  std::optional<wire::RefusedBody> refusal;
};

/// A node without memory for streaming grants none, and all members know that.
inline OpPlan possible(const Member& member, OpPlan op) {
  op.streaming = op.streaming && member.group->shape().stream_window != 0;
  return op;
}
inline OpPlan planned(const Member& member, std::uint32_t index) {
  return possible(member, member.session->plan->ops[index]);
}

inline wire::Nonce draw_nonce(Random& random) {
  wire::Nonce drawn;
  for (auto& byte : drawn) byte = static_cast<std::uint8_t>(random.below(256));
  return drawn;
}

struct Client : proto::Outbox {
  explicit Client(Network& n, EndId e) : network(n), end(e) {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override {
    send_held();
    last_sent = header;
    network.send(end, to, header, data.bytes);
  }
  /// Holds back as long as it may: a client that computes sends nothing.
  void send_later(proto::LinkId to, const wire::AggHeader& header, std::uint32_t most) override {
    held.push_back({to, header});
    if (held.size() >= most) send_held();
  }
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
    send_held();
    network.send(end, to, header, body, surely);
  }
  /// Also called where the client waits for messages.
  void send_held() {
    for (const auto& [to, header] : std::exchange(held, {})) {
      last_sent = header;
      network.send(end, to, header, {});
    }
  }
  void send_datagram(proto::LinkId to, std::span<const std::byte> frame) override {
    network.send_frame(end, to, frame);
  }
  void drop(proto::LinkId, const Error& why) override { dropped = why.context; }

  Network& network;
  EndId end;
  WorldRank world_rank{};
  std::uint32_t node = 0;
  proto::LinkId link{};
  std::unique_ptr<proto::ClientLink> engine;
  std::vector<Member*> members;  ///< Members that have not finished.
  bool dead = false;
  bool surely = false;  ///< Its control messages are not lost, since the node must notice them.
  std::string dropped;  ///< The reason why the client itself gave its node up.
  std::uint64_t tokens = 0;
  wire::AggHeader last_sent{};
  std::vector<std::pair<proto::LinkId, wire::AggHeader>> held;
};

inline bool is_listening(const Member* member) { return member->group && member->group->listening(); }

/// Four of five members listen when they are invited.
inline void start_to_listen(Member& member, std::uint64_t seed) {
  if (!std::exchange(member.asked_to_listen, true) && member.group->invitation())
    member.group->listen((member.id * 7 + seed) % 5 != 0);
}

/// A datagram reaches all groups of a client: here no keys separate them.
inline void hear(Client& client, const BufferRef& frame, Time now) {
  wire::AggHeader header;
  wire::load(header, frame.data());
  for (Member* member : client.members)
    if (is_listening(member)) (void)member->group->on_multicast(header, frame, now);
}

struct NodeBox : proto::Outbox, proto::Multicast {
  NodeBox(Network& n, EndId e) : network(n), end(e) {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override {
    network.send(end, to, header, data.bytes);
  }
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
    network.send(end, to, header, body);
  }
  void drop(proto::LinkId link, const Error& why) override { drops.push_back({link, why.context}); }
  proto::Multicast* multicast() override { return this; }
  bool invite(GroupId, wire::InvitedBody& to) override {
    to.address = {0xFF, 0x12};
    to.port = 1;
    return listeners != nullptr;
  }
  bool send(const wire::InvitedBody&, const wire::AggHeader& header, std::span<const std::byte> data) override {
    for (const auto& client : *listeners)
      if (!client->dead && std::ranges::any_of(client->members, is_listening))
        network.send_datagram(end, client->end, header, data);
    return true;
  }

  Network& network;
  EndId end;
  std::unique_ptr<proto::Node> engine;
  proto::LinkId parent{};
  /// Clients that get multicasts; null: there are none.
  const std::vector<std::unique_ptr<Client>>* listeners = nullptr;
  std::vector<std::pair<proto::LinkId, std::string>> drops;  ///< Links to close once the engine has returned.
};

}  // namespace sumac::sim
