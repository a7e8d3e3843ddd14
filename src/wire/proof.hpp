#pragma once
// The two ends of a connection prove to each other that they know its key, without sending it. Each proof covers the
// whole content of hello and welcome (both nonces, identities, versions) and the address at which the parent listens: a
// proof made on one connection is useless on another, at another node, or in the other direction. See docs/adr/0050.
#include <cstdint>
#include <string_view>

#include "base/hmac.hpp"
#include "base/secret.hpp"
#include "hop/payload.h"
#include "wire/agg.hpp"

namespace sumac::wire {

inline constexpr std::string_view kParentLabel = "sumac parent v1\n", kChildLabel = "sumac child v1 \n",
                                  kPairLabel = "sumac pair v1  \n", kDatagramLabel = "sumac datagrams\n";
static_assert(kParentLabel.size() == 16 && kChildLabel.size() == 16 && kPairLabel.size() == 16 &&
              kDatagramLabel.size() == 16);

/// The content that one connection's proofs cover.
struct ProofTerms {
  TreeId tree_id{};
  HelloBody hello;
  WelcomeBody welcome;       ///< The proof field in it is not covered.
  std::string_view address;  ///< The address at which the parent listens, as the manager published it; shorter than
                             ///< kAddressMax.
};

enum class ProvingSide : std::uint8_t { parent, child };

/// Returns false when the proof cannot be made (base/hmac.hpp); then no peer may be believed.
[[nodiscard]] bool make_proof(ProvingSide side, const Secret& key, const ProofTerms& terms, Mac& proof) noexcept;
[[nodiscard]] bool proves(ProvingSide side, const Secret& key, const ProofTerms& terms, const Mac& proof) noexcept;

/// Returns false when there are no random numbers.
[[nodiscard]] bool draw_nonce(Nonce& nonce) noexcept;

/// Derives the key of a child node and its parent. The parent makes it from its own key, the manager gives it to the
/// child, and it is useless for any other pair.
[[nodiscard]] bool make_pair_key(const Secret& parent_key, TreeId tree_id, NodeId child, NodeId parent,
                                 Secret& key) noexcept;

inline constexpr std::uint32_t kResults = 0xFFFFFFFF;  ///< In place of a child.

/// Derives the key of the tags of one child's datagrams, or of the results (kResults), which all children share.
[[nodiscard]] bool make_datagram_key(const Secret& job_key, const Nonce& nonce, GroupId group_id, std::uint32_t child,
                                     HopKey& key) noexcept;

}  // namespace sumac::wire
