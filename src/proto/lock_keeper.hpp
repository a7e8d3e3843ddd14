#pragma once
// This header belongs to src/proto alone: a member's side of the streaming lock. Pure: it decides which payload-free
// number is due next, and how a streaming operation is sent. All members see the same answers at the same numbers, so
// all decide alike.
#include <utility>

#include "proto/operation.hpp"

namespace sumac::proto {

class LockKeeper {
 public:
  /// `batch` has the meaning that ClientGroupConfig gives it.
  explicit LockKeeper(std::uint32_t batch) : batch_(batch) {}

  StreamLock state() const noexcept { return state_; }

  /// Returns the number to send before anything else: lock, unlock, or none.
  wire::Coll due() const noexcept { return due_; }
  void sent() noexcept { due_ = wire::Coll::none; }

  void ask() noexcept {
    if (state_ == StreamLock::asked || state_ == StreamLock::held) return;
    state_ = StreamLock::asked;
    due_ = wire::Coll::lock;
  }
  void answered(bool denied) noexcept { state_ = denied ? StreamLock::denied : StreamLock::held; }

  enum class Way { stream, wait, without };
  /// Decides for the next streaming operation. wait: the lock is being asked for, or its answer has not arrived.
  Way next_operation() noexcept {
    if (batch_ == 0 || state_ == StreamLock::held) return Way::stream;
    if (state_ != StreamLock::denied) {
      ask();
      return Way::wait;
    }
    state_ = StreamLock::none;  // the next streaming operation asks again
    return Way::without;
  }

  /// A streaming operation has been sent whole. Returns true when it was the batch's last: it completes only when
  /// unlock is answered, because then all nodes on this member's path have the stream slot back and the next group
  /// finds it free.
  bool streamed() noexcept {
    if (batch_ == 0 || batch_ == kLockForEver || ++streamed_ < batch_) return false;
    streamed_ = 0;
    state_ = StreamLock::none;
    due_ = wire::Coll::unlock;
    return true;
  }

  /// The group takes no more numbers.
  void over() noexcept { due_ = wire::Coll::none; }

 private:
  std::uint32_t batch_;
  std::uint32_t streamed_ = 0;  ///< Operations since the lock was taken.
  StreamLock state_ = StreamLock::none;
  wire::Coll due_ = wire::Coll::none;
};

}  // namespace sumac::proto
