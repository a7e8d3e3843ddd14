#include "client/recovery/sleeper.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <system_error>

#include "base/thread.hpp"
#include "net/transport.hpp"

namespace sumac::client {
namespace {

/// Those whose threads run, for an exit() without finalize. Never destroyed, because exit() may come first.
struct Living {
  std::mutex mutex;
  std::vector<Sleeper*> all;
  /// In a child of fork(): threads that run in its parent alone. They can be neither joined nor destroyed.
  std::vector<std::unique_ptr<std::thread>> of_parent;
};
Living& living() {
  static Living* const made = new Living;
  return *made;
}

/// Runs at exit() and when the library is unloaded, before its static objects go.
void stop_all() {
  for (;;) {
    Sleeper* one = nullptr;
    {
      const std::lock_guard guard(living().mutex);
      if (living().all.empty()) return;
      one = living().all.back();
      living().all.pop_back();
    }
    one->stop();
  }
}

}  // namespace

Result<> Sleeper::start() {
  bell_ = PrivateFd::from([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
  if (!bell_) return fail_errno("eventfd");
  process_ = ::getpid();
  try {
    thread_ = std::make_unique<std::thread>(start_thread([this] { run(); }));
    ::pthread_setname_np(thread_->native_handle(), "sumac-recovery");
  } catch (const std::system_error& error) {
    return fail(Errc::exhausted, "no thread can be started: {}", error.what());
  }
  const std::lock_guard guard(living().mutex);
  static const bool is_registered = std::atexit(stop_all) == 0;
  static_cast<void>(is_registered);
  living().all.push_back(this);
  return {};
}

void Sleeper::stop() noexcept {
  if (!thread_) return;
  if (process_ != ::getpid()) {
    living().of_parent.push_back(std::move(thread_));  // This process has one thread, and the mutex may be held for ever.
    return;
  }
  {
    const std::lock_guard guard(living().mutex);
    std::erase(living().all, this);
  }
  ends_ = true;
  ring();
  thread_->join();
  thread_.reset();
}

void Sleeper::ring() noexcept {
  // It can only fail if the number in the eventfd is at its maximum, and then the thread wakes up anyway.
  if (bell_) (void)::eventfd_write(bell_.get(), 1);
}

void Sleeper::run() {
  while (!ends_) {
    plan_ = work_.plan();
    if (!plan_.works_now) {
      plan_.on.push_back({bell_.get(), POLLIN, 0});
      const timespec exactly = net::wait_time(plan_.until - monotonic_now());
      (void)::ppoll(plan_.on.data(), plan_.on.size(), plan_.until == kNever ? nullptr : &exactly, nullptr);
      eventfd_t rings = 0;
      if (plan_.on.back().revents != 0) (void)::eventfd_read(bell_.get(), &rings);
      plan_.on.pop_back();
    }
    if (!ends_) work_.work(plan_);
  }
}

}  // namespace sumac::client
