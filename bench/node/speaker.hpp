#pragma once
// What a child says to a node, byte by byte: enough of the protocol to join one group, then frames that are made once and differ
// only in their number. The same bytes go to the bare loop, which reads none of them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac::bench {

inline constexpr std::size_t kFrameBytes =
    8 + 64;                               ///< In front of the payload: the transport's header and the message's.
inline constexpr std::uint64_t kJob = 7;  ///< What node-data grants.
inline constexpr Secret kJobKey{};
inline constexpr std::uint32_t kNode = 1, kTree = 1;

struct Talk {
  std::uint32_t children = 8;
  std::size_t bytes = 8;
  std::uint32_t window = 1;
  bool streaming = false;
};

/// A blocking connection with the transport's own socket options.
Result<UniqueFd> connect_child(const std::string& address);

/// Greets, opens a group (child 0), joins with all and waits until it stands. The id of the group.
Result<std::uint32_t> form_group(const std::vector<UniqueFd>& children, const Talk& talk);

/// The frame's header and the message's for number `sequence` of child `child`; kFrameBytes.
void write_head(std::byte* to, const Talk& talk, std::uint32_t group, std::uint32_t child, std::uint32_t sequence);
/// Child `child` gives element i (child + 1) x (i % 97), float32: sums are exact.
std::vector<std::byte> contribution(const Talk& talk, std::uint32_t child);
/// What must come back for `sequence`, header and all.
std::vector<std::byte> expected_result(const Talk& talk, std::uint32_t group, std::uint32_t sequence);

}  // namespace sumac::bench
