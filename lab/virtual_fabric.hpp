#pragma once
// The emulated links, in virtual time and without I/O. A frame enters with the instant at which it came in, crosses the links
// of its path one after the other in the order of events, and comes out with the instant at which it is due. So the
// times of a frame are exact however late the process gets to run, as long as it runs before the frame is due.
// A train crosses a link segment by segment: its first segment may be two links ahead of its last. What meets it at a link
// waits for all of it, though, where real segments would take turns.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "lab/frame_pool.hpp"
#include "lab/plan.hpp"

namespace sumac::lab {

/// Written by the switch's thread alone, read by any: each number stands for itself, so no order is needed (relaxed).
struct LinkCounters {
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> dropped{0};      ///< Found the buffer before the link full.
  std::atomic<std::uint64_t> lost{0};         ///< Taken by the link's own loss.
  std::atomic<std::uint64_t> backlog_max{0};  ///< Most bytes that ever waited.

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

class VirtualFabric {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit VirtualFabric(const Plan& plan);

  /// `frame` (its path or flood, and sizes set) comes in at `at_ns`. Instants may lie in the past, but not before what advance() was told.
  void enter(Frame* frame, std::int64_t at_ns) {
    frame->tail_at_ns = at_ns;
    push(transit_, frame, at_ns);
  }

  /// Lets everything happen up to `now_ns`. Dropped frames go back to `pool`.
  void advance(std::int64_t now_ns, FramePool& pool);

  /// The next frame that is due by `now_ns`, or nullptr. `due_ns`: when it should have left.
  Frame* due(std::int64_t now_ns, std::int64_t& due_ns);

  bool empty() const { return transit_.empty() && ready_.empty(); }
  /// By when advance() and due() must run again so that no frame comes late.
  std::int64_t deadline_ns() const;
  /// The least delay of all links: what may pass between a frame's coming in and enter() without changing any time.
  std::int64_t slack_ns() const { return slack_ns_; }

  const LinkCounters& counters(std::size_t link) const { return counters_[link]; }

 private:
  struct Event {
    std::int64_t at_ns;
    std::uint64_t order;  ///< Equal instants keep the order in which they came: a link never overtakes.
    Frame* frame;
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  struct Link {
    std::int64_t delay_ns;
    double ns_per_byte;
    double buffer_bytes;
    double loss;
    std::int64_t free_at_ns = 0;
    Random random{0};
  };
  using Heap = std::vector<Event>;

  void push(Heap& heap, Frame* frame, std::int64_t at_ns) {
    heap.push_back({at_ns, order_++, frame});
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  }
  static Event pop(Heap& heap) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    const Event event = heap.back();
    heap.pop_back();
    return event;
  }
  /// A multicast takes its next step: across a link, or apart.
  void spread(Frame* frame, std::int64_t at_ns, FramePool& pool);
  /// When the frame's first segment reaches the end of the link, or kNever if it does not; moves its tail along.
  std::int64_t cross(std::size_t link_index, Frame& frame, std::int64_t at_ns);

  std::vector<Link> links_;
  std::unique_ptr<LinkCounters[]> counters_;
  Heap transit_;  ///< Frames that are about to enter a link.
  Heap ready_;    ///< Frames that have crossed their last link.
  std::uint64_t order_ = 0;
  std::int64_t slack_ns_ = 0;
};

}  // namespace sumac::lab
