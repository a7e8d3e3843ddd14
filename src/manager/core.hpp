#pragma once
// The manager as a function from events to actions: no socket, no clock, no thread. The service turns gRPC into events and
// actions into messages; the journal is written before the action that tells of it is returned.
//
// A node's stream carries everything in order, and the node acknowledges what holds at its data path: a grant is in force when
// every node has acknowledged it, and what an ended job held is free when every node has acknowledged the Revoke: then its members
// have left. Until then, at most for `leave_after_end`, it counts for its user; a begin that needs it waits.
//
// Trees follow the fabric: a node that stays away is down, what registers again or comes anew joins, and when no job runs the
// trees are built anew, so that they are the best there are. A job goes on as long as its own part of its trees is as it was;
// otherwise it is released and its sharpd is told why. Each of a node's trees is a shard of it with OSTs, groups, an address and
// a parent of its own (docs/adr/0022).
//
// A job lives while the sharpd that began it renews its lease. A broken stream ends nothing: sharpd comes back and says what it
// holds, or the lease ends. A restarted manager gives every job that it finds in the journal a whole lease.
#include <cstdint>
#include <functional>
#include <list>
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
#include "topo/forest.hpp"
#include "topo/job_tree.hpp"

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
  Duration leave_after_end =
      Seconds(30);               ///< Nodes end what an ended job still holds when this is over (proto::NodeLimits).
  Duration settle = Seconds(5);  ///< So long after a start nodes are expected; after a restart a begin waits for them.
  Duration node_away = Seconds(3);  ///< A node whose stream ended and that is not back by then is down.
  bool open = false;                ///< No fabric was described: it is made of what registers.
};

class Core {
 public:
  /// The fabric must have been validated; its trees and radix are asked of topo. `journal` outlives the core.
  Core(topo::Fabric fabric, CoreRules rules, Journal& journal);
  /// Errc::exhausted, not_found: why this fabric has no trees.
  Result<> check() const;

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
  /// The fabric's description has changed: trees follow, jobs that don't notice go on.
  Actions fabric_changes(const topo::Fabric& described, Time now);

  Actions node_registers(StreamId stream, const control::v1::Register& who, Time now);
  Actions node_acks(StreamId stream, std::uint64_t sequence, Time now);
  Actions node_defers(StreamId stream, const control::v1::Deferred& deferred);
  Actions node_link(StreamId stream, const control::v1::Link& link, Time now);
  Actions node_listens(StreamId stream, const control::v1::Listening& listening, Time now);
  Actions node_stream_ended(StreamId stream, Time now);

  Actions host_registers(StreamId stream, const control::v1::HostRegister& who, Time now);
  Actions host_renews(StreamId stream, const control::v1::Renew& renew, Time now);
  Actions job_begins(StreamId stream, const control::v1::JobBegin& begin, Time now);
  Actions job_ends(StreamId stream, const control::v1::JobEnd& end, Time now);
  /// The word of the rank's own host, and of a process of the job's user that had the job's key: anything else is left unsaid.
  Actions rank_died(StreamId stream, const control::v1::RankDied& word);
  Actions host_stream_ended(StreamId stream, Time now);

  Actions tick(Time now);
  Time next_deadline() const;

  /// For people and programs: nodes, jobs, what is free. `heard`: messages so far, but for renewals.
  std::string status_json(Time now, std::uint64_t heard = 0, const Viewer& viewer = {}) const;

 private:
  /// A node's part in one tree.
  struct Part {
    bool works = false;   ///< It is on the way of some host: it has a shard.
    std::string address;  ///< Of its data path; empty: not told yet.
    std::string why;      ///< It can't listen.
    bool link_up = false;
    std::string link_why;
    std::vector<std::uint32_t> held;  ///< Numbers of groups that its jobs had when it registered, in ranges.
    Usage used;
  };
  struct Node {
    std::string name;
    StreamId stream = 0;  ///< 0: not registered.
    control::v1::Register who;
    std::uint64_t sent = 0;
    bool described = true;    ///< By the fabric as it was last read.
    bool seen = false;        ///< It has registered in this life of the manager.
    Time away_at = kNever;    ///< Not registered: when it is taken for down.
    std::vector<Part> parts;  ///< By tree.
    /// Its own, of which those of itself and each child are made. Drawn when it first registers. Not kept: after a restart it is told another
    /// one, and links that stand stay.
    std::optional<Secret> key;
  };
  struct Tree {
    topo::AggregationTree shape;
    bool lost = true;  ///< No node is left for it.
    std::uint32_t id =
        0;  ///< Of the life of its root's process: group ids come from there. 0: that has never registered.
    std::uint32_t next_number = 0;  ///< Of groups: where the next job's begin, so that just ended ones rest.
  };
  /// A grant that a node has not acknowledged yet.
  struct Awaited {
    std::uint32_t node = 0;
    std::uint64_t sequence = 0;
  };
  struct Host {
    std::string name;
    std::uint64_t life = 0;
  };
  struct Job {
    JobRecord record;
    std::vector<topo::JobTree> trees;  ///< Beside record.shares.
    std::vector<std::vector<std::uint32_t>>
        reserved;  ///< For each: the nodes that hold it, and those up to the tree's root.
    std::vector<Awaited> wait_for;
    std::string deferred;  ///< Why a node could not acknowledge yet.
    bool granted = false;
    Time begun{}, deadline{}, lease_until{};
  };
  /// An ended job: what it held is in use until its nodes have said that its members are gone.
  struct LeavingJob {
    Job job;
    Time until{};
  };
  /// A begin that waits: after a restart for nodes, or for members of an ended job to leave.
  struct HeldBegin {
    StreamId stream = 0;
    control::v1::JobBegin begin;
    Time until{};    ///< Then it is answered in any case.
    bool for_nodes;  ///< It waits for nodes, not for members of ended jobs.
  };
  using Jobs = std::map<std::uint64_t, Job>;

