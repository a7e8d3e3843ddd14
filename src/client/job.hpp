#pragma once
// The collective begin of a job: the ranks attach, gather the hosts, rank 0 asks for the grant, and all ranks get it
// (docs/protocol.md, "Join" needs the same maps at every rank). If any step fails anywhere, every rank returns the same
// code.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "client/grant.hpp"
#include "client/oob.hpp"
#include "client/options.hpp"
#include "client/session.hpp"

namespace sumac::client {

/// The settings that rank 0's environment decides for all ranks, in the form in which they travel.
struct JobSettings {
  std::uint64_t sat_threshold = 0;
  std::uint32_t enable_sat = 0;      ///< 0 or 1, as `lock_on_comm_init`.
  std::uint32_t osts_per_group = 0;  ///< SHARP_COLL_OSTS_PER_GROUP, or the user's policy; 0: the share.
  std::uint32_t lock_batch = 0;      ///< As in proto::ClientGroupConfig.
  std::uint32_t lock_on_comm_init = 0;

  /// A communicator takes the streaming lock when it is made.
  bool takes_lock() const noexcept { return enable_sat != 0 && lock_on_comm_init != 0 && lock_batch != 0; }
};

/// The same at all ranks.
struct Job {
  JobId id{};
  JobSettings settings;
  wire::JobGrantedBody granted;
  std::vector<JobTree> trees;            ///< Ordered by their index; at least one, each with a leaf for every host.
  std::uint32_t hosts = 0;               ///< The number of the job's hosts.
  std::vector<std::uint32_t> rank_host;  ///< The index of each world rank's host.
  std::vector<std::string> host_names;   ///< For messages.
  bool recovers = false;                 ///< SUMAC_RECOVERY at rank 0.

  NodeId leaf_of(const JobTree& tree, WorldRank world_rank) const {
    return tree.host_leaf.at(rank_host.at(number_of(world_rank)));
  }
  bool reproducible() const;  ///< SUMAC_REPRODUCIBLE is on.
  /// Chunks in flight of a group that streams; 0: the job has no streams.
  std::uint32_t stream_window() const { return settings.enable_sat != 0 ? granted.quota.stream_window : 0; }
  std::uint32_t group_osts() const;  ///< The cap of one group: max(2, OSTs / groups), or the user's setting.
};

/// The form in which a job travels from rank 0 to the others: its settings, the messages of the manager's answer as
/// sharpd sent them, the hosts' names and the host of each rank. decode_job() trusts nothing, since a rank may have
/// another version of the library.
std::vector<std::byte> encode_job(JobId job_id, const JobSettings& settings, std::span<const std::string> hosts,
                                  std::span<const wire::HostMessage> answer, std::span<const std::uint32_t> rank_host,
                                  bool recovers = false);
Outcome<Job> decode_job(std::span<const std::byte> bytes);

/// This process's role among the members of a group.
struct Member {
  std::uint32_t channel = 0;  ///< Its index among its host's members, if there are several (sockets' leaders).
  std::string devices{};      ///< The ports that it wants to use, for the manager; empty: any. Those of rank 0 count.
};

/// Collective. `local` is an earlier failure of this rank (bad option, no such device, no sharpd); then `session` is
/// not used. All ranks get the same failure, or the bytes of the job, which each decodes for itself (and reports a
/// failure of that in the next agreement). Rank 0 holds the grant afterwards: if a later step fails it must call
/// end_job().
Outcome<std::vector<std::byte>> begin_job(const Oob& oob, const Outcome<>& local, Session* session, JobId job_id,
                                          const Member& member, const ClientConfig& config, const Logger& log);

}  // namespace sumac::client
