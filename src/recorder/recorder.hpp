#pragma once
// The writer's side. All functions but Track's own may be called by any thread. Where the system gives no memfd, the process
// goes on with memory that nobody else sees.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "recorder/page.hpp"

namespace sumac::recorder {

class Recorder;

/// The process is this rank of this job, until forget_job(). Both keep or let go of the page.
void set_job(std::uint64_t job, int world_rank, int world_size) noexcept;
void forget_job() noexcept;
/// Returns the descriptor of this process's page, to hand it over to sharpd; -1: there is none. As set_job(), it keeps the
/// page until forget_job().
int share() noexcept;

/// Returns a number that no other communicator has, by which rank 0 names it.
std::uint64_t draw_id() noexcept;

/// One communicator, while it lives. Member functions are called by one thread at a time.
class Track {
 public:
  Track() = default;
  /// A process without a job becomes the rank of this one: `id` is its number.
  Track(std::string_view name, std::uint64_t id, int rank, int size);
  Track(Track&& other) noexcept;
  Track& operator=(Track&& other) noexcept;
  ~Track();

  TrackMemory* memory() const noexcept { return memory_; }

 private:
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<TrackMemory> unseen_;
  TrackMemory* memory_ = nullptr;
};

/// Counts, in the page of this process, the operations of communicators that outlive their trees. One thread at a time uses it.
class Ways {
 public:
  Ways() = default;  ///< It counts nothing.
  static Ways of_this_process() noexcept;
  inline void count(bool is_on_tree) noexcept;

 private:
  std::shared_ptr<Recorder> recorder_;
  PageHeader* header_ = nullptr;
};

/// Reads the clock for the operation that has just begun.
[[gnu::cold, gnu::noinline]] void stamp(TrackMemory& track) noexcept;

/// Adds to a counter. In plain memory that is one instruction; a program may look at one thread's numbers in another one, so
/// ThreadSanitizer's build does it atomically.
inline void count(std::uint64_t& counter, std::uint64_t step = kStep) noexcept {
#ifdef __SANITIZE_THREAD__
  const std::atomic_ref<std::uint64_t> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + step, std::memory_order_relaxed);
#else
  counter += step;
#endif
}

/// An operation begins. `what` is its number (enum sumac_coll) and kPosted or 0.
inline void begin(TrackMemory& track, std::uint32_t what, std::uint64_t bytes) noexcept {
  auto* ring = reinterpret_cast<std::byte*>(track.ring.data());
  auto& entry = *reinterpret_cast<Entry*>(ring + static_cast<std::uint8_t>(track.begun));
  entry.bytes = bytes;
  entry.what = what;
  count(track.begun);
  if (--track.until == 0) [[unlikely]]
    stamp(track);
}
inline void Ways::count(bool is_on_tree) noexcept {
  if (header_ != nullptr) recorder::count(is_on_tree ? header_->on_tree : header_->among_members, 1);
}
/// The oldest operation is over. Called by the thread that moves the team.
inline void end(TrackMemory& track) noexcept { count(track.ended); }
/// The newest operation is done by other software, until passed(); one before it that failed there is over too.
void pass(TrackMemory& track) noexcept;
void passed(TrackMemory& track) noexcept;
/// The next operation waits for other ranks before it begins.
void expect(TrackMemory& track, std::uint32_t what, std::uint64_t bytes) noexcept;
/// This process waits in the newest operation at `now_ns` of CLOCK_MONOTONIC.
void waits(TrackMemory& track, std::int64_t now_ns) noexcept;
/// It has heard that these ranks have not begun it.
void misses(TrackMemory& track, const int* ranks, std::size_t count) noexcept;

}  // namespace sumac::recorder
