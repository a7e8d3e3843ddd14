#pragma once
// Ends futures, and so runs their callbacks, outside the threads that move teams: a callback may compute for long, and it may
// start an operation and wait for its future, as PyTorch's PowerSGD does.
//
// Callbacks may start operations, so they run one behind the other in the order in which their operations ended, which all
// ranks share. What a callback starts must end while the callback waits. So each thread has a level: that of a caller is 0,
// and in a callback of a future from level n it is n + 1. The levels do not wait for each other:
//
//   level 0   the futures that callers asked for:     callback 1 ............ callback 2
//   level 1   those that these callbacks asked for:      its all_reduce ends
//
// A callback that takes very long is named, and those behind it go on beside it: it may wait for one of them.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace sumac::torch_backend {

class Completer {
 public:
  /// The one of this process. It has no thread before its first job.
  static Completer& own();
  /// The level of this thread.
  static int level() noexcept;
  /// Runs what it has been given, also what that starts, and joins its threads. A later job runs in the thread that posts it.
  static void park();

  /// `end` ends a future that a thread of this level asked for; `title` is the operation's for a profiler, "sumac:all_reduce".
  void post(int level, const char* title, int rank, std::function<void()> end);
  /// A callback that has run for so long is named. Tests shorten it.
  static void set_slow_after(Duration after);

 private:
  struct Job {
    const char* title = nullptr;
    int rank = 0;
    std::function<void()> end;
  };
  struct Running {
    std::uint64_t number = 0;  ///< The job's, from 1.
    const char* title = nullptr;
    int rank = 0;
    Time began{};
  };
  struct Level {
    std::deque<Job> jobs;
    std::optional<Running> running;
  };

  explicit Completer(unsigned forks) : forks_(forks) {}
  Level* next();
  bool is_idle() const;
  void run(std::unique_lock<std::mutex>& guard, Level& level);
  void watch(std::unique_lock<std::mutex>& guard);
  void add_thread();
  void loop();

  const unsigned forks_;  ///< The child of a fork has none of the threads, and a lock may stay locked there for ever.
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Level> levels_;  ///< A level keeps its place when others are added.
  std::vector<std::thread> threads_;
  std::uint64_t begun_ = 0;
  int watching_ = 0;  ///< Threads without a job. While a job runs there is at least one, which watches it.
  int busy_ = 0;      ///< Threads with one.
  bool is_over_ = false;
};

}  // namespace sumac::torch_backend
