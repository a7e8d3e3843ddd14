#pragma once
// The manager as a function from events to actions: no socket, no clock, no thread. The service turns gRPC messages
// into events and actions into messages. The journal is written before the action that depends on it is returned.
//
// A node's stream carries everything in order, and the node acknowledges each message that its data path has put into
// force. A grant is in force when every node has acknowledged it. The resources of an ended job are free when every
// node has acknowledged the Revoke, which means that its members have left. Until then, for at most `leave_after_end`,
// they count for the job's user, and a begin that needs them waits.
//
// Trees follow the fabric: a node that stays away is down, and a node that registers again, or for the first time,
// joins. When no job runs, the trees are built anew, so that they are the best possible. A job goes on as long as its
// part of its trees stays the same; otherwise it is released and its sharpd receives the reason. In each of its trees a
// node has a shard, with OSTs, groups, an address and a parent of its own (docs/adr/0022).
//
// A job lives while the sharpd that began it renews its lease. A broken stream ends nothing: either sharpd connects
// again and names its jobs, or the lease ends. Then the nodes revoke the job, and it goes on if sharpd renews it before
// the last of them has nothing of it any more. A restarted manager gives every job in the journal a whole lease.
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "manager/facts.hpp"
#include "manager/journal.hpp"
#include "manager/policy.hpp"
#include "manager/quota.hpp"
#include "manager/records.hpp"
#include "topo/fabric.hpp"
#include "topo/forest.hpp"
#include "topo/job_tree.hpp"

namespace sumac::manager {

/// The low-level status of a refused job, as clients print it: "Job error(-35)".
inline constexpr std::uint32_t kStatusJobError = 35;
/// Users whose lines are limited; beyond that number lines are not.
inline constexpr std::size_t kRefusedMax = 4096;
/// The bytes of a daemon's own version that are kept, for people.
inline constexpr std::size_t kReleaseMax = 64;

using ActionList = std::vector<Action>;

class Manager {
 public:
  /// The fabric must have been validated; its trees and radix are computed by topo. `journal` must outlive the core.
  Manager(topo::Fabric fabric, Rules rules, Journal& journal);
  /// Returns Errc::exhausted or not_found with the reason if this fabric has no trees.
  Result<> check() const;

  /// Takes over the journal of a former life. Call it at most once, before anything else.
  ActionList restore(const SavedState& saved, Time now);
  /// May be called at any time; running jobs go on.
  void set_reservations(Reservations reservations) { reservations_ = std::move(reservations); }
  /// The same; leases stay as they were announced to the sharpds.
  void set_rules(const Rules& rules) {
    rules_.quota = rules.quota;
    rules_.user = rules.user;
    rules_.grant_timeout = rules.grant_timeout;
  }
  /// Applies a changed description of the fabric: trees follow it, and jobs whose part did not change go on.
  ActionList fabric_changes(const topo::Fabric& described, Time now);

  ActionList node_says(StreamId stream, const FromNode& word, Time now);
  ActionList host_says(StreamId stream, const FromHost& word, Time now);
  ActionList node_registers(StreamId stream, const NodeRegister& who, Time now);
  ActionList node_acks(StreamId stream, std::uint64_t sequence, Time now);
  ActionList node_defers(StreamId stream, const Deferred& deferred);
  ActionList node_link(StreamId stream, const Link& link, Time now);
  ActionList node_neighbour(StreamId stream, const Neighbour& word, Time now);
  ActionList node_listens(StreamId stream, const Listening& listening, Time now);
  ActionList node_stream_ended(StreamId stream, Time now);

