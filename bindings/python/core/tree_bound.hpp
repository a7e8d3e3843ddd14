#pragma once
// The tree's calls that begin a job or make a group have time limits of their own. Here they get the exchange's too.
#include "bindings/python/core/store.hpp"
#include "client/tree/tree.h"

namespace sumac::python {

/// While it lives, such a wait of this thread ends when the exchange is over, for any reason (Ctrl-C,
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

}  // namespace sumac::python
