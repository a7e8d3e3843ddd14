#pragma once
// The manager as a function from events to actions: no socket, no clock, no thread. The service turns gRPC into events and
// actions into messages.
//
// A node's stream carries everything in order, and the node acknowledges what holds at its data path: a grant is in force when
// every node has acknowledged it. What an ended job held counts as free here at once; a node whose groups of that job still
// have members acknowledges the next grant only when they have left, so nothing is held twice anywhere.
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "control/control.pb.h"
#include "manager/quota.hpp"
#include "topo/fabric.hpp"
#include "topo/tree.hpp"

namespace sumac::manager {

using StreamId = std::uint64_t;  ///< One gRPC stream, never used again.

/// Low-level status of a refused job, as clients print it: "Job error(-35)".
inline constexpr std::uint32_t kStatusJobError = 35;

struct ToNode {
  StreamId stream = 0;
  control::v1::NodeDown message;
};
struct ToJob {
  StreamId stream = 0;
  control::v1::JobDown message;
  bool last = false;  ///< The stream ends behind it.
};
/// Ends a stream that is not entitled to go on.
struct Refuse {
  StreamId stream = 0;
  Error why;
};
struct Say {
  LogLevel level = LogLevel::info;
  std::string category;
  std::string text;
};
using Action = std::variant<ToNode, ToJob, Refuse, Say>;
using Actions = std::vector<Action>;

struct CoreRules {
  QuotaRules quota;
  Duration grant_timeout = Seconds(5);  ///< A node that has not acknowledged a grant by then fails the job's begin.
};

class Core {
 public:
  /// The fabric must have been validated and its tree built by topo::build_tree().
  Core(const topo::Fabric& fabric, const topo::AggregationTree& tree, CoreRules rules);

  Actions node_registers(StreamId stream, const control::v1::Register& who, Time now);
  Actions node_acks(StreamId stream, std::uint64_t sequence, Time now);
  Actions node_defers(StreamId stream, const control::v1::Deferred& deferred);
  Actions node_link(StreamId stream, const control::v1::Link& link, Time now);
  Actions node_stream_ended(StreamId stream, Time now);

  Actions job_begins(StreamId stream, const control::v1::JobBegin& wish, Time now);
  Actions job_ends(StreamId stream, Time now);
  /// Without job_ends() before it: whoever held the job is gone.
  Actions job_stream_ended(StreamId stream, Time now);

  Actions tick(Time now);
  Time next_deadline() const;

  /// For people and programs: nodes, jobs, what is free.
  std::string status_json(Time now) const;

 private:
  struct Node {
    std::string name;
    std::int32_t parent = -1;
    StreamId stream = 0;  ///< 0: not registered.
    control::v1::Register who;
    std::uint64_t sent = 0;
    bool link_up = false;
    std::string link_why;
  };
  struct Job {
    std::uint64_t id = 0;
    std::uint32_t number = 0;  ///< Ours, short: job_id_sharp of the log.
    StreamId stream = 0;
    std::string holder;
    Allocation grant;
    std::vector<std::uint32_t> leaves;    ///< Index of the leaf node of each host.
    std::uint32_t tree_id = 0;            ///< When it began: of a former tree if it is not the present one.
    std::vector<std::uint64_t> wait_for;  ///< Per node: the sequence that carries the grant; 0: acknowledged.
    std::string deferred;                 ///< Why a node could not acknowledge yet.
    bool granted = false;
    Time begun{}, deadline{};
  };

  static std::uint32_t id_of(std::size_t index) { return static_cast<std::uint32_t>(index + 1); }
  Node* registered(StreamId stream);
  void send(Actions& out, Node& node, control::v1::NodeDown message);
  void send_parent(Actions& out, Node& child);
  void note_root(Actions& out, const Node& root);
  void refuse_job(Actions& out, StreamId stream, std::uint64_t job_id, const std::string& text);
  void revoke(Actions& out, const Job& job, const std::string& why);
  void finish_ready(Actions& out, Time now);
  Result<Job> admit(const control::v1::JobBegin& wish) const;
  std::string missing_for(const Job& job) const;
  control::v1::JobGranted granted_message(const Job& job) const;
  Capacity capacity() const;
  Usage usage() const;

  CoreRules rules_;
  std::vector<Node> nodes_;
  std::uint32_t root_ = 0;
  /// The life of the root's process: group ids come from there. 0: no root has ever registered.
  std::uint32_t tree_id_ = 0;
  std::unordered_map<std::string, std::uint32_t> leaf_of_host_;
  std::unordered_map<std::string, std::size_t> node_by_name_;
  std::map<std::uint64_t, Job> jobs_;  ///< By job id.
  std::uint32_t last_number_ = 0;
};

}  // namespace sumac::manager