  ActionList host_registers(StreamId stream, const HostRegister& who, Time now);
  ActionList host_renews(StreamId stream, const Renew& renew, Time now);
  ActionList job_begins(StreamId stream, const JobBegin& begin, Time now);
  ActionList job_ends(StreamId stream, const JobEnd& end, Time now);
  /// Accepts a death only if it is reported by the rank's own host, for a process of the job's user that had the job's
  /// key. Otherwise it is not passed on.
  ActionList rank_died(StreamId stream, const RankDied& word);
  // core_inspect.cpp
  void host_inspectable(StreamId stream, const std::string& address);
  void node_inspectable(StreamId stream, const std::string& address);
  /// Answers a host of the job that has the job's key, and nobody else.
  ActionList job_daemons(StreamId stream, const JobDaemonsAsked& asked) const;
  ActionList host_stream_ended(StreamId stream, Time now);

  ActionList tick(Time now);
  Time next_deadline() const;

  /// Valid until the next event.
  Facts facts() const;

 private:
  /// The part that a node has in one tree.
  struct Part {
    bool works = false;   ///< True if it lies on the path of some host, and so has a shard.
    std::string address;  ///< The address of the node's data path in this tree; empty if not reported yet.
    std::string why;      ///< The reason why the node cannot listen.
    bool link_up = false;
    std::string link_why;
    std::vector<wire::NumberRange> held;  ///< The numbers of the groups that its jobs had when it registered.
    Usage used;
  };
  /// The word of a neighbour that hears nothing of a node.
  struct Silence {
    bool lost = false;  ///< It has given up the link.
    std::uint32_t ms = 0;
  };
  struct Node {
    std::string name;
    StreamId stream = 0;  ///< The node's stream; 0 means not registered.
    NodeRegister who;
    std::uint64_t sent = 0;
    bool described = true;  ///< True if the last description of the fabric contains it.
    bool seen = false;      ///< True if it has registered in this life of the manager.
    Time away_at = kNever;  ///< For a node that is not registered: the time when it counts as down.
    /// The neighbours that hear nothing of it, by tree and node.
    std::map<std::pair<std::uint32_t, std::uint32_t>, Silence> silent_to;
    bool silent = false;      ///< New jobs go without it.
    bool is_down = false;     ///< The trees go without it, although it is registered.
    Time silent_since{};      ///< The time when it became silent. It was sent a message then:
    std::uint64_t probe = 0;  ///< the number of that message,
    bool answers = false;     ///< which it has acknowledged.
    std::vector<Part> parts;  ///< One part per tree, indexed by tree.
    /// The node's own key, from which the keys that it shares with its children are derived. It is drawn when the
    /// node first registers and is not saved: after a restart the node receives another one, and established links
    /// stay.
    std::optional<Secret> key;
    std::string inspectable{};  ///< The address where it answers Inspect.
  };
  struct Tree {
    topo::AggregationTree shape;
    bool lost = true;  ///< True if no node is left for the tree.
    /// Derived from the life of its root's process, because the root assigns group ids. 0: the root never registered.
    TreeId id{};
    /// The position where the next job's group numbers begin, so that recently freed ones are reused late.
    std::uint32_t next_number = 0;
  };
  /// A Grant or Revoke that a node has not acknowledged yet.
  struct Awaited {
    std::uint32_t tree = 0, node = 0;
    std::uint64_t sequence = 0;
  };
  struct Job {
    JobRecord record;
    std::vector<topo::JobTree> trees;  ///< The job's part of each tree, parallel to record.shares.
    /// For each share: the nodes that hold it, and those from there up to the tree's root.
    std::vector<std::vector<std::uint32_t>> reserved;
    std::vector<Awaited> wait_for;
    std::string deferred;  ///< The reason why a node could not acknowledge yet.
    JobBegin begin;        ///< Empty once the job is granted.
    bool granted = false;
    Time begun{}, deadline{}, lease_until{};
  };
  /// An ended job: its resources stay in use until its nodes have reported that its members are gone.
  struct LeavingJob {
    Job job;
    Time until{};
    std::string lapsed{};  ///< Set if its lease ended: the reason that its sharpd reads when the job cannot go on.
  };
  /// A begin that waits: after a restart for nodes, or for members of an ended job to leave.
  struct HeldBegin {
    StreamId stream = 0;
    JobBegin begin;
    Time until{};    ///< The time when the begin is answered in any case.
    bool for_nodes;  ///< True if it waits for nodes, false if for members of ended jobs.
  };
  using Jobs = std::map<JobId, Job>;

