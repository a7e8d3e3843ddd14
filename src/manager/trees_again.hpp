#pragma once
// Jobs that outlive their trees. Such a job keeps its place and its quota while it has no tree, and gets trees again as a new
// job would: its grant goes to the nodes, and when all have acknowledged it, to the job's hosts. What its ranks still hold of the lost
// trees is freed as after the end of a job.
#include "manager/admission.hpp"

namespace sumac::manager {

class TreesAgain {
 public:
  using VisitOthers = std::function<void(const std::function<void(const Job&)>&)>;

  TreesAgain(Cluster& cluster, Forest& forest, Journal& journal, const Rules& rules, Holdings& holdings,
             Admission& admission, GroupNumbers& group_numbers)
      : cluster_(cluster),
        forest_(forest),
        journal_(journal),
        rules_(rules),
        holdings_(holdings),
        admission_(admission),
        group_numbers_(group_numbers) {}

  /// The trees that the job has, or is about to have, are of no use. Returns what is held there until nodes have freed it.
  Job lose(Step& step, Job& job, const std::string& why);
  /// The job may have had trees when the manager ended. Returns whether it can go on without them.
  static bool lost_at_restart(Job& job);
  /// Asks the nodes of other trees if there are any for the job now.
  void ask(Step& step, Job& job, const VisitOthers& visit_others);
  /// Tells the job's hosts once all nodes have acknowledged, and again what they are owed. Returns false if the nodes never will in
  /// time.
  bool finish(Step& step, Job& job);
  /// Tells a host of the job that comes, or that asks, of the trees that it may not know, or has finish() do so.
  void tell(Step& step, StreamId stream, Job& job) const;

 private:
  bool is_usable(const Job& job) const;
  JobTrees message_of(const Job& job) const;

  Cluster& cluster_;
  Forest& forest_;
  Journal& journal_;
  const Rules& rules_;
  Holdings& holdings_;
  Admission& admission_;
  GroupNumbers& group_numbers_;
};

}  // namespace sumac::manager
