#pragma once
// The manager's answer to the begin of a job, as sharpd sends it (src/wire/host.hpp): job_granted, and for each tree
// job_tree, job_node and job_leaf. Rank 0 reads it from sharpd and passes the same messages on, so every rank reads it
// with the same GrantReader.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "proto/path.hpp"
#include "wire/host.hpp"

namespace sumac::client {

/// One of the job's trees, reduced to the nodes that its hosts need.
struct JobTree {
  wire::JobTreeBody body;
  std::vector<proto::NodeParent> nodes;
  std::vector<std::string> node_name, node_address;  ///< Indexed as `nodes`.
  std::vector<NodeId> host_leaf;                     ///< The leaf node of each host, in the order of job_begin's hosts.

  std::uint32_t connections() const;  ///< From the farthest host to the root: one for each node on that path.
  const std::string* address_of(NodeId node_id) const;
  const std::string* name_of(NodeId node_id) const;
};

struct Grant {
  wire::JobGrantedBody job;
  std::vector<JobTree> trees;  ///< Ordered by their index; at least one.
};

class GrantReader {
 public:
  GrantReader(JobId job_id, std::uint32_t hosts) : job_id_(job_id), hosts_(hosts) {}

  /// Reads the next message, which was decoded already. Errc::invalid: another message is due; then the reader is of no
  /// further use.
  Result<> read(const wire::HostMessage& message);
  bool whole() const noexcept;
  /// Returns the grant, which must be whole.
  Grant take() { return std::move(grant_); }

 private:
  wire::HostHeader due() const noexcept;  ///< The header of the next message; a list with one entry stands for more.

  const JobId job_id_;
  const std::uint32_t hosts_;
  Grant grant_{};  ///< `job.tree_count` is 0 until job_granted was read.
};

}  // namespace sumac::client
