#pragma once
// Admission decides what a job that begins gets: its hosts, trees, quota and group numbers. It changes nothing.
#include <functional>
#include <map>

#include "manager/kept.hpp"

namespace sumac::manager {

class Admission {
 public:
  Admission(const Cluster& cluster, const Forest& forest, const Holdings& holdings, const Kept& kept,
            const Rules& rules, const Reservations& reservations)
      : cluster_(cluster),
        forest_(forest),
        holdings_(holdings),
        kept_(kept),
        rules_(rules),
        reservations_(reservations) {}

  /// Returns the job without group numbers, number and key.
  Result<Job> admit(const Sharpd& sharpd, const JobBegin& begin) const;
  /// Gives trees with the same quota to a job that has none, whose place is not counted at the moment. On failure the job stays as it is.
  Result<> admit_again(Job& job) const;

 private:
  struct Choice;
  Result<std::vector<std::uint32_t>> hosts_of(const JobBegin& begin) const;
  Result<Choice> choose(std::uint32_t tree, const JobRecord& record, const JobBegin& begin) const;
  Error why_no_tree() const;
  Result<> give_trees(Job& job, const JobBegin& begin) const;
  Result<> check_place(const JobRecord& record) const;

  const Cluster& cluster_;
  const Forest& forest_;
  const Holdings& holdings_;
  const Kept& kept_;
  const Rules& rules_;
  const Reservations& reservations_;
};

/// Group numbers in each of a job's trees that no other job there has, so that a node can tell the owner of a group from
/// its number.
class GroupNumbers {
 public:
  GroupNumbers(const Cluster& cluster, const Forest& forest, const Holdings& holdings)
      : cluster_(cluster), forest_(forest), holdings_(holdings) {}

  /// `visit_others` calls its argument for each job that runs, or whose ranks have not left.
  Result<> give(Job& job, const std::function<void(const std::function<void(const Job&)>&)>& visit_others);

 private:
  const Cluster& cluster_;
  const Forest& forest_;
  const Holdings& holdings_;
  /// [tree]: the position where the next job's numbers begin, so that recently freed ones are reused late.
  std::map<std::uint32_t, std::uint32_t> next_;
};

}  // namespace sumac::manager
