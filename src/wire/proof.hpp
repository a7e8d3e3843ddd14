#pragma once
// How the two ends of a connection prove to each other that they know its key, without sending it. Each proves it about everything that
// hello and welcome said (both nonces, who, which version) and about the address at which the parent listens: what is said on one
// connection is of no use on another, at another node, or in the other direction. docs/adr/0050.
#include <cstdint>
#include <string_view>

#include "base/hmac.hpp"
#include "base/secret.hpp"
#include "wire/agg.hpp"

namespace sumac::wire {

inline constexpr std::string_view kParentLabel = "sumac parent v1\n", kChildLabel = "sumac child v1 \n",
                                  kPairLabel = "sumac pair v1  \n";
static_assert(kParentLabel.size() == 16 && kChildLabel.size() == 16 && kPairLabel.size() == 16);

/// What one connection's proofs are about.
struct ProofTerms {
  std::uint32_t tree_id = 0;
  HelloBody hello;
  WelcomeBody welcome;       ///< Its own proof does not count.
  std::string_view address;  ///< At which the parent listens, as the manager tells it; below kAddressMax.
};

enum class ProvingSide : std::uint8_t { parent, child };

/// False: it can't be made (base/hmac.hpp); nobody may be believed then.
[[nodiscard]] bool make_proof(ProvingSide side, const Secret& key, const ProofTerms& terms, Mac& proof) noexcept;
[[nodiscard]] bool proves(ProvingSide side, const Secret& key, const ProofTerms& terms, const Mac& proof) noexcept;

/// The key of a child node and its parent, which knows it by its own; a child is given it by the manager. None is of use for another pair.
[[nodiscard]] bool make_pair_key(const Secret& parent_key, std::uint32_t tree_id, std::uint32_t child,
                                 std::uint32_t parent, Secret& key) noexcept;

}  // namespace sumac::wire
