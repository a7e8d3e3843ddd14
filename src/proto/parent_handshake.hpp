#pragma once
// The parent's half of the handshake (docs/protocol.md, "Who is believed"): a child's hello is answered with this node's own proof, and its
// words are kept until its proof has shown that they are true. The child's half: handshake.hpp.
#include <string>

#include "proto/node_context.hpp"
#include "wire/proof.hpp"

namespace sumac::proto {

class ParentHandshake {
 public:
  explicit ParentHandshake(NodeContext& ctx) noexcept : ctx_(ctx) {}

  /// A message on a link that has not proven itself. Null: well; else what is wrong with it, and `more` may have more words on that.
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
