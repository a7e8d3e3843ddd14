#pragma once
// The child's half of the handshake (docs/protocol.md, "Connections"): the hello, the judgement of the parent's
// welcome, and the proof that answers it. The child proves nothing before its parent has: a process that listens at a
// dead node's address receives nothing but a nonce. The parent's half is in parent_handshake.hpp.
#include <cstdint>
#include <string>
#include <utility>

#include "base/secret.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {

/// A child's knowledge of the node above it.
struct ParentInfo {
  NodeId node_id{};
  Secret key{};           ///< The job's key (for a client), or the key of this pair of nodes.
  std::string address{};  ///< The address at which the parent listens, as it published it.
  std::string name{};     ///< The name for people.
};

/// A welcome of another version counts as a refusal, and is reported with the same text.
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

  /// Begins the handshake on one connection; an earlier handshake is over.
  const wire::HelloBody& begin(const ParentInfo& parent, TreeId tree_id, wire::HelloBody hello,
                               const wire::Nonce& nonce) {
    parent_ = parent;
    tree_id_ = tree_id;
    hello_ = hello;
    hello_.nonce = nonce;
    return hello_;
  }

  /// Returns null when the parent knows the key; the caller then sends it `proof` at once. Otherwise returns the fault
  /// of the welcome.
  const char* judge(const wire::WelcomeBody& welcome, wire::ProofBody& proof) const noexcept {
    const wire::ProofTerms terms{tree_id_, hello_, welcome, parent_.address};
    if (welcome.id != parent_.node_id) return "welcome: another node than the manager named answers at this address";
    if (!wire::proves(wire::ProvingSide::parent, parent_.key, terms, welcome.proof))
      return "welcome: it does not know the key: another process listens at the node's address, or the node was "
             "restarted";
    return wire::make_proof(wire::ProvingSide::child, parent_.key, terms, proof.proof) ? nullptr
                                                                                       : "proof: it can't be made";
  }

 private:
  ParentInfo parent_;
  TreeId tree_id_{};
  wire::HelloBody hello_;
};

}  // namespace sumac::proto
