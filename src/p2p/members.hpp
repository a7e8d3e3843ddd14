#pragma once
// The members of a group, as they learn of each other before they are connected: one blob of each, exchanged by the
// caller's own means. Rank 0's blob has the group's key and the settings that all use.
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac::p2p {

struct Introduction {
  std::string address, host;
  std::uint64_t rate_bits_per_s = 0;  ///< The rate of the link that others come by; 0: not known.
  bool reproducible = false;
};

struct Members {
  std::uint32_t group = 0;
  Secret key{};
  bool reproducible = false;
  std::uint64_t rate_bits_per_s = 0;  ///< The least of all members; 0: somebody does not know it.
  std::vector<std::string> addresses, hosts;

  ~Members() { wipe(key); }
  Members() = default;
  Members(Members&&) = default;
  Members& operator=(Members&&) = default;
};

/// Returns the blob of one member. Every member draws a key; rank 0's is used.
Result<std::vector<std::byte>> introduce(std::uint32_t rank, std::uint32_t size, const Introduction& me);
/// Reads the blobs of all members.
Result<Members> read_introductions(std::span<const std::byte> blobs, std::uint32_t size);

/// The link rate of the interface with this address, if it is a real device and says so; otherwise 0.
std::uint64_t link_rate_of(std::string_view transport_address);

}  // namespace sumac::p2p
