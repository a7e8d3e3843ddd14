#pragma once
// Holdings count the resources that jobs hold of each node's part in each tree, and so what is left there. No resource is granted twice: these sums decide.
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "manager/job.hpp"

namespace sumac::manager {

class Holdings {
 public:
  Holdings(const Cluster& cluster, const Forest& forest) : cluster_(cluster), forest_(forest) {}

  void take(const Job& job);
  void give_back(const Job& job);
  /// The share is held at other nodes from now on.
  void move(const Job& job, std::size_t share, const std::vector<std::uint32_t>& to);

  Usage at(std::uint32_t tree, std::uint32_t node) const;
  /// Returns the capacity of the weakest of these nodes in a tree, and the usage of the node where least is left. `kept`: OSTs
  /// of nodes that are in use beside what jobs hold.
  std::pair<Capacity, Usage> capacity(std::uint32_t tree, const std::vector<std::uint32_t>& nodes,
                                      const std::map<std::uint32_t, std::uint32_t>& kept = {}) const;
  /// The OSTs that jobs of a reservation hold at a node.
  std::uint32_t of_reservation(const std::string& name, std::uint32_t tree, std::uint32_t node) const;
  /// Returns the total of which each user may have a share: all trees together, each as wide as its weakest node.
  Capacity user_capacity() const;
  /// The resources that each user holds, keyed by uid.
  const std::map<std::uint32_t, UserUsage>& users() const { return users_; }
  UserUsage of(std::uint32_t uid) const;
  void describe(Facts& facts) const;

 private:
  void change(const Job& job, std::size_t share, const std::vector<std::uint32_t>& nodes, bool more);
  void change(const Job& job, bool more);

  const Cluster& cluster_;
  const Forest& forest_;
  std::vector<std::vector<Usage>> used_;  ///< [tree][node], as far as jobs have held something.
  std::map<std::uint32_t, UserUsage> users_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t>
      of_reservations_;  ///< [name, tree, node]
};

}  // namespace sumac::manager