  static void happened(ActionList& out, Happened::Kind kind, std::string subject, std::string text);
  static void happened(ActionList& out, Happened::Kind kind, JobId job, std::uint32_t uid, std::string text);
  // core_facts.cpp
  NodeFacts facts_of(std::size_t node) const;
  TreeFacts facts_of(const Tree& tree) const;

  static NodeId id_of(std::size_t index) { return NodeId{static_cast<std::uint32_t>(index + 1)}; }
  // core_trees.cpp
  topo::TreeOptions tree_options() const;
  void build_trees();
  void take_forest(const topo::Forest& forest);
  void follow(ActionList& out, const std::string& why);
  void note_who_works();
  void adopt(ActionList& out, const std::vector<Tree>& before);
  void lose_jobs(ActionList& out, const std::vector<Tree>& before, const std::vector<topo::TreeChange>& changes,
                 const std::string& why);
  void set_ways_up(ActionList& out);
  void keep_trees(ActionList& out);
  std::vector<std::uint32_t> way_up(std::uint32_t tree, std::uint32_t from) const;
  std::vector<std::uint32_t> reserved_for(const JobShare& share) const;
  TreeId id_for(std::uint32_t tree) const;
  std::vector<bool> working(const Tree& tree) const;
  bool in_a_tree(std::size_t node) const;
  std::uint32_t parent_of(std::uint32_t tree, std::size_t node) const;
  void expect_nodes(Time now);
  void give_up_absent(ActionList& out, Time now);

  // core_nodes.cpp
  Node* registered(StreamId stream);
  Node& add_node(const std::string& name);
  void add_open_node(const std::string& name);
  void add_open_host(const std::string& name);
  void open_fabric_of(const std::string& saved);
  void restore_job(ActionList& out, const JobRecord& record, Seconds age, Time now);
  Result<> keep_job(const Job& job);
  void send(ActionList& out, Node& node, ForNode message);
  NodeTree part_message(std::uint32_t tree, std::size_t node) const;
  Grant grant_to(const Job& job, std::size_t share, std::uint32_t node) const;
  void send_part(ActionList& out, std::uint32_t tree, Node& node);
  void send_parent(ActionList& out, std::uint32_t tree, Node& child);
  void send_parents_of_children(ActionList& out, std::uint32_t tree, std::size_t parent);
  void note_root(ActionList& out, std::uint32_t tree);
  // core_silence.cpp
  bool is_believed(std::size_t about, std::uint32_t tree, std::uint32_t by) const;
  void judge(ActionList& out, std::size_t node);
  void begin_without(ActionList& out, std::size_t node);
  void take_down(ActionList& out, std::size_t node);
  void hear_again(ActionList& out, std::size_t node);
  void note_answer(ActionList& out, std::size_t node, std::uint64_t sequence);
  void judge_silent(ActionList& out);
  Time next_judgement() const;
  void forget_silence(ActionList& out, std::size_t node);
  std::string who_hears_nothing_of(const Node& node) const;

  static bool uses(const Job& job, std::size_t node);
  std::size_t index_of(const Node& node) const { return static_cast<std::size_t>(&node - nodes_.data()); }
  std::string missing_nodes() const;
  std::string describe_missing(const std::vector<std::uint32_t>& nodes) const;
  std::optional<std::string> flaw_of(const NodeRegister& who) const;

