#pragma once
// A child's messages to a node, byte by byte: enough of the protocol to join one group, then frames that are made once
// and differ only in their number. The bare loop gets the same bytes and reads none of them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac::bench {

/// The transport's header and the message's, which precede the payload.
inline constexpr std::size_t kFrameBytes = 8 + 64;
inline constexpr JobId kJob{7};  ///< The job that node-data grants.
inline constexpr Secret kJobKey{};
inline constexpr NodeId kNode{1};
inline constexpr TreeId kTree{1};

struct Talk {
  std::uint32_t children = 8;
  std::size_t bytes = 8;
  std::uint32_t window = 1;
  bool streaming = false;
};

/// A blocking connection with the transport's own socket options.
Result<UniqueFd> connect_child(const std::string& address);

/// Greets, opens a group (child 0), joins with all children and waits until the group stands. Returns the group's id.
Result<GroupId> form_group(const std::vector<UniqueFd>& children, const Talk& talk);

/// The frame's header and the message's for number `sequence` of child `child`; kFrameBytes.
void write_head(std::byte* to, const Talk& talk, GroupId group, std::uint32_t child, std::uint32_t sequence);
/// Element i of child `child` is (child + 1) x (i % 97), float32, so that sums are exact.
std::vector<std::byte> contribution(const Talk& talk, std::uint32_t child);
/// The expected result for `sequence`, with its header.
std::vector<std::byte> expected_result(const Talk& talk, GroupId group, std::uint32_t sequence);

}  // namespace sumac::bench
