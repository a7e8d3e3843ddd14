#pragma once
// The facts that must survive the death of a manager: the resources of each job, and the trees to which they belong.
// The core writes them before anyone is informed, so that a restarted manager never grants a running job's resources
// again.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

/// A job's part of one tree. Nodes and hosts are indices in the fabric.
struct JobShare {
  std::uint32_t tree = 0;                    ///< The index of the tree in the fabric.
  TreeId id{};                               ///< The tree's id when the job began: if it changes, the job cannot go on.
  std::vector<std::uint32_t> nodes;          ///< The root comes first, and parents before children.
  std::vector<std::uint32_t> parents;        ///< Each node's parent: an index into nodes, plus 1; 0 at the root.
  std::vector<std::uint32_t> leaves;         ///< The leaf of each of the job's hosts: an index into nodes.
  std::vector<wire::NumberRange> numbers{};  ///< The numbers of its group ids, which no other job in this tree has.

  bool operator==(const JobShare&) const = default;
};

/// A job that was granted. Its lease is not kept, because a restarted manager gives every job a whole lease.
struct JobRecord {
  JobId job_id{};
  std::uint32_t number = 0;  ///< Our own short number, job_id_sharp in the log.
  std::uint64_t life = 0;    ///< The life of the sharpd that began it.
  std::uint64_t ticket = 0;  ///< The number that this sharpd gave the begin.
  std::uint32_t uid = 0;
  std::string holder;  ///< Describes the job's owner for people.
  std::string reservation;
  wire::Quota quota;                 ///< As granted.
  std::vector<std::uint32_t> hosts;  ///< The job's hosts, in the order in which it named them.
  std::vector<JobShare> shares;      ///< One share per tree, sorted by tree.
  Secret job_key{};                  ///< The key that members show to the nodes.
  /// The job goes on without its trees if it loses one, and then has no shares until it is given trees again.
  bool outlives_trees = false;
  std::uint32_t times_again = 0;  ///< It was given trees again so often.
  std::string devices{};          ///< The ports of its hosts that it asked for; empty: any.

  bool operator==(const JobRecord&) const = default;
};

/// OSTs that are kept for a user's jobs on some hosts (`sharp_cmd reserve`).
struct KeptOsts {
  std::string name;
  std::uint32_t uid = 0;
  std::vector<std::string> hosts;
  std::uint32_t osts = 0;  ///< At each node that a job on all of the hosts uses.

  bool operator==(const KeptOsts&) const = default;
};

/// One tree at the time of writing: its id, and its shape as a list of numbers (saved_tree.hpp).
struct SavedTree {
  TreeId id{};  ///< 0 if its root has never registered.
  std::vector<std::uint32_t> shape;

  bool operator==(const SavedTree&) const = default;
};

struct SavedState {
  /// The names of nodes, hosts and links, in order: in another fabric the indices would mean something else.
  std::string fabric;
  std::uint32_t last_number = 0;
  std::vector<SavedTree> trees;
  std::vector<JobRecord> jobs;
  std::map<JobId, Seconds> ages;  ///< The time since each of the jobs began.
  std::vector<KeptOsts> kept{};

  bool operator==(const SavedState&) const = default;
};

class Journal {
 public:
  virtual ~Journal() = default;
  /// Replaces what was written of the job. `age` is the time since the job began.
  virtual Result<> put(const JobRecord& job, Seconds age) = 0;
  virtual Result<> remove(JobId job_id) = 0;
  virtual Result<> set_trees(const std::string& fabric, const std::vector<SavedTree>& trees) = 0;
  virtual Result<> keep(const KeptOsts& osts) = 0;
  virtual Result<> release(const std::string& name) = 0;
};

/// A journal that keeps nothing, for a manager without a state directory.
class NoJournal final : public Journal {
 public:
  Result<> put(const JobRecord&, Seconds) override { return {}; }
  Result<> remove(JobId) override { return {}; }
  Result<> set_trees(const std::string&, const std::vector<SavedTree>&) override { return {}; }
  Result<> keep(const KeptOsts&) override { return {}; }
  Result<> release(const std::string&) override { return {}; }
};

}  // namespace sumac::manager
