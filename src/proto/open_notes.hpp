#pragma once
// This header belongs to src/proto alone: it records the link that an Open came from, so that the answer finds its path
// back. A lost answer leaves a record that is never asked for, so the oldest records are dropped first.
#include <deque>
#include <unordered_map>

#include "proto/id_pool.hpp"
#include "proto/link.hpp"

namespace sumac::proto {

class OpenNotes {
 public:
  struct Note {
    LinkId link{};
    wire::OpenBody body{};
  };
  explicit OpenNotes(std::size_t limit) : limit_(limit) {}

  void put(LinkId link, const wire::OpenBody& body) {
    const TokenKey key{body.job_id, body.token};
    if (notes_.insert_or_assign(key, Note{link, body}).second) order_.push_back(key);
    while (notes_.size() > limit_) {
      notes_.erase(order_.front());
      order_.pop_front();
    }
    if (order_.size() > 4 * limit_) std::erase_if(order_, [&](const TokenKey& k) { return !notes_.contains(k); });
  }
  /// Returns the link to answer and deletes the record. Returns none when no link waits for it.
  LinkId take(const TokenKey& key) {
    const auto found = notes_.find(key);
    if (found == notes_.end()) return {};
    const LinkId link = found->second.link;
    notes_.erase(found);
    return link;
  }
  void link_closed(LinkId link) {
    std::erase_if(notes_, [&](const auto& entry) { return entry.second.link == link; });
  }
  const auto& all() const noexcept { return notes_; }

 private:
  std::size_t limit_;
  std::unordered_map<TokenKey, Note, TokenHash> notes_;
  std::deque<TokenKey> order_;
};

}  // namespace sumac::proto
