#include "wire/proof.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "wire/agg_codec.hpp"
#include "wire/host.hpp"

namespace sumac::wire {
namespace {

/// The authenticated text: all parts have fixed sizes but the last, so no two texts can be the same bytes.
class Text {
 public:
  void put(std::string_view text) noexcept {
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void put(std::uint32_t number) noexcept {
    store_le(bytes_.data() + size_, number);
    size_ += sizeof number;
  }
  template <Message Body>
  void put(const Body& body) noexcept {
    store(bytes_.data() + size_, body);
    size_ += sizeof body;
  }
  std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, 16 + 4 + sizeof(HelloBody) + sizeof(WelcomeBody) + kAddressMax> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

bool make_proof(ProvingSide side, const Secret& key, const ProofTerms& terms, Mac& proof) noexcept {
  proof = {};
  if (terms.address.size() >= kAddressMax) return false;
  WelcomeBody welcome = terms.welcome;
  welcome.proof = {};
  Text text;
  text.put(side == ProvingSide::parent ? kParentLabel : kChildLabel);
  text.put(number_of(terms.tree_id));
  text.put(terms.hello);
  text.put(welcome);
  text.put(terms.address);
  return hmac_sha256(key, text.bytes(), proof);
}

bool proves(ProvingSide side, const Secret& key, const ProofTerms& terms, const Mac& proof) noexcept {
  Mac expected;
  return make_proof(side, key, terms, expected) && same_secret(expected, proof);
}

bool draw_nonce(Nonce& nonce) noexcept {
  const auto drawn = draw_secret();
  static_assert(sizeof(Nonce) == sizeof(Secret));
  if (drawn) std::memcpy(nonce.data(), drawn->data(), sizeof nonce);
  return static_cast<bool>(drawn);
}

bool make_pair_key(const Secret& parent_key, TreeId tree_id, NodeId child, NodeId parent, Secret& key) noexcept {
  Text text;
  text.put(kPairLabel);
  text.put(number_of(tree_id));
  text.put(number_of(child));
  text.put(number_of(parent));
  Mac mac;
  const bool made = hmac_sha256(parent_key, text.bytes(), mac);
  std::copy_n(mac.begin(), key.size(), key.begin());
  wipe(mac);
  return made;
}

bool make_datagram_key(const Secret& job_key, const Nonce& nonce, GroupId group_id, std::uint32_t child,
                       HopKey& key) noexcept {
  Text text;
  text.put(kDatagramLabel);
  text.put(std::string_view(reinterpret_cast<const char*>(nonce.data()), nonce.size()));
  text.put(number_of(group_id));
  text.put(child);
  Mac mac;
  const bool made = hmac_sha256(job_key, text.bytes(), mac);
  for (std::size_t i = 0; i < std::size(key.word); ++i) key.word[i] = load_le<std::uint64_t>(mac.data() + 8 * i);
  wipe(mac);
  return made;
}

}  // namespace sumac::wire
