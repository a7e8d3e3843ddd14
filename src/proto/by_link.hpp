#pragma once
// The reasons why an operation goes by the links of its tree and not by the hop, as datagrams (docs/protocol.md).
#include <cstdint>

namespace sumac::proto {

enum class ByLink : std::uint8_t {
  none,          ///< It goes as a datagram, once all members know that these arrive.
  not_offered,   ///< Some node or member takes no datagrams.
  no_answer,     ///< The trial has failed.
  kind,          ///< Nodes answer barriers, allreduces, reduces and bcasts.
  size,          ///< It is larger than a datagram, or streams.
  operation,     ///< No kernel adds it up.
  order,         ///< Its sum has an order, and the ranks of some child are no block of the canonical tree.
  returns_early  ///< Somebody must repeat its frames while its caller computes, and nobody does.
};

/// Returns the reason as a clause for people.
const char* describe(ByLink why) noexcept;

}  // namespace sumac::proto
