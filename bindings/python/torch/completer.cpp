#include "bindings/python/torch/completer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/thread.hpp"
#include "bindings/python/core/worker.hpp"
#include "bindings/python/torch/work.hpp"

namespace sumac::torch_backend {
namespace {

std::atomic<Completer*> current{nullptr};
std::atomic<std::int64_t> slow_after_ns{Nanos(Seconds{10}).count()};
thread_local int own_level = 0;

Duration slow_after() { return Nanos{slow_after_ns.load(std::memory_order_relaxed)}; }  // It guards nothing.

}  // namespace

int Completer::level() noexcept { return own_level; }

void Completer::set_slow_after(Duration after) { slow_after_ns.store(Nanos(after).count(), std::memory_order_relaxed); }

// It is never destroyed: a callback may run in a process that ends without its interpreter's end.
Completer& Completer::own() {
  Completer* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->forks_ != python::forks()) {
    auto* made = new Completer(python::forks());
    // A release store pairs with the load above; of two threads one wins.
    if (current.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
    delete made;
  }
  return *found;
}

void Completer::post(int level, const char* title, int rank, std::function<void()> end) {
  {
    const std::lock_guard guard(lock_);
    if (!is_over_ || !is_idle()) {
      if (levels_.size() <= static_cast<std::size_t>(level)) levels_.resize(static_cast<std::size_t>(level) + 1);
      levels_[static_cast<std::size_t>(level)].jobs.push_back({title, rank, std::move(end)});
      if (threads_.empty()) add_thread();
      changed_.notify_all();
      return;
    }
  }
  end();
}

bool Completer::is_idle() const {
  return busy_ == 0 && std::ranges::all_of(levels_, [](const Level& level) { return level.jobs.empty(); });
}

/// Returns the level whose next job may begin.
Completer::Level* Completer::next() {
  const auto found =
      std::ranges::find_if(levels_, [](const Level& level) { return !level.jobs.empty() && !level.running; });
  return found == levels_.end() ? nullptr : &*found;
}

void Completer::add_thread() {
  threads_.push_back(sumac::start_thread([this] { loop(); }));
}

void Completer::run(std::unique_lock<std::mutex>& guard, Level& level) {
  Job job = std::move(level.jobs.front());
  level.jobs.pop_front();
  const std::uint64_t number = ++begun_;
  level.running = Running{number, job.title, job.rank, monotonic_now()};
  ++busy_;
  if (watching_ == 0)
    add_thread();
  else
    changed_.notify_all();
  own_level = static_cast<int>(std::ranges::find_if(levels_, [&](const Level& one) { return &one == &level; }) -
                               levels_.begin()) +
              1;
  guard.unlock();
  job.end();
  job = {};  // It holds the caller's memory.
  guard.lock();
  --busy_;
  // A job that was slow has lost its turn to those behind it.
  if (level.running && level.running->number == number) level.running.reset();
  changed_.notify_all();
}

/// Waits for a job, and watches those that run.
void Completer::watch(std::unique_lock<std::mutex>& guard) {
  const Duration most = slow_after();
  std::optional<Time> due;
  for (const Level& level : levels_)
    if (level.running) due = std::min(due.value_or(level.running->began + most), level.running->began + most);
  ++watching_;
  if (due)
    changed_.wait_for(guard, std::max<Duration>(Duration{0}, *due - monotonic_now()));
  else
    changed_.wait(guard);
  --watching_;
  for (Level& level : levels_) {
    if (!level.running || monotonic_now() - level.running->began < most) continue;
    std::fprintf(
        stderr,
        "sumac: rank %d: a callback of a future of %s has run for %.0f s: later futures no longer wait for it\n",
        level.running->rank, without_prefix(level.running->title), std::chrono::duration<double>(most).count());
    level.running.reset();
  }
}

void Completer::loop() {
  std::unique_lock guard(lock_);
  for (;;) {
    if (Level* const level = next())
      run(guard, *level);
    else if (is_over_ && is_idle())
      return;
    else
      watch(guard);
  }
}

void Completer::park() {
  Completer* const completer = current.load(std::memory_order_acquire);
  if (completer == nullptr || completer->forks_ != python::forks()) return;
  std::unique_lock guard(completer->lock_);
  completer->is_over_ = true;
  completer->changed_.notify_all();
  while (!completer->threads_.empty()) {
    std::thread one = std::move(completer->threads_.back());
    completer->threads_.pop_back();
    guard.unlock();
    one.join();
    guard.lock();
  }
}

}  // namespace sumac::torch_backend
