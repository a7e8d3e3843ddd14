#pragma once
// A file descriptor that a forked child does not keep. Close-on-exec helps only children that exec; a child that lives on as a copy of a
// rank (a data loader, a helper) would hold the rank's connections open, and no peer would notice that the rank died.
#include "base/fd.hpp"

namespace sumac {

/// One owner, as UniqueFd. In a child of fork() the child's copy is closed before fork() returns there, and get() is -1; the parent's
/// connection does not notice: nothing is sent, and nothing is shut down. Opening and closing take a lock that fork() takes too, so
/// no fork falls between the two halves of either. A plain clone() runs no handler of ours: sharpd's word on dead ranks covers that.
class PrivateFd {
 public:
  PrivateFd() noexcept = default;
  /// Opens by `open()` (socket, accept4), which returns a descriptor or -1 with errno, while no fork can come in between.
  template <class Open>
  static PrivateFd from(Open&& open) {
    const Lock lock;
    PrivateFd made;
    made.hold(open());
    return made;
  }
  PrivateFd(PrivateFd&& other) noexcept;
  PrivateFd& operator=(PrivateFd&& other) noexcept;
  PrivateFd(const PrivateFd&) = delete;
  PrivateFd& operator=(const PrivateFd&) = delete;
  ~PrivateFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  struct Lock {
    Lock() noexcept;
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
  };
  struct List;

  void hold(int fd) noexcept;  ///< With the lock held, as those below.
  int let_go() noexcept;

  int fd_ = -1;
  PrivateFd* next_ = nullptr;  ///< Of all descriptors of this library, in no order.
  PrivateFd* previous_ = nullptr;
};

}  // namespace sumac