  static std::uint32_t id_of(std::size_t index) { return static_cast<std::uint32_t>(index + 1); }
  // core_trees.cpp
  topo::TreeOptions tree_options() const;
  void build_trees();
  void take_forest(const topo::Forest& forest);
  void follow(Actions& out, const std::string& why);
  void note_who_works();
  void adopt(Actions& out, const std::vector<Tree>& before);
  void lose_jobs(Actions& out, const std::vector<topo::TreeChange>& changes, const std::string& why);
  void set_ways_up(Actions& out);
  void keep_trees(Actions& out);
  std::vector<std::uint32_t> way_up(std::uint32_t tree, std::uint32_t from) const;
  std::vector<std::uint32_t> reserved_for(const JobShare& share) const;
  std::uint32_t id_for(std::uint32_t tree) const;
  std::vector<bool> working(const Tree& tree) const;
  bool in_a_tree(std::size_t node) const;
  std::uint32_t parent_of(std::uint32_t tree, std::size_t node) const;
  void expect_nodes(Time now);
  void give_up_absent(Actions& out, Time now);

  // core_nodes.cpp
  Node* registered(StreamId stream);
  Node& add_node(const std::string& name);
  void add_open_node(const std::string& name);
  void add_open_host(const std::string& name);
  void open_fabric_of(const std::string& saved);
  void restore_job(Actions& out, const JobRecord& record, Time now);
  void send(Actions& out, Node& node, control::v1::NodeDown message);
  control::v1::NodeTree part_message(std::uint32_t tree, std::size_t node) const;
  control::v1::Grant grant_to(const Job& job, std::size_t share, std::uint32_t node) const;
  void send_part(Actions& out, std::uint32_t tree, Node& node);
  void send_parent(Actions& out, std::uint32_t tree, Node& child);
  void send_parents_of_children(Actions& out, std::uint32_t tree, std::size_t parent);
  void note_root(Actions& out, std::uint32_t tree);
  std::size_t index_of(const Node& node) const { return static_cast<std::size_t>(&node - nodes_.data()); }
  std::string missing_nodes() const;
  std::string describe_missing(const std::vector<std::uint32_t>& nodes) const;
  std::optional<std::string> flaw_of(const control::v1::Register& who) const;

  // core_jobs.cpp
  const Host* host_of(Actions& out, StreamId stream) const;
  void to_holder(Actions& out, const Job& job, control::v1::HostDown message) const;
  void refuse_job(Actions& out, StreamId stream, const control::v1::JobBegin& begin, const std::string& text) const;
  void begin_on(Actions& out, StreamId stream, const Host& host, const control::v1::JobBegin& begin, Time now,
                Time patience);
  /// Ends a job wherever it stands: an answer to its sharpd if it still waits for one, revoked at the nodes.
  void fail_begin(Actions& out, Jobs::iterator at, const std::string& why);
  void release(Actions& out, Jobs::iterator at, const std::string& why);
  void finish_if_ready(Actions& out, Jobs::iterator at);
  void finish_ready(Actions& out);
  void drop(Actions& out, Jobs::iterator at, const std::string& why);
  void forget_leaving();
  std::string describe_leaving() const;
  void retry_held(Actions& out, Time now);
  Result<Job> admit(const Host& host, const control::v1::JobBegin& begin) const;
  Result<std::vector<std::uint32_t>> hosts_of(const control::v1::JobBegin& begin) const;
  Result<> give_trees(Job& job, const control::v1::JobBegin& begin) const;
  Result<> give_group_numbers(Job& job);
  std::string missing_for(const Job& job) const;
  control::v1::JobGranted granted_message(const Job& job) const;
  /// What the weakest of these nodes holds in a tree, and what is taken of it where least is left.
  std::pair<Capacity, Usage> capacity(std::uint32_t tree, const std::vector<std::uint32_t>& nodes) const;
  Capacity user_capacity() const;
  void use(const Job& job, bool more);
  void use_nodes(const Job& job, std::size_t share, const std::vector<std::uint32_t>& nodes, bool more);

  CoreRules rules_;
  Journal& journal_;
  Reservations reservations_;
  topo::Fabric fabric_;
  std::string fabric_text_;
  std::vector<Tree> trees_;
  std::uint32_t next_shape_ = 1;  ///< topo's ids of shapes; ours are those of lives.
  Error no_trees_{};              ///< Why there is none; Errc::ok otherwise.
  bool patched_ = false;          ///< Trees were mended since they were built: build them anew when nobody runs.
  std::vector<Node> nodes_;       ///< As Fabric::nodes.
  std::unordered_map<std::string, std::uint32_t> host_by_name_;
  std::unordered_map<std::string, std::size_t> node_by_name_;
  std::unordered_map<StreamId, std::size_t> node_by_stream_;
  std::unordered_map<StreamId, Host> hosts_;
  std::unordered_map<std::uint64_t, StreamId> stream_of_life_;
  Jobs jobs_;                                                                   ///< By job id.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> by_ticket_;  ///< Life and ticket: job id.
  std::list<LeavingJob> leaving_;
  std::vector<HeldBegin> held_;
  std::map<std::uint32_t, UserUsage> users_;  ///< By uid.
  std::uint32_t last_number_ = 0;
  bool restarted_ = false;
  Time settled_at_{};  ///< After a restart: until then nodes may still be on their way back.
  Time looked_{};      ///< When tick() last ran.
  Time now_{};         ///< Of the event that is being handled.
};

}  // namespace sumac::manager
