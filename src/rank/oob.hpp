#pragma once
// An exchange, as those parts of src/rank that make the tree's job and its groups see the ranks of a communicator.
#include <string>

#include "client/tree/tree.h"
#include "rank/communicator.h"
#include "rank/exchange.hpp"

namespace sumac::rank {

class Oob {
 public:
  Oob(Exchange& exchange, std::string name);
  Oob(const Oob&) = delete;

  const sumac_communicator& record() const noexcept { return record_; }
  /// From here on every function fails: the exchange is over.
  void close() noexcept { exchange_ = nullptr; }
  /// The same for sumac_team_spec_t::oob: `context` is an Oob, and `out` gets what each rank has in `in`.
  static int allgather(void* context, const void* in, void* out, std::size_t bytes);
  const std::string& error() const noexcept { return error_; }  ///< Why a function has failed.

 private:
  template <class Use>
  int use(Use use);

  Exchange* exchange_;
  std::string name_, error_;
  sumac_communicator record_{};
};

/// The tree's calls that begin a job or make a group have time limits of their own. While this lives, such a wait of this thread ends when the exchange is over, for any reason (Ctrl-C,
/// the failure of another rank), and after half of the time that was left: then the hosts can still find another way.
class TreeBound {
 public:
  explicit TreeBound(Exchange& exchange)
      : exchange_(exchange), deadline_(deadline_after(monotonic_now(), exchange.left() / 2)) {
    sumac_tree_bound(
        [](void* context) -> int {
          const TreeBound& self = *static_cast<TreeBound*>(context);
          return monotonic_now() < self.deadline_ && self.exchange_.check() ? 1 : 0;
        },
        this);
  }
  ~TreeBound() { sumac_tree_bound(nullptr, nullptr); }
  TreeBound(const TreeBound&) = delete;

 private:
  Exchange& exchange_;
  Time deadline_;
};

}  // namespace sumac::rank
