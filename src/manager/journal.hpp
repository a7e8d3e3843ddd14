#pragma once
// What a manager must still know after it was killed: which job holds what, and of which trees. The core writes it down before
// anybody hears of it, so that a restarted manager never grants a second time what a running job holds.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

/// A job's part of one tree. Nodes and hosts by their index in the fabric.
struct JobShare {
  std::uint32_t tree = 0;              ///< Index of the tree.
  std::uint32_t id = 0;                ///< Its id when the job began: with another one the job can't go on.
  std::vector<std::uint32_t> nodes;    ///< The root first, parents before children.
  std::vector<std::uint32_t> parents;  ///< Index into nodes, plus 1; 0 at the root.
  std::vector<std::uint32_t> leaves;   ///< Of each of the job's hosts: index into nodes.
  /// Of its group ids, which no other job in this tree has: first and count, and again.
  std::vector<std::uint32_t> numbers{};

  bool operator==(const JobShare&) const = default;
};

/// A job that was granted. Times are not kept: a restarted manager gives every job a whole lease.
struct JobRecord {
  std::uint64_t job_id = 0;
  std::uint32_t number = 0;  ///< Ours, short: job_id_sharp of the log.
  std::uint64_t life = 0;    ///< Of the sharpd that began it ...
  std::uint64_t ticket = 0;  ///< ... and its number there.
  std::uint32_t uid = 0;
  std::string holder;  ///< For people.
  std::string reservation;
  Allocation grant;
  std::vector<std::uint32_t> hosts;  ///< In the order in which it named them.
  std::vector<JobShare> shares;      ///< By tree.
  std::vector<std::uint8_t> key;     ///< 16 bytes that members show to the nodes.

  bool operator==(const JobRecord&) const = default;
};

/// One tree as it was: its id and its shape, a list of numbers (saved_tree.hpp).
struct SavedTree {
  std::uint32_t id = 0;  ///< 0: its root has never registered.
  std::vector<std::uint32_t> shape;

  bool operator==(const SavedTree&) const = default;
};

struct SavedState {
  std::string fabric;  ///< Names of nodes, hosts and links, in order: with others the indices mean something else.
  std::uint32_t last_number = 0;
  std::vector<SavedTree> trees;
  std::vector<JobRecord> jobs;

  bool operator==(const SavedState&) const = default;
};

class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<> put(const JobRecord& job) = 0;
  virtual Result<> remove(std::uint64_t job_id) = 0;
  virtual Result<> set_trees(const std::string& fabric, const std::vector<SavedTree>& trees) = 0;
};

/// Remembers nothing: for a manager that is told to keep no state.
class NoJournal final : public Journal {
 public:
  Result<> put(const JobRecord&) override { return {}; }
  Result<> remove(std::uint64_t) override { return {}; }
  Result<> set_trees(const std::string&, const std::vector<SavedTree>&) override { return {}; }
};

}  // namespace sumac::manager
