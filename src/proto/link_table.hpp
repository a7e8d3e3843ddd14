#pragma once
// The child links of a node, found by the shell's number on every message: open addressing, no allocation but at
// set-up.
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "proto/link.hpp"

namespace sumac::proto {

inline constexpr std::uint16_t kNoChild = 0xFFFF;

/// A child, or who says it is one: until `proven` this record is all that is kept of it, and only its handshake is looked at.
struct Link {
  LinkId id{};
  bool greeted = false;  ///< It has said hello, and was answered.
  bool proven = false;   ///< It knows the key of what it said it is.
  wire::Nonce nonce{};   ///< Ours, of this connection.
  wire::HelloBody hello{};
  // What follows is of a proven one.
  wire::Role role = wire::Role::client;
  std::uint64_t job_id = 0, job_life = 0;  ///< Of a client: the grant whose key it knows.
  std::uint32_t user = 0;                  ///< Of that job.
  std::uint32_t peer = 0;                  ///< World rank of a client, node id of a node.
  wire::NameBody name{};                   ///< Of the host or node, for people; empty: it did not say.
  std::size_t allowed = 0;                 ///< Outbox::allow().
  std::vector<std::uint16_t> child_of;     ///< [group number]: which child this link is there.
};

class LinkTable {
 public:
  Link* find(LinkId id) const noexcept {
    if (cells_.empty()) return nullptr;
    for (std::size_t at = home(id);; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].value == id.value) return cells_[at].link.get();
      if (cells_[at].value == 0) return nullptr;
    }
  }
  Link& add(LinkId id) {
    if ((count_ + 1) * 2 > cells_.size()) resize(cells_.empty() ? 16 : cells_.size() * 2);
    auto link = std::make_unique<Link>();
    link->id = id;
    Link& added = *link;
    insert(id.value, std::move(link));
    ++count_;
    return added;
  }
  void remove(LinkId id) {
    if (cells_.empty()) return;
    const std::size_t mask = cells_.size() - 1;
    std::size_t hole = home(id);
    while (cells_[hole].value != id.value) {
      if (cells_[hole].value == 0) return;
      hole = (hole + 1) & mask;
    }
    cells_[hole] = {};
    --count_;
    // Those behind it that passed over this cell on their way from home move up: each must be found without a gap.
    for (std::size_t at = (hole + 1) & mask; cells_[at].value != 0; at = (at + 1) & mask) {
      const std::size_t from_home = (at - home({cells_[at].value})) & mask, from_hole = (at - hole) & mask;
      if (from_home < from_hole) continue;
      cells_[hole] = std::exchange(cells_[at], Cell{});
      hole = at;
    }
  }
  std::size_t size() const noexcept { return count_; }
  /// `visit` may not add or remove.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const Cell& cell : cells_)
      if (cell.value != 0) visit(*cell.link);
  }

 private:
  struct Cell {
    std::uint32_t value = 0;
    std::unique_ptr<Link> link;
  };
  std::size_t home(LinkId id) const noexcept { return (id.value * 0x9e3779b1u >> 7) & (cells_.size() - 1); }
  void insert(std::uint32_t value, std::unique_ptr<Link> link) {
    std::size_t at = home({value});
    while (cells_[at].value != 0) at = (at + 1) & (cells_.size() - 1);
    cells_[at] = {value, std::move(link)};
  }
  void resize(std::size_t size) {
    std::vector<Cell> old = std::move(cells_);
    cells_ = std::vector<Cell>(size);
    for (Cell& cell : old)
      if (cell.value != 0) insert(cell.value, std::move(cell.link));
  }
  std::vector<Cell> cells_;
  std::size_t count_ = 0;
};

}  // namespace sumac::proto
