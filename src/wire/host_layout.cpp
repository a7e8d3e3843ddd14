// Every byte of the messages between client library and sharpd has its name here, once: see layout.hpp.
#include <algorithm>

#include "wire/host_codec.hpp"

namespace sumac::wire {
namespace {

#define F(field, meaning) SUMAC_FIELD(Self, field, meaning)

constexpr auto host_header_rows() {
  using Self = HostHeader;
  return std::array{F(magic, "0x4853, \"SH\""),
                    F(version, "1"),
                    F(kind, "HostKind, table above"),
                    F(index, "first entry of a list in this message; no list: 0"),
                    F(total, "entries of the whole list; no list: 0"),
                    F(entries, "entries in this message; no list: 0"),
                    F(job_id, "the job's id, chosen by the client; attach, attached: 0")};
}
constexpr auto attach_rows() {
  using Self = AttachBody;
  return std::array{F(world_rank, "rank of the process in its job"), F(world_size, "ranks of the job"),
                    F(local_rank, "rank among those of this host"), F(reserved, "zero")};
}
constexpr auto attached_rows() {
  using Self = AttachedBody;
  return std::array{
      F(host, "this host's name as the manager knows it, closed by a zero"),
      F(devices, "ports for programs that name none, \"mlx5_0:1,mlx5_1:1\", closed by a zero; empty: any")};
}
/// The rows of the Quota at the front of a body, and then `rest`.
template <std::size_t n>
constexpr auto after_quota(const std::array<FieldRow, n>& rest) {
  using Self = Quota;
  constexpr std::array kQuota{F(osts, "operations in flight"),
                              F(payload_per_ost, "bytes of one"),
                              F(max_groups, "communicators"),
                              F(max_qps, "connections of a port"),
                              F(max_group_channels, "members of a group on one host"),
                              F(num_trees, "trees"),
                              F(stream_window, "streaming chunks in flight; 0: no streaming"),
                              F(chunk_bytes, "bytes of a streaming chunk"),
                              F(features, "bits of enum sharp_job_features")};
  std::array<FieldRow, kQuota.size() + n> all;
  std::copy(rest.begin(), rest.end(), std::copy(kQuota.begin(), kQuota.end(), all.begin()));
  return all;
}
constexpr auto job_begin_rows() {
  using Self = JobBeginBody;
  return after_quota(
      std::array{F(world_size, "ranks of the job"), F(host_count, "names that follow in job_host"),
                 F(devices, "ports that the job wants to use, \"mlx5_0:1,mlx5_1:1\", closed by a zero; empty: any"),
                 F(flags, "1: the job outlives its trees"),
                 F(queue_seconds, "how long it may wait for its turn; 0: refused where there is no room")});
}
constexpr auto job_host_rows() {
  using Self = JobHostEntry;
  return std::array{F(host, "name of a host of the job, closed by a zero")};
}
constexpr auto job_granted_rows() {
  using Self = JobGrantedBody;
  return after_quota(std::array{F(tree_count, "trees granted: as many job_tree follow"),
                                F(rails, "ports of the job's host that has fewest; 0: not known"),
                                F(nodes_on_member_hosts, "nodes on hosts of the job, of all trees, each once"),
                                F(times_again, "how often it has been given trees again"),
                                F(host_rate_bits_per_s, "slowest port of the job's hosts; 0: no limit, or not known"),
                                F(job_key, "what members show to the nodes. Dumps don't show it")});
}
constexpr auto job_tree_rows() {
  using Self = JobTreeBody;
  return std::array{F(tree_id, "the tree"),
                    F(tree_index, "of the trees granted, from 0"),
                    F(root_node, "id of the tree's root"),
                    F(node_count, "entries that follow in job_node"),
                    F(rate_bits_per_s, "of a vector through the tree, each way; 0: not limited by it"),
                    F(delay_ns, "of the links from the farthest host to the root"),
                    F(member_nodes, "of its nodes, those on hosts of the job"),
                    F(reserved, "zero")};
}
constexpr auto job_node_rows() {
  using Self = JobNodeEntry;
  return std::array{F(node_id, "a node of the tree"), F(parent_id, "its parent; the root is its own"),
                    F(name, "its name, closed by a zero"), F(address, "its transport address, closed by a zero")};
}
constexpr auto job_leaf_rows() {
  using Self = JobLeafEntry;
  return std::array{F(node_id, "leaf node of the host with this number in job_host")};
}
constexpr auto job_refused_rows() {
  using Self = JobRefusedBody;
  return std::array{F(status, "number of the lower layer, positive: 35 job error, 52 no manager"), F(reserved, "zero"),
                    F(text, "what was short or wrong, for people, closed by a zero")};
}
constexpr auto member_rows() {
  using Self = MemberBody;
  return std::array{F(world_rank, "rank of the process in the job"), F(flags, "member: 1 wants rank_died; else zero"),
                    F(job_key, "member: of the job: this process was let in. Dumps don't show it")};
}
constexpr auto trees_wanted_rows() {
  using Self = TreesWantedBody;
  return std::array{F(times_again, "job_granted's, of the trees that are of no use"), F(reserved, "zero")};
}

#undef F

}  // namespace

SUMAC_LAYOUT(HostHeader, host_header_rows)
SUMAC_LAYOUT(AttachBody, attach_rows)
SUMAC_LAYOUT(AttachedBody, attached_rows)
SUMAC_LAYOUT(JobBeginBody, job_begin_rows)
SUMAC_LAYOUT(JobHostEntry, job_host_rows)
SUMAC_LAYOUT(JobGrantedBody, job_granted_rows)
SUMAC_LAYOUT(JobTreeBody, job_tree_rows)
SUMAC_LAYOUT(JobNodeEntry, job_node_rows)
SUMAC_LAYOUT(JobLeafEntry, job_leaf_rows)
SUMAC_LAYOUT(JobRefusedBody, job_refused_rows)
SUMAC_LAYOUT(MemberBody, member_rows)
SUMAC_LAYOUT(TreesWantedBody, trees_wanted_rows)

std::span<const FieldRow> host_layout(HostKind kind) noexcept {
  switch (kind) {
    case HostKind::attach: return layout<AttachBody>();
    case HostKind::attached: return layout<AttachedBody>();
    case HostKind::job_begin: return layout<JobBeginBody>();
    case HostKind::job_host: return layout<JobHostEntry>();
    case HostKind::job_granted: return layout<JobGrantedBody>();
    case HostKind::job_tree: return layout<JobTreeBody>();
    case HostKind::job_node: return layout<JobNodeEntry>();
    case HostKind::job_leaf: return layout<JobLeafEntry>();
    case HostKind::job_refused: return layout<JobRefusedBody>();
    case HostKind::member:
    case HostKind::rank_died: return layout<MemberBody>();
    case HostKind::trees_wanted: return layout<TreesWantedBody>();
    case HostKind::job_end:
    case HostKind::job_ended:
    case HostKind::leave: return {};
  }
  return {};
}

}  // namespace sumac::wire
