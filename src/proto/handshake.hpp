#pragma once
// The child's half of the handshake (docs/protocol.md, "Who is believed"): hello, the judgement of the parent's welcome, and the proof that
// answers it. The child proves nothing before its parent has: who listens at a dead node's address learns a nonce. The parent's half:
// parent_handshake.hpp.
#include <cstdint>
#include <string>
#include <utility>

#include "base/secret.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {

/// What a child was told of the node above it.
struct ParentInfo {
  std::uint32_t node_id = 0;
  Secret key{};           ///< Of the job (a client) or of this pair of nodes.
  std::string address{};  ///< At which the parent listens, in the words that it published.
};

/// A welcome of another version is taken for a refusal, in the same words.
inline wire::RefusedBody refused_by_version(const wire::WelcomeBody& welcome) noexcept {
  return {.reason = wire::RefuseReason::version,
          .node_id = welcome.id,
          .limit = welcome.version,
          .asked = wire::kAggVersion,
          .what = wire::AggKind::hello};
}

class ChildHandshake {
 public:
  ChildHandshake() = default;
  ~ChildHandshake() { wipe(parent_.key); }
  ChildHandshake(const ChildHandshake&) = delete;
  ChildHandshake& operator=(const ChildHandshake&) = delete;

  /// For one connection; what was begun before is over.
  const wire::HelloBody& begin(const ParentInfo& parent, std::uint32_t tree_id, wire::HelloBody hello,
                               const wire::Nonce& nonce) {
    parent_ = parent;
    tree_id_ = tree_id;
    hello_ = hello;
    hello_.nonce = nonce;
    return hello_;
  }

  /// Null: the parent knows the key, and `proof` is to be sent to it at once. Else what it lacks.
  const char* judge(const wire::WelcomeBody& welcome, wire::ProofBody& proof) const noexcept {
    const wire::ProofTerms terms{tree_id_, hello_, welcome, parent_.address};
    if (welcome.id != parent_.node_id) return "welcome: of another node than the manager told";
    if (!wire::proves(wire::ProvingSide::parent, parent_.key, terms, welcome.proof))
      return "welcome: it does not know the key: another process listens at the node's address, or one of another life";
    return wire::make_proof(wire::ProvingSide::child, parent_.key, terms, proof.proof) ? nullptr
                                                                                       : "proof: it can't be made";
  }

 private:
  ParentInfo parent_;
  std::uint32_t tree_id_ = 0;
  wire::HelloBody hello_;
};

}  // namespace sumac::proto
