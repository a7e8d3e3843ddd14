#pragma once
// A job as the ledger has it, and the messages that its nodes and its sharpd receive of it.
#include <string>
#include <vector>

#include "manager/forest.hpp"

namespace sumac::manager {

/// A Grant or Revoke that a node has not acknowledged yet.
struct Awaited {
  std::uint32_t tree = 0, node = 0;
  std::uint64_t sequence = 0;
};
struct Job {
  enum class Trees : std::uint8_t {
    held,    ///< The nodes have the job, or are about to as it begins.
    lost,    ///< The job has outlived them, and waits for others.
    coming,  ///< Nodes of other trees have been sent its grant.
  };
  JobRecord record;
  /// For each share: the nodes that hold it, and those from there up to the tree's root.
  std::vector<std::vector<std::uint32_t>> reserved;
  std::vector<Awaited> wait_for;
  std::string deferred;  ///< The reason why a node could not acknowledge yet.
  JobBegin begin;        ///< Empty once the job is granted.
  bool granted = false;
  std::vector<std::uint32_t> deaths;  ///< The ranks that died, as its hosts are told.
  Trees trees = Trees::held;
  /// A host came before the nodes of the job's trees were there again: all are told when they are.
  bool owes_trees = false;
  /// It holds what a job that goes on had of trees that are lost: its user's place is that job's.
  bool is_remainder = false;
  Time begun{}, deadline{}, lease_until{};
  Time again_from{};  ///< It is not given trees again before.

  bool uses(std::size_t node) const;
};

/// Sends a message to each node that holds the job; `make` has the share and the node as arguments.
template <class Make>
void to_nodes(Step& step, Cluster& cluster, const Job& job, Make make) {
  for (std::size_t i = 0; i < job.record.shares.size(); ++i)
    for (const auto n : job.reserved[i])
      if (cluster.is_there(n)) cluster.send(step, n, make(i, n));
}
/// Revokes the job at its nodes, and notes which of them have to acknowledge that.
void revoke(Step& step, Cluster& cluster, Job& job, const std::string& why);
/// Sends a message to the sharpd that began the job. One that is away gets the answer when it comes back: it asks again, or
/// learns that its ticket is gone.
void to_holder(Step& step, const Cluster& cluster, const JobRecord& record, ForHost message);
/// Sends a message to the sharpds of the job's hosts but one.
void to_hosts(Step& step, const Cluster& cluster, const JobRecord& record, const std::string& but,
              const ForHost& message);
/// Tells a host whose sharpd, or the stream to it, was away when a rank died.
void tell_deaths(Step& step, StreamId stream, const Job& job);
/// Notes that a job is over that its owner has not ended.
void say_released(Step& step, const JobRecord& record, const std::string& why);
/// Makes the grant for one node. It names the children that have ranks of the job below them, so that no other node of
/// the tree can send messages of the job there. `links_percent`: see control.proto.
Grant grant_to(const Job& job, std::size_t share, std::uint32_t node, std::uint32_t links_percent);
JobGranted granted_message(const Job& job, const Cluster& cluster, const Forest& forest);
/// Describes what a beginning job still waits for; empty: nothing.
std::string missing_for(const Job& job, const Cluster& cluster, const Forest& forest, Duration grant_timeout);
/// Returns whether somebody on this host may speak of the job: it is one of its hosts, and the key is the job's.
bool is_member(const Job& job, const Sharpd& sharpd, const std::optional<Secret>& key);
/// The addresses at which the daemons of a job answer Inspect (control.proto). Hosts of the job ask once, when its first
/// rank is there, so that they know them when this manager is dead. Nothing: the host asks again when it registers anew.
std::optional<JobDaemons> daemons_for(const Job& job, const Sharpd& asking, const Cluster& cluster);

}  // namespace sumac::manager
