#pragma once
// The thread that answers the other members while the program computes, or waits elsewhere. It sleeps on descriptors that
// its user names, and takes no processor time while nothing comes.
#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/private_fd.hpp"
#include "base/result.hpp"

namespace sumac::client {

class Sleeper {
 public:
  struct Plan {
    std::vector<pollfd> on;  ///< Sleep on these,
    Time until = kNever;     ///< and at most so long.
    bool works_now = false;  ///< Something is there already.
  };
  /// Called by the thread. Both take what locks they need.
  class Work {
   public:
    virtual Plan plan() = 0;
    /// `plan` says in `revents` what came.
    virtual void work(const Plan& plan) = 0;

   protected:
    ~Work() = default;
  };

  explicit Sleeper(Work& work) : work_(work) {}
  ~Sleeper() { stop(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  /// An exit() ends the thread as stop() does; a child of fork() has none.
  Result<> start();
  /// Called without locks that `work` takes. Does nothing in a child of fork().
  void stop() noexcept;
  bool runs() const noexcept { return thread_ != nullptr; }
  /// Ends the sleep, for another plan.
  void ring() noexcept;

 private:
  void run();

  Work& work_;
  PrivateFd bell_;
  pid_t process_ = 0;
  std::atomic<bool> ends_ = false;
  Plan plan_;  ///< The thread's alone; not on its stack, which a child of fork() loses.
  std::unique_ptr<std::thread> thread_;
};

}  // namespace sumac::client
