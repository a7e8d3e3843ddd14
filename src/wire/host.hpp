#pragma once
// The messages between the client library and sharpd, over a unix SOCK_SEQPACKET socket, have a fixed size of 1024
// bytes. sharpd believes the kernel's peer credentials and never a pid or user named in a message.
//
// A conversation:   library                      sharpd
//                   attach                  ->
//                                           <-   attached (this host's name as the manager knows it)
//   rank 0 only:    job_begin, job_host...  ->
//                                           <-   job_granted, and for each tree job_tree, job_node..., job_leaf...
//                                                or   job_refused
//   rank 0 only:    job_end                 ->
//                                           <-   job_ended
//   each rank:      member                  ->   if the process ends before it sends leave, the job's other ranks learn
//                                                of its death
//                                           <-   rank_died, where it asked for that in member and a rank of the job on
//                                                this host died
//                                           <-   job_granted, job_tree and so on, where it asked for rank_died: the job,
//                                                which has lost its trees, has others
//                   trees_wanted            ->   those that the job has are of no use to one of its groups
//                   leave                   ->
//
// A list (job_host, job_node, job_leaf) is `total` entries numbered by `index`, several to a message where they are
// small.
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "wire/quota.hpp"

namespace sumac::wire {

inline constexpr std::uint16_t kHostMagic = 0x4853;  // "SH"
inline constexpr std::uint8_t kHostVersion = 1;
inline constexpr std::size_t kHostMessageBytes = 1024;
inline constexpr std::size_t kHostBodyBytes = kHostMessageBytes - 24;
inline constexpr std::size_t kHostNameMax = 64;  ///< Bytes of a name, the closing zero included.
inline constexpr std::size_t kAddressMax = 800;  ///< A transport address in text, with the closing zero.
inline constexpr std::size_t kDevicesMax = 256;  ///< A list of ports, "mlx5_0:1,mlx5_1:1", with the closing zero.

enum class HostKind : std::uint8_t {
  attach = 1,
  attached = 2,
  job_begin = 3,
  job_host = 4,
  job_granted = 5,
  job_node = 6,
  job_leaf = 7,
  job_refused = 8,
  job_end = 9,
  job_ended = 10,
  job_tree = 11,
  member = 12,
  leave = 13,
  rank_died = 14,
  trees_wanted = 15,
};

struct HostHeader {
  std::uint16_t magic = kHostMagic;
  std::uint8_t version = kHostVersion;
  HostKind kind = HostKind::attach;
  std::uint32_t index = 0;    ///< First entry of a list in this message.
  std::uint32_t total = 0;    ///< Entries of the whole list.
  std::uint32_t entries = 0;  ///< Entries in this message.
  JobId job_id{};
};
static_assert(sizeof(HostHeader) == 24 && std::has_unique_object_representations_v<HostHeader>);

struct AttachBody {
  WorldRank world_rank{};
  std::uint32_t world_size = 0, local_rank = 0, reserved = 0;
};
struct AttachedBody {
  std::array<char, kHostNameMax> host{};
  std::array<char, kDevicesMax> devices{};  ///< Ports for programs on this host that name none; empty: any.
};
struct JobBeginBody {
  Quota quota;
  std::uint32_t world_size = 0, host_count = 0;
  std::array<char, kDevicesMax> devices{};  ///< Ports of its hosts that the job wants to use; empty: any.
  std::uint32_t flags = 0;                  ///< kOutlivesTrees
  std::uint32_t queue_seconds = 0;  ///< So long it may wait for its turn; 0: it is refused where there is no room.
};
/// JobBeginBody::flags: if the job loses a tree it goes on, and is given trees again.
inline constexpr std::uint32_t kOutlivesTrees = 1;
/// job_host has one name per host of the job, each once; the reply's job_leaf has the same order.
struct JobHostEntry {
  std::array<char, kHostNameMax> host{};
};
/// `quota` applies to each of `tree_count` trees. The fabric's figures are those that the bounds of large messages need.
struct JobGrantedBody {
  Quota quota;
  std::uint32_t tree_count = 0;
  std::uint32_t rails = 0;                  ///< Ports of the job's host that has the fewest.
  std::uint32_t nodes_on_member_hosts = 0;  ///< Nodes of all trees together, each counted once.
  std::uint32_t times_again = 0;            ///< The job has been given trees again so often; 0: this answers its begin.
  std::uint64_t host_rate_bits_per_s = 0;   ///< Rate of the slowest port of the job's hosts; 0: not known, or no limit.
  std::array<std::uint8_t, 16> job_key{};
};
struct JobTreeBody {
  TreeId tree_id{};
  std::uint32_t tree_index = 0;
  NodeId root_node{};
  std::uint32_t node_count = 0;
  std::uint64_t rate_bits_per_s = 0;  ///< Rate of a vector through the tree, in each direction; 0: the tree does not
                                      ///< limit it.
  std::uint64_t delay_ns = 0;         ///< Delay of the links from the farthest host to the root.
  std::uint32_t member_nodes = 0;     ///< Nodes of this tree that run on hosts of the job.
  std::uint32_t reserved = 0;
};
struct JobNodeEntry {
  NodeId node_id{}, parent_id{};  ///< The root is its own parent.
  std::array<char, kHostNameMax> name{};
  std::array<char, kAddressMax> address{};
};
struct JobLeafEntry {
  NodeId node_id{};
};
struct JobRefusedBody {
  std::uint32_t status = 0;  ///< Positive value of the low-level library's status: 35 job error, 52 no manager.
  std::uint32_t reserved = 0;
  std::array<char, 512> text{};  ///< The missing or wrong thing, for people.
};

/// MemberBody::flags.
inline constexpr std::uint32_t kHearsDeaths = 1;
/// member: states that this process is that rank of the job; the key proves that the job admitted it. rank_died: the rank
/// is dead; all else is zero.
struct MemberBody {
  WorldRank world_rank{};
  std::uint32_t flags = 0;  ///< kHearsDeaths: sharpd sends rank_died.
  std::array<std::uint8_t, 16> job_key{};
};

struct TreesWantedBody {
  std::uint32_t times_again = 0;  ///< JobGrantedBody::times_again of the trees that are of no use.
  std::uint32_t reserved = 0;
};

struct HostMessage {
  HostHeader header;
  std::array<std::byte, kHostBodyBytes> body{};
};
static_assert(sizeof(HostMessage) == kHostMessageBytes);
static_assert(sizeof(JobNodeEntry) <= kHostBodyBytes && sizeof(JobGrantedBody) <= kHostBodyBytes);
/// Exceeds the planes and spare hosts of any fabric: it bounds the memory that a peer can make us use.
inline constexpr std::uint32_t kTreesMax = 64;

}  // namespace sumac::wire
