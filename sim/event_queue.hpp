#pragma once
// The virtual clock of the seeded worlds and of tests that join the machines of several daemons: it holds what is still to happen. Of
// two events of one time the one that was added first comes first.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace sumac::sim {

template <class What>
class EventQueue {
 public:
  explicit EventQueue(Time begin = {}) : now_(begin) {}

  Time now() const noexcept { return now_; }
  bool empty() const noexcept { return heap_.empty(); }
  /// A time that is past means now.
  void add(Time at, What what) {
    heap_.push_back({std::max(at, now_), order_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end());
  }
  /// Returns the earliest event, whose time is now then.
  std::optional<What> next() { return next(kNever); }
  /// The same for an event that is due until then; the clock stays where it is if there is none.
  std::optional<What> next(Time until) {
    if (heap_.empty() || heap_.front().at > until) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end());
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    now_ = std::max(now_, entry.at);
    return std::move(entry.what);
  }
  /// Nobody looks at what is due meanwhile: it comes late.
  void pass_to(Time at) noexcept { now_ = std::max(now_, at); }

 private:
  struct Entry {
    Time at;
    std::uint64_t order;
    What what;
    bool operator<(const Entry& other) const {  // for a heap whose top is the earliest
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  Time now_;
  std::uint64_t order_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace sumac::sim
