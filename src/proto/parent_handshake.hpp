#pragma once
// The parent's half of the handshake (docs/protocol.md, "Connections"): this node answers a child's hello with its own
// proof, and keeps the hello until the child's proof has shown that it is true. The child's half is in handshake.hpp.
#include <string>

#include "proto/node_context.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {

class ParentHandshake {
 public:
  explicit ParentHandshake(NodeContext& ctx) noexcept : ctx_(ctx) {}

  /// Handles a message on a link that has not proven itself. Returns null, or the fault of the message; `more` may get
  /// more text on it.
  const char* judge(Link& link, const wire::AggHeader& header, const BufferRef& frame, std::string& more);

 private:
  const char* hello(Link& link, const wire::HelloBody& body, std::string& more);
  const char* proof(Link& link, const wire::ProofBody& body);
  bool has_room_for(const Job& job) const;
  bool key_of(const wire::HelloBody& hello, Secret& key) const noexcept;
  wire::WelcomeBody welcome_of(const Link& link) const noexcept;
  wire::ProofTerms terms_of(const Link& link) const noexcept;

  NodeContext& ctx_;
};

}  // namespace sumac::proto
