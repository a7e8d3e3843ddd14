#pragma once
// What a manager must still know after it was killed: which job holds what, and of which tree. The core writes it down before
// anybody hears of it, so that a restarted manager never grants a second time what a running job holds.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

/// A job that was granted. Times are not kept: a restarted manager gives every job a whole lease.
struct JobRecord {
  std::uint64_t job_id = 0;
  std::uint32_t number = 0;  ///< Ours, short: job_id_sharp of the log.
  std::uint64_t life = 0;    ///< Of the sharpd that began it ...
  std::uint64_t ticket = 0;  ///< ... and its number there.
  std::uint32_t uid = 0;
  std::string holder;  ///< For people.
  std::string reservation;
  std::uint32_t tree_id = 0;
  Allocation grant;
  std::vector<std::uint32_t> leaves;  ///< Index of the leaf node of each host.
  std::vector<std::uint8_t> key;      ///< 16 bytes that members show to the nodes.

  bool operator==(const JobRecord&) const = default;
};

struct SavedState {
  std::string fabric;         ///< The tree that the jobs run on, as text: another one is not theirs.
  std::uint32_t tree_id = 0;  ///< 0: no root has ever registered.
  std::uint32_t last_number = 0;
  std::vector<JobRecord> jobs;

  bool operator==(const SavedState&) const = default;
};

class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<> put(const JobRecord& job) = 0;
  virtual Result<> remove(std::uint64_t job_id) = 0;
  /// Forgets all jobs if `fabric` is another one than before.
  virtual Result<> set_tree(const std::string& fabric, std::uint32_t tree_id) = 0;
};

/// Remembers nothing: for a manager that is told to keep no state.
class NoJournal final : public Journal {
 public:
  Result<> put(const JobRecord&) override { return {}; }
  Result<> remove(std::uint64_t) override { return {}; }
  Result<> set_tree(const std::string&, std::uint32_t) override { return {}; }
};

}  // namespace sumac::manager
