#pragma once
// The child links of a node, found by the shell's number on every message: open addressing, which allocates only at
// set-up.
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "proto/link.hpp"

namespace sumac::proto {

inline constexpr std::uint16_t kNoChild = 0xFFFF;

/// A child, or a peer that claims to be one: until `proven` this record is all that the node keeps of it, and the node
/// reads only its handshake.
struct Link {
  LinkId id{};
  bool greeted = false;  ///< It has said hello, and was answered.
  bool proven = false;   ///< It knows the key of the identity that it claimed.
  wire::Nonce nonce{};   ///< This node's nonce for this connection.
  wire::HelloBody hello{};
  // The fields from here on are valid only when the link is proven.
  wire::Role role = wire::Role::client;
  JobId job_id{};                       ///< For a client: the job whose key it knows.
  std::uint64_t job_life = 0;           ///< The grant of that job.
  std::uint32_t user = 0;               ///< The owner of that job.
  std::uint32_t peer = 0;               ///< World rank of a client, node id of a node.
  wire::NameBody name{};                ///< Name of the host or node, for people; empty: the peer sent none.
  std::size_t allowed = 0;              ///< The bytes last passed to Outbox::allow().
  std::vector<std::uint16_t> child_of;  ///< [group number]: the index of this link among the group's children.
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
    // Later cells that were pushed past this one move up: a search from a key's home cell must meet no gap.
    for (std::size_t at = (hole + 1) & mask; cells_[at].value != 0; at = (at + 1) & mask) {
      const std::size_t from_home = (at - home({cells_[at].value})) & mask, from_hole = (at - hole) & mask;
      if (from_home < from_hole) continue;
      cells_[hole] = std::exchange(cells_[at], Cell{});
      hole = at;
    }
  }
  std::size_t size() const noexcept { return count_; }
  /// `visit` must not add or remove links.
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
