#pragma once
// The way between hosts: groups of src/p2p, which need no MPI and no daemon. One group has a rank of each host and carries
// a team's operations among its leaders; where a host has several ranks, another one has all ranks and carries large
// blocks from rank to rank.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "bindings/python/core/members.hpp"
#include "bindings/python/core/store.hpp"
#include "coll/across.hpp"
#include "p2p/group.hpp"

namespace sumac::python {

class Hosts final : public coll::Across {
 public:
  /// Collective over all ranks of the store. `leaders` are ranks, ascending.
  static Result<std::unique_ptr<Hosts>> make(Exchange& exchange, const Members& members,
                                             const std::vector<int>& leaders, bool is_reproducible);

  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  bool adds_canonically(coll::Kind kind) const noexcept override;
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  bool has_direct() const noexcept override { return true; }
  Progress start_direct(const coll::Operation& operation, void*& request) override;
  Sleep sleep(int us) override;
  std::string_view error() const noexcept override;

 private:
  Hosts() = default;
  Progress noted(p2p::Group& group, Progress progress, void* request);
  p2p::Group& all() const noexcept { return all_ ? *all_ : *leaders_; }

  std::unique_ptr<p2p::Group> leaders_;  ///< Null at a rank that does not lead.
  std::unique_ptr<p2p::Group> all_;      ///< Null where every rank leads: then `leaders_` has all ranks.
  std::unordered_map<void*, p2p::Group*> under_way_;
};

}  // namespace sumac::python
