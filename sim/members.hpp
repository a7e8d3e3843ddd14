#pragma once
// Inside sim only: groups in the making and in use, as the world keeps them.
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
  std::uint32_t group_id = 0;
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
  bool leaving = false;
  std::vector<Posted> buffers;  ///< [operation]
  std::vector<Errc> status;     ///< [operation that is over]
  Fate fate = Fate::running;
  std::optional<proto::Verdict> verdict;
  std::optional<wire::RefusedBody> refusal;
};

/// Where somebody of the group speaks an older version there are no reproducible sums, and all members have heard so.
inline OpPlan planned(const Member& member, std::uint32_t index) {
  OpPlan op = member.session->plan->ops[index];
  op.reproducible = op.reproducible && member.group->shape().reproducible;
  return op;
}

struct Client : proto::Outbox {
  explicit Client(Network& n, EndId e) : network(n), end(e) {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override {
    last_sent = header;
    network.send(end, to, header, data.bytes);
  }
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
    network.send(end, to, header, body, surely);
  }
  void drop(proto::LinkId, const Error& why) override { dropped = why.context; }

  Network& network;
  EndId end;
  std::uint32_t world_rank = 0, node = 0;
  proto::LinkId link{};
  std::unique_ptr<proto::ClientLink> engine;
  std::vector<Member*> members;  ///< Not yet finished.
  bool dead = false;
  bool surely = false;  ///< Its control messages are not lost: it is there to be noticed.
  std::string dropped;  ///< The client itself found its node wanting.
  std::uint64_t tokens = 0;
  wire::AggHeader last_sent{};
};

struct NodeBox : proto::Outbox {
  NodeBox(Network& n, EndId e) : network(n), end(e) {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override {
    network.send(end, to, header, data.bytes);
  }
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
    network.send(end, to, header, body);
  }
  void drop(proto::LinkId link, const Error& why) override { drops.push_back({link, why.context}); }

  Network& network;
  EndId end;
  std::unique_ptr<proto::Node> engine;
  proto::LinkId parent{};
  std::vector<std::pair<proto::LinkId, std::string>> drops;  ///< To be acted on once the engine has returned.
};

}  // namespace sumac::sim
