#pragma once
// OSTs that are kept for a user's jobs on some hosts before they begin: `sharp_cmd reserve`, as UFM's reservations do. At each node
// that a job on all of those hosts uses, other jobs find so much less free as jobs of the reservation do not hold yet. A job belongs
// to a reservation of its user that has all of its hosts.
#include <map>
#include <string>
#include <vector>

#include "manager/holdings.hpp"

namespace sumac::manager {

class Kept {
 public:
  static constexpr std::size_t kMax = 256;

  Kept(const Cluster& cluster, const Forest& forest, const Holdings& holdings, Journal& journal)
      : cluster_(cluster), forest_(forest), holdings_(holdings), journal_(journal) {}

  void restore(std::vector<KeptOsts> saved) { all_ = std::move(saved); }
  /// Errc::invalid, not_found, exists, exhausted: it cannot be kept; the text says what to change.
  Result<> reserve(const KeptOsts& osts);
  /// Errc::not_found: there is no such reservation.
  Result<> release(const std::string& name);
  const std::vector<KeptOsts>& all() const noexcept { return all_; }

  /// The name of the reservation that a job belongs to; empty: none.
  std::string covering(const std::vector<std::string>& hosts, std::uint32_t uid) const;
  /// [node]: the OSTs in a tree that are not free for a job of reservation `own`.
  std::map<std::uint32_t, std::uint32_t> from_others(std::uint32_t tree, const std::string& own) const;

 private:
  Result<> check(const KeptOsts& osts) const;
  std::vector<std::uint32_t> nodes_of(const KeptOsts& osts, std::uint32_t tree) const;

  const Cluster& cluster_;
  const Forest& forest_;
  const Holdings& holdings_;
  Journal& journal_;
  std::vector<KeptOsts> all_;
};

}  // namespace sumac::manager
