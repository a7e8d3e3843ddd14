#pragma once
// The emulated links, in virtual time and without I/O. A frame enters with its arrival time, crosses the links of its
// path one after the other in the order of events, and comes out with the time at which it is due. So the times of a
// frame are exact however late the process runs, as long as it runs before the frame is due. A train crosses a link
// segment by segment: its first segment may be two links ahead of its last. A frame that meets it at a link waits for
// the whole train, though, while real segments would alternate.
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

/// Only the switch's thread writes them, any thread reads: the numbers are independent, so no order is needed
/// (relaxed).
struct LinkCounters {
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> dropped{0};      ///< Frames that found the buffer before the link full.
  std::atomic<std::uint64_t> lost{0};         ///< Frames that the link lost.
  std::atomic<std::uint64_t> backlog_max{0};  ///< The most bytes that ever waited.

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

class VirtualFabric {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit VirtualFabric(const Plan& plan);

  /// Lets `frame` (its path or flood, and sizes set) enter at `at_ns`. That time may lie in the past, but not before
  /// the time passed to advance().
  void enter(Frame* frame, std::int64_t at_ns) {
    frame->tail_at_ns = at_ns;
    push(transit_, frame, at_ns);
  }

  /// Processes all events up to `now_ns`. Dropped frames go back to `pool`.
  void advance(std::int64_t now_ns, FramePool& pool);

  /// Returns the next frame that is due by `now_ns`, or nullptr. `due_ns`: the time at which it should have left.
  Frame* due(std::int64_t now_ns, std::int64_t& due_ns);

  bool empty() const { return transit_.empty() && ready_.empty(); }
  /// Returns the time by which advance() and due() must run again so that no frame is late.
  std::int64_t deadline_ns() const;
  /// Returns the least delay of all links: a frame may wait this long between its arrival and enter() without changing
  /// any time.
  std::int64_t slack_ns() const { return slack_ns_; }

  const LinkCounters& counters(std::size_t link) const { return counters_[link]; }

  /// The chance of a frame (with segmentation offload: of a whole train) to vanish on the link; 1: the link is cut. Any
  /// thread may change it while frames cross.
  double loss(std::size_t link) const { return losses_[link].load(std::memory_order_relaxed); }
  void set_loss(std::size_t link, double loss) { losses_[link].store(loss, std::memory_order_relaxed); }

 private:
  struct Event {
    std::int64_t at_ns;
    std::uint64_t order;  ///< Events of equal time keep their order of arrival: on a link no frame overtakes another.
    Frame* frame;
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  struct Link {
    std::int64_t delay_ns;
    double ns_per_byte;
    double buffer_bytes;
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
  /// Moves a multicast one step: across a link, or apart.
  void spread(Frame* frame, std::int64_t at_ns, FramePool& pool);
  /// Returns the time at which the frame's first segment reaches the end of the link, or kNever if it does not; moves
  /// its tail along.
  std::int64_t cross(std::size_t link_index, Frame& frame, std::int64_t at_ns);

  std::vector<Link> links_;
  std::unique_ptr<LinkCounters[]> counters_;
  std::unique_ptr<std::atomic<double>[]> losses_;
  Heap transit_;  ///< Frames that are about to enter a link.
  Heap ready_;    ///< Frames that have crossed their last link.
  std::uint64_t order_ = 0;
  std::int64_t slack_ns_ = 0;
};

}  // namespace sumac::lab
