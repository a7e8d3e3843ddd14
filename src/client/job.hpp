#pragma once
// Begin of a job, together: attach, gather the hosts, rank 0 asks for the grant, all learn of it (docs/protocol.md, "Join" needs the same
// maps at every rank). Whatever fails anywhere, every rank returns the same code.
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "client/oob.hpp"
#include "client/options.hpp"
#include "client/session.hpp"
#include "proto/path.hpp"

namespace sumac::client {

/// One of the job's trees, cut down to the nodes that its hosts need.
struct JobTree {
  std::uint32_t id = 0, index = 0, root_node = 0;
  /// What a vector passes it with, each way, when nothing else uses its links: a node on a host with k children has one link
  /// for all of them. 0: not limited by it.
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t delay_ns = 0;      ///< Of the links from the farthest host to the root.
  std::uint32_t member_nodes = 0;  ///< Of its nodes, those that share the link of a host of the job.
  std::vector<proto::NodeParent> nodes;
  std::vector<std::string> node_name, node_address;  ///< Beside `nodes`.
  std::vector<std::uint32_t> rank_leaf;              ///< Leaf node of each world rank.

  std::uint32_t connections() const;  ///< From the farthest host to the root: as many as nodes on that way.
  const std::string* address_of(std::uint32_t node_id) const;
  const std::string* name_of(std::uint32_t node_id) const;
};

/// What the bound of each way of a large message (through the trees, or from host to host) needs to know of the fabric. The
/// trees bring their own numbers.
struct FabricBounds {
  std::uint64_t host_rate_bits_per_s = 0;   ///< Of the slowest port of the job's hosts; 0: not known, or no limit.
  std::uint32_t hosts = 0;                  ///< Of the job.
  std::uint32_t rails = 0;                  ///< Ports of the host that has fewest; 0: not known.
  std::uint32_t nodes_on_member_hosts = 0;  ///< Of all trees together, each node once.
};

/// The same at all ranks: what the manager granted, and what rank 0's environment settles for everybody.
struct Job {
  std::uint64_t id = 0;
  wire::JobGrantedBody grant;
  bool enable_sat = false;
  std::uint64_t sat_threshold = 0;
  std::uint32_t osts_per_group = 0;  ///< SHARP_COLL_OSTS_PER_GROUP, or what the user's policy gives; 0: the share.
  std::uint32_t lock_batch = 0;      ///< As in proto::ClientGroupConfig.
  bool lock_on_comm_init = false;
  FabricBounds fabric;
  std::vector<JobTree> trees;  ///< By their index; at least one, each with a leaf for every rank.

  bool reproducible() const;         ///< SUMAC_REPRODUCIBLE.
  std::uint32_t group_osts() const;  ///< Cap of one group: max(2, OSTs / groups), or what the user set.
};

/// As it travels from rank 0 to the others; decode believes nothing (a rank with another version of the library).
std::vector<std::byte> encode_job(const Job& job);
Outcome<Job> decode_job(std::span<const std::byte> bytes);

/// What this process is among the members of a group.
struct Member {
  std::uint32_t channel = 0;  ///< Which of its host's members, where there are several (sockets' leaders).
  std::string devices{};      ///< Ports that it wants to use, for the manager; empty: any. Rank 0's count.
};

/// Collective. `local` is what went wrong here before (bad option, no such device, no sharpd), then `session` is not used.
/// All ranks get the same failure, or the bytes of the job, which each decodes for itself (and says in the next agreement if it
/// can't). Rank 0 holds the grant afterwards: if a later step fails it must end_job().
Outcome<std::vector<std::byte>> begin_job(const Oob& oob, const Outcome<>& local, Session* session,
                                          std::uint64_t job_id, const Member& member, const ClientConfig& config,
                                          const Logger& log);

}  // namespace sumac::client
