#pragma once
// The messages between the manager and the daemons, as plain records for the manager's machines. They have the meaning of the
// messages of the same names in src/control/control.proto, which explains each field; words.hpp translates. Trees are indices in
// the fabric here and there.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "control/hop_totals.hpp"
#include "manager/journal.hpp"
#include "topo/job_numbers.hpp"
#include "wire/quota.hpp"

namespace sumac::manager {

using StreamId = std::uint64_t;  ///< Identifies one gRPC stream; never used again.

// ---- from nodes
struct Listening {
  std::uint32_t tree = 0;
  std::string address, why;
  std::vector<wire::NumberRange> held;
};
struct NodeRegister {
  std::uint32_t version = 0;
  std::string name;
  std::vector<Listening> trees;
  std::uint32_t osts = 0, groups = 0, payload_max = 0, pid = 0;
  std::uint64_t life = 0;
  std::string release;
};
struct Ack {
  std::uint64_t sequence = 0;
};
struct Deferred {
  std::uint64_t sequence = 0;
  std::string why;
};
struct Link {
  std::uint32_t tree = 0;
  bool up = false;
  std::string why;
};
struct Neighbour {
  enum class State : std::uint8_t { heard, silent, lost };
  std::uint32_t tree = 0;
  NodeId node{};
  State state = State::heard;
  std::uint32_t silent_ms = 0;
};
struct Inspectable {
  std::string address;
};
struct HopReport {
  std::uint32_t tree = 0;
  control::HopTotals totals;
};
using FromNode = std::variant<NodeRegister, Ack, Deferred, Link, Neighbour, Listening, Inspectable, HopReport>;

// ---- from sharpds
struct HeldJob {
  std::uint64_t ticket = 0;
  JobId job_id{};
  bool granted = false;
};
struct HostRegister {
  std::uint32_t version = 0;
  std::string host;
  std::uint64_t life = 0;
  std::uint32_t pid = 0;
  std::string release;
  std::vector<HeldJob> jobs;
};
struct JobBegin {
  std::uint64_t ticket = 0;
  JobId job_id{};
  std::uint32_t world_size = 0;
  std::vector<std::string> hosts;
  wire::Quota quota;
  std::string holder;
  std::uint32_t uid = 0;
  std::string devices;
  bool outlives_trees = false;
  std::uint32_t queue_seconds = 0;
};
struct JobEnd {
  std::uint64_t ticket = 0;
  JobId job_id{};
  std::string why;
};
struct Renew {
  std::vector<std::uint64_t> tickets;
};
struct RankDied {
  JobId job_id{};
  std::uint32_t world_rank = 0, uid = 0;
  std::optional<Secret> job_key;  ///< None if the message carried no key of the right length.
  std::string who;
};
struct JobDaemonsAsked {
  JobId job_id{};
  std::optional<Secret> job_key;
};
struct TreesWanted {
  JobId job_id{};
  std::optional<Secret> job_key;
  std::uint32_t times_again = 0;
};
using FromHost =
    std::variant<HostRegister, JobBegin, JobEnd, Renew, RankDied, Inspectable, JobDaemonsAsked, TreesWanted>;

// ---- to nodes
struct Grant {
  std::uint32_t tree = 0;
  JobId job_id{};
  wire::Quota quota;
  Secret job_key{};
  std::uint32_t uid = 0;
  std::vector<wire::NumberRange> numbers;
  std::vector<NodeId> below;
  bool ranks_here = false;
  std::uint32_t links_percent = 0;
};
struct NodeTree {
  std::uint32_t tree = 0;
  TreeId tree_id{};
  bool is_root = false, over = false;
  std::vector<Grant> grants;
};
struct Registered {
  NodeId node_id{};
  std::vector<NodeTree> trees;
  std::uint32_t away_ms = 0, hop_totals_ms = 0;
  Secret node_key{};
};
struct Parent {
  std::uint32_t tree = 0;
  NodeId node_id{};
  std::string name, address;
  Secret key{};
};
struct Revoke {
  std::uint32_t tree = 0;
  JobId job_id{};
  std::string why;
};
/// The message RankDied to a node.
struct RankDeath {
  std::uint32_t tree = 0;
  JobId job_id{};
  std::uint32_t world_rank = 0;
  std::string host;
};
using ForNode = std::variant<Registered, Parent, Grant, Revoke, NodeTree, RankDeath>;

// ---- to sharpds
struct HostRegistered {
  std::uint32_t lease_ms = 0, renew_ms = 0;
  std::vector<std::uint64_t> gone;
};
/// The message GrantedTree, in terms of the job's share.
struct GrantedTree {
  JobShare share;
  topo::JobTreeNumbers numbers;
  std::vector<std::pair<std::string, std::string>> nodes;  ///< Name and address of each node of the share.
};
struct JobGranted {
  std::uint64_t ticket = 0;
  wire::Quota quota;
  Secret job_key{};
  std::vector<GrantedTree> trees;
  topo::JobHostNumbers hosts;
  std::uint32_t nodes_on_member_hosts = 0;
};
struct JobRefused {
  std::uint32_t status = 0;
  std::string text;
  std::uint64_t ticket = 0;
};
struct JobEnded {
  std::string why;
  std::uint64_t ticket = 0;
};
struct HostPlace {
  bool in_fabric = false;
};
struct JobDaemon {
  const char* role = "";
  std::string name, address;
};
struct JobDaemons {
  JobId job_id{};
  std::vector<JobDaemon> daemons;
};
/// The message RankDied to a sharpd.
struct MemberDeath {
  JobId job_id{};
  std::uint32_t world_rank = 0;
  Secret job_key{};
};
/// A job that has outlived its trees has others.
struct JobTrees {
  JobId job_id{};
  std::uint32_t times_again = 0;
  JobGranted granted;
};
using ForHost =
    std::variant<HostRegistered, JobGranted, JobRefused, JobEnded, HostPlace, JobDaemons, MemberDeath, JobTrees>;

// ---- actions
struct SendToNode {
  StreamId stream = 0;
  std::uint64_t sequence = 0;
  ForNode message;
};
struct SendToHost {
  StreamId stream = 0;
  ForHost message;
};
/// Ends a stream that may not go on.
struct Refuse {
  StreamId stream = 0;
  Error why;
};
struct Say {
  LogLevel level = LogLevel::info;
  std::string category;
  std::string text;
  std::string kind{};  ///< A user can cause these lines at will: one of a kind is written each minute.
};
/// An event for people, who see it on the page.
struct Happened {
  enum class Kind : std::uint8_t {
    job_granted,
    job_refused,
    job_ended,
    job_released,
    rank_died,
    node_registered,
    node_lost,
    link_up,
    link_down,
    tree_lost,
    tree_changed,
    host_registered,
    host_lost,
    fabric_changed,
  };
  Kind kind = Kind::job_granted;
  std::string subject;                   ///< "node an-1", "job 7".
  std::string text;                      ///< Says the fate of the subject: "is down".
  std::optional<std::uint32_t> owner{};  ///< The user of a job: nobody else but operators may see it.
  JobId job{};
};
using Action = std::variant<SendToNode, SendToHost, Refuse, Say, Happened>;

}  // namespace sumac::manager
