#pragma once
// An operation that was posted and ends later. Its poster, the queue that moves it and those that wait share it.
#include <atomic>
#include <functional>
#include <optional>

#include "base/result.hpp"

namespace sumac {

struct Ticket {
  virtual ~Ticket() = default;

  /// Called once, by the thread that moved the operation to its end, without a lock of ours.
  std::function<void(const Error* why)> then;

  // An acquire load: a caller that sees the end sees the result and the error.
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
  const Error* error() const noexcept { return error_ ? &*error_ : nullptr; }  ///< Only once it is done.

  void end(std::optional<Error> why) {
    error_ = std::move(why);
    if (then) then(error());
    then = nullptr;  // It holds the caller's memory.
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
  std::optional<Error> error_;
};

}  // namespace sumac
