#pragma once
// The collective begin of a job: the ranks attach, gather the hosts, rank 0 asks for the grant, and all ranks get it
// (docs/protocol.md, "Join" needs the same maps at every rank). If any step fails anywhere, every rank returns the same
// code.
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "client/oob.hpp"
#include "client/options.hpp"
#include "client/session.hpp"
#include "proto/path.hpp"

namespace sumac::client {

/// One of the job's trees, reduced to the nodes that its hosts need.
struct JobTree {
  std::uint32_t id = 0, index = 0, root_node = 0;
  /// The rate at which a vector passes the tree in each direction when its links are otherwise idle: a node on a host
  /// with k children has one link for all of them. 0: the tree does not limit it.
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t delay_ns = 0;      ///< The sum over the links from the farthest host to the root.
  std::uint32_t member_nodes = 0;  ///< The number of its nodes that share the link of a host of the job.
  std::vector<proto::NodeParent> nodes;
  std::vector<std::string> node_name, node_address;  ///< Indexed as `nodes`.
  std::vector<std::uint32_t> rank_leaf;              ///< The leaf node of each world rank.

  std::uint32_t connections() const;  ///< From the farthest host to the root: one for each node on that path.
  const std::string* address_of(std::uint32_t node_id) const;
  const std::string* name_of(std::uint32_t node_id) const;
};

/// The facts about the fabric from which the bound of each path of a large message (through the trees, or from host to
/// host) is computed. The trees have their own numbers.
struct FabricBounds {
  std::uint64_t host_rate_bits_per_s = 0;   ///< The slowest port of the job's hosts; 0: not known, or no limit.
  std::uint32_t hosts = 0;                  ///< The job's hosts.
  std::uint32_t rails = 0;                  ///< The ports of the host with the fewest; 0: not known.
  std::uint32_t nodes_on_member_hosts = 0;  ///< The number over all trees together, each node once.
};

/// The same at all ranks: the manager's grant, and the settings that rank 0's environment decides for all.
struct Job {
  std::uint64_t id = 0;
  wire::JobGrantedBody grant;
  bool enable_sat = false;
  std::uint64_t sat_threshold = 0;
  std::uint32_t osts_per_group = 0;  ///< SHARP_COLL_OSTS_PER_GROUP, or the user's policy; 0: the share.
  std::uint32_t lock_batch = 0;      ///< As in proto::ClientGroupConfig.
  bool lock_on_comm_init = false;
  FabricBounds fabric;
  std::vector<JobTree> trees;  ///< Ordered by their index; at least one, each with a leaf for every rank.

  bool reproducible() const;         ///< SUMAC_REPRODUCIBLE is on.
  std::uint32_t group_osts() const;  ///< The cap of one group: max(2, OSTs / groups), or the user's setting.
};

/// The form in which it travels from rank 0 to the others; decode_job() trusts nothing, since a rank may have another
/// version of the library.
std::vector<std::byte> encode_job(const Job& job);
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
Outcome<std::vector<std::byte>> begin_job(const Oob& oob, const Outcome<>& local, Session* session,
                                          std::uint64_t job_id, const Member& member, const ClientConfig& config,
                                          const Logger& log);

}  // namespace sumac::client
