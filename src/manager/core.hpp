#pragma once
// The manager as a function from events to actions: no socket, no clock, no thread. The service turns gRPC into events and
// actions into messages; the journal is written before the action that tells of it is returned.
//
// A node's stream carries everything in order, and the node acknowledges what holds at its data path: a grant is in force when
// every node has acknowledged it. What an ended job held counts as free here at once; a node whose groups of that job still
// have members acknowledges the next grant only when they have left, so nothing is held twice anywhere.
//
// A job lives while the sharpd that began it renews its lease. A broken stream ends nothing: sharpd comes back and says what it
// holds, or the lease ends. A restarted manager gives every job that it finds in the journal a whole lease.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "control/control.pb.h"
#include "manager/journal.hpp"
#include "manager/policy.hpp"
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
struct ToHost {
  StreamId stream = 0;
  control::v1::HostDown message;
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
using Action = std::variant<ToNode, ToHost, Refuse, Say>;
using Actions = std::vector<Action>;

/// Who asks how things stand: jobs of others he sees only in the totals.
struct Viewer {
  bool everything = true;
  std::optional<std::uint32_t> uid;
};

struct CoreRules {
  QuotaRules quota;
  UserLimits user;
  Duration grant_timeout = Seconds(5);  ///< A node that has not acknowledged a grant by then fails the job's begin.
  Duration lease = Seconds(8), renew_every = Seconds(2);
  std::function<Result<Secret>()> draw_secret = sumac::draw_secret;  ///< Keys of jobs and of the nodes.
  Duration settle = Seconds(5);  ///< So long after a restart a begin waits for nodes that have not come back yet.
};

class Core {
 public:
  /// The fabric must have been validated and its tree built by topo::build_tree(). `journal` outlives the core.
  Core(const topo::Fabric& fabric, const topo::AggregationTree& tree, CoreRules rules, Journal& journal);

  /// Before anything else, at most once: what the journal of a former life holds.
  Actions restore(const SavedState& saved, Time now);
  /// May be called at any time; jobs that run go on.
  void set_reservations(Reservations reservations) { reservations_ = std::move(reservations); }
  /// The same; leases stay what sharpds were told.
  void set_rules(const CoreRules& rules) {
    rules_.quota = rules.quota;
    rules_.user = rules.user;
    rules_.grant_timeout = rules.grant_timeout;
  }

  Actions node_registers(StreamId stream, const control::v1::Register& who, Time now);
  Actions node_acks(StreamId stream, std::uint64_t sequence, Time now);
  Actions node_defers(StreamId stream, const control::v1::Deferred& deferred);
  Actions node_link(StreamId stream, const control::v1::Link& link, Time now);
  Actions node_stream_ended(StreamId stream, Time now);

  Actions host_registers(StreamId stream, const control::v1::HostRegister& who, Time now);
  Actions host_renews(StreamId stream, const control::v1::Renew& renew, Time now);
  Actions job_begins(StreamId stream, const control::v1::JobBegin& begin, Time now);
  Actions job_ends(StreamId stream, const control::v1::JobEnd& end, Time now);
  Actions host_stream_ended(StreamId stream, Time now);

  Actions tick(Time now);
  Time next_deadline() const;

  /// For people and programs: nodes, jobs, what is free. `heard`: messages so far, but for renewals.
  std::string status_json(Time now, std::uint64_t heard = 0, const Viewer& viewer = {}) const;

 private:
  struct Node {
    std::string name;
    std::int32_t parent = -1;
    bool in_tree = true;  ///< false: the tree has no place for it; jobs do without it.
    StreamId stream = 0;  ///< 0: not registered.
    control::v1::Register who;
    std::uint64_t sent = 0;
    bool link_up = false;
    std::string link_why;
  };
  struct Host {
    std::string name;
    std::uint64_t life = 0;
  };
  struct Job {
    JobRecord record;
    std::vector<std::uint64_t> wait_for;  ///< Per node: the sequence that carries the grant; 0: acknowledged.
    std::string deferred;                 ///< Why a node could not acknowledge yet.
    bool granted = false;
    Time begun{}, deadline{}, lease_until{};
  };
  /// A begin that waits for nodes after a restart.
  struct HeldBegin {
    StreamId stream = 0;
    control::v1::JobBegin begin;
  };
  using Jobs = std::map<std::uint64_t, Job>;

  static std::uint32_t id_of(std::size_t index) { return static_cast<std::uint32_t>(index + 1); }
  Node* registered(StreamId stream);
  void send(Actions& out, Node& node, control::v1::NodeDown message);
  void send_parent(Actions& out, Node& child);
  void note_root(Actions& out, const Node& root);
  std::string missing_nodes() const;

  const Host* host_of(Actions& out, StreamId stream) const;
  void to_holder(Actions& out, const Job& job, control::v1::HostDown message) const;
  void refuse_job(Actions& out, StreamId stream, const control::v1::JobBegin& begin, const std::string& text) const;
  void begin_on(Actions& out, StreamId stream, const Host& host, const control::v1::JobBegin& begin, Time now);
  /// Ends a job wherever it stands: an answer to its sharpd if it still waits for one, revoked at the nodes.
  void fail_begin(Actions& out, Jobs::iterator at, const std::string& why);
  void release(Actions& out, Jobs::iterator at, const std::string& why);
  void finish_if_ready(Actions& out, Jobs::iterator at);
  void finish_ready(Actions& out);
  void drop(Actions& out, Jobs::iterator at, const std::string& why);
  void retry_held(Actions& out, Time now);
  Result<Job> admit(const Host& host, const control::v1::JobBegin& begin) const;
  std::string missing_for(const Job& job) const;
  control::v1::JobGranted granted_message(const Job& job) const;
  Capacity capacity() const;
  void use(const Job& job, bool more);

  CoreRules rules_;
  Journal& journal_;
  Reservations reservations_;
  std::string fabric_text_;
  std::vector<Node> nodes_;
  std::uint32_t root_ = 0;
  /// The life of the root's process: group ids come from there. 0: no root has ever registered.
  std::uint32_t tree_id_ = 0;
  std::unordered_map<std::string, std::uint32_t> leaf_of_host_;
  std::unordered_map<std::string, std::size_t> node_by_name_;
  std::unordered_map<StreamId, std::size_t> node_by_stream_;
  std::unordered_map<StreamId, Host> hosts_;
  std::unordered_map<std::uint64_t, StreamId> stream_of_life_;
  /// Drawn with the first node that registers. Not kept: after a restart nodes are told another one, and links that stand stay.
  std::optional<Secret> node_key_;
  Jobs jobs_;                                                                   ///< By job id.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> by_ticket_;  ///< Life and ticket: job id.
  std::vector<HeldBegin> held_;
  Usage used_;
  std::map<std::uint32_t, UserUsage> users_;  ///< By uid.
  std::uint32_t last_number_ = 0;
  Time settled_at_{};  ///< Until then nodes may still be on their way back.
  Time looked_{};      ///< When tick() last ran.
};

}  // namespace sumac::manager