  // core_jobs.cpp
  const Sharpd* host_of(ActionList& out, StreamId stream) const;
  const Job* granted_to(const Sharpd& host, JobId id, const std::optional<Secret>& key) const;
  void place_hosts(ActionList& out);
  void to_holder(ActionList& out, const Job& job, ForHost message) const;
  void refuse_job(ActionList& out, StreamId stream, const JobBegin& begin, const std::string& text);
  void begin_on(ActionList& out, StreamId stream, const Sharpd& host, const JobBegin& begin, Time now, Time patience);
  /// Ends a job in any phase: its sharpd receives an answer if it still waits for one, and the nodes revoke it.
  void fail_begin(ActionList& out, Jobs::iterator at, const std::string& why);
  void release(ActionList& out, Jobs::iterator at, const std::string& why);
  void note_release(ActionList& out, const JobRecord& record, const std::string& why);
  void tell_ended(ActionList& out, const Job& job, const std::string& why) const;
  void finish_if_ready(ActionList& out, Jobs::iterator at);
  void finish_ready(ActionList& out);
  void drop(ActionList& out, Jobs::iterator at, const std::string& why, bool lapses = false);
  void lapse(ActionList& out, Jobs::iterator at);
  bool resume(ActionList& out, std::uint64_t life, std::uint64_t ticket, Time now);
  void erase_left(ActionList& out);
  void stop_waiting(std::uint32_t tree, std::uint32_t node);
  /// Builds the best possible trees once the last job of patched ones has ended and left.
  void build_if_nobody_runs(ActionList& out);
  bool nobody_runs() const { return jobs_.empty() && leaving_.empty(); }
  std::string describe_leaving() const;
  void retry_held(ActionList& out, Time now);
  Result<Job> admit(const Sharpd& host, const JobBegin& begin) const;
  Result<std::vector<std::uint32_t>> hosts_of(const JobBegin& begin) const;
  Result<> give_trees(Job& job, const JobBegin& begin) const;
  Result<> give_group_numbers(Job& job);
  std::string missing_for(const Job& job) const;
  JobGranted granted_message(const Job& job) const;
  /// Returns the capacity of the weakest of these nodes in a tree, and the usage of the node where least is left.
  std::pair<Capacity, Usage> capacity(std::uint32_t tree, const std::vector<std::uint32_t>& nodes) const;
  Capacity user_capacity() const;
  void use(const Job& job, bool more);
  void use_nodes(const Job& job, std::size_t share, const std::vector<std::uint32_t>& nodes, bool more);

  Rules rules_;
  Journal& journal_;
  Reservations reservations_;
  topo::Fabric fabric_;
  std::string fabric_text_;
  std::vector<Tree> trees_;
  std::uint32_t next_shape_ = 1;  ///< The next id that topo gives to a shape; our tree ids depend on lives instead.
  Error no_trees_{};              ///< The reason why there is no tree; Errc::ok if there is one.
  /// True if trees were changed since they were built: they are built anew when no job runs.
  bool patched_ = false;
  std::vector<Node> nodes_;  ///< One entry per node, parallel to Fabric::nodes.
  std::unordered_map<std::string, std::uint32_t> host_by_name_;
  std::unordered_map<std::string, std::size_t> node_by_name_;
  std::unordered_map<StreamId, std::size_t> node_by_stream_;
  Sharpds sharpds_;
  std::unordered_map<std::uint64_t, StreamId> stream_of_life_;
  Jobs jobs_;                                                           ///< Keyed by job id.
  std::map<std::pair<std::uint64_t, std::uint64_t>, JobId> by_ticket_;  ///< Maps life and ticket to the job id.
  std::list<LeavingJob> leaving_;
  std::vector<HeldBegin> held_;
  std::set<std::uint32_t> refused_;           ///< The users whose last begin was refused.
  std::map<std::uint32_t, UserUsage> users_;  ///< The resources that each user holds, keyed by uid.
  std::uint32_t last_number_ = 0;
  /// Change with the fabric or its trees, and with the sharpds that are registered.
  std::uint64_t fabric_version_ = 1, sharpds_version_ = 1;
  Counts counts_;
  Time settled_at_{};  ///< After a restart, nodes are expected to come back until then.
  Time looked_{};      ///< The time when tick() last ran.
  Time now_{};         ///< The time of the event that is being handled.
};

}  // namespace sumac::manager
