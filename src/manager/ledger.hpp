#pragma once
// Ledger, the machine of the jobs: begins that wait, grants, leases, and ended jobs whose ranks have not left. It asks Forest for
// trees and Cluster for nodes, and writes the journal before the action that depends on it.
//
// A grant is in force when every node has acknowledged it. The resources of an ended job are free when every node has acknowledged
// the Revoke, which means that its members have left. Until then, for at most `leave_after_end`, they count for the job's user, and
// a begin that needs them waits. A job goes on as long as its part of its trees stays the same; otherwise it waits for other trees
// if it outlives them (trees_again.hpp), or is released and its sharpd receives the reason.
//
// A job lives while the sharpd that began it renews its lease. A broken stream ends nothing: either sharpd connects
// again and names its jobs, or the lease ends. Then the nodes revoke the job, and it goes on if sharpd renews it before
// the last of them has nothing of it any more. A restarted manager gives every job in the journal a whole lease.
#include <list>
#include <map>
#include <set>
#include <vector>

#include "manager/trees_again.hpp"
#include "manager/waiting.hpp"

namespace sumac::manager {

/// The low-level status of a refused job, as clients print it: "Job error(-35)".
inline constexpr std::uint32_t kStatusJobError = 35;

class Ledger {
 public:
  Ledger(Cluster& cluster, Forest& forest, Holdings& holdings, const Kept& kept, Journal& journal, const Rules& rules,
         const Reservations& reservations);

  /// A life of the manager begins; `last_number`: of the last job of the former one.
  void start(std::uint32_t last_number, bool is_first, Time now);
  void restore(Step& step, const SavedState& saved);
  /// None of the jobs of a former life go on. The nodes find that they have no such job when they register, and revoke
  /// it; its ranks leave in their own time.
  void forget(Step& step, const std::vector<JobRecord>& jobs, const std::string& why);
  void describe(Facts& facts) const;

  // ---- sharpds
  void host_comes(Step& step, StreamId stream, const HostRegister& who);
  void host_leaves(Step& step, StreamId stream, const Sharpd& sharpd);
  void host_renews(Step& step, const Sharpd& sharpd, const Renew& renew);
  /// Returns whether the begin is a new one that needs not wait for nodes: then begin() follows.
  bool accepts(Step& step, StreamId stream, const Sharpd& sharpd, const JobBegin& begin);
  /// The begin may wait for room, until its time ends.
  void begin(Step& step, const Sharpd& sharpd, const HeldBegin& held);
  void job_ends(Step& step, StreamId stream, const Sharpd& sharpd, const JobEnd& end);
  /// Accepts a death only if it is reported by the rank's own host, for a process of the job's user that had the job's
  /// key. Otherwise it is not passed on.
  void rank_died(Step& step, const Sharpd& sharpd, const RankDied& word);
  /// Null: no such job is granted.
  const Job* granted(JobId id) const;

  // ---- nodes
  /// Returns whether an ended job has left.
  bool node_acks(Step& step, std::size_t node, std::uint64_t sequence);
  void node_defers(Step& step, std::size_t node, const Deferred& deferred);
  /// The jobs that are beginning there fail; the others are only noted.
  void node_leaves(Step& step, std::size_t node);
  /// Jobs that are beginning on the node are held, to begin again without it. Ended jobs do not wait for it any more.
  void begin_without(Step& step, std::size_t node);
  /// The node's part in the tree is another one or is over, and with it all that ended jobs held there.
  void stop_waiting(std::uint32_t tree, std::size_t node);
  std::vector<Grant> grants_at(std::uint32_t tree, std::size_t node) const;
  /// The node has registered, and does not hold the numbers of jobs that it had: it is a new process. Those that outlive
  /// their trees have lost them.
  void lose_forgotten(Step& step, std::size_t node);
  bool uses(std::size_t node) const;

  // ---- trees (ledger_trees.cpp)
  /// Releases the jobs that the change affects, or takes their trees from those that outlive them: a node of theirs is gone or has another parent, or the tree has another
  /// root and thus other group ids.
  void lose_jobs(Step& step, const Forest::Change& change, const std::string& why);
  /// The root of the tree is a new process.
  void lose_tree(Step& step, std::uint32_t tree);
  /// Above a job's own root the tree may change while the job goes on: the nodes that are new there receive its grant.
  void set_ways_up(Step& step);
  void finish_ready(Step& step);
  /// A host of the job that has the job's key says that its trees are of no use: the job has lost them.
  void trees_wanted(Step& step, const Sharpd& sharpd, const TreesWanted& word);
  /// Gives trees to the jobs that have outlived theirs, as far as there are some.
  void give_again(Step& step);

  // ---- time
  /// No job has a part of a tree.
  bool nobody_runs() const;
  void tick(Step& step);
  Time next_deadline() const;
  /// Frees the resources of ended jobs that no node holds any more.
  void erase_left(Step& step);
  /// Returns the begins that may be tried again; `is_tick`: because time has passed.
  std::vector<HeldBegin> take_held(Time now, bool is_tick);

 private:
  /// An ended job: its resources stay in use until its nodes have reported that its members are gone.
  struct LeavingJob {
    Job job;
    Time until{};
    std::string lapsed{};  ///< Set if its lease ended: the reason that its sharpd reads when the job cannot go on.
  };
  using Jobs = std::map<JobId, Job>;

  Job* job_of(std::uint64_t life, std::uint64_t ticket);
  Result<Job> admit(const Sharpd& sharpd, const JobBegin& begin);
  void refuse_job(Step& step, StreamId stream, const JobBegin& begin, const std::string& text);
  /// The job loses its trees, and ends in any phase: its sharpd receives an answer if it still waits for one, and the nodes revoke it.
  /// One that outlives its trees goes on.
  void lose(Step& step, Jobs::iterator at, const std::string& why);
  void release(Step& step, Jobs::iterator at, const std::string& why);
  void finish_if_ready(Step& step, Jobs::iterator at);
  void drop(Step& step, Jobs::iterator at, const std::string& why, bool lapses = false);
  bool resume(Step& step, std::uint64_t life, std::uint64_t ticket);

  Cluster& cluster_;
  Forest& forest_;
  Journal& journal_;
  const Rules& rules_;
  Holdings& holdings_;
  Admission admission_;
  GroupNumbers group_numbers_;
  TreesAgain again_;
  Jobs jobs_;                                                           ///< Keyed by job id.
  std::map<std::pair<std::uint64_t, std::uint64_t>, JobId> by_ticket_;  ///< Maps life and ticket to the job id.
  std::list<LeavingJob> leaving_;
  std::list<LeavingJob>
      left_;  ///< Jobs that outlived their trees and hold nothing any more: their ranks are told of deaths.
  Waiting waiting_;
  std::set<std::uint32_t> refused_;  ///< The users whose last begin was refused.
  std::uint32_t last_number_ = 0;
  Counts counts_;
  Time settled_at_{};  ///< After a restart, nodes are expected to come back until then.
  Time looked_{};      ///< The time when tick() last ran.
};

}  // namespace sumac::manager
