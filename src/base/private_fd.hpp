#pragma once
// A file descriptor that a forked child does not keep. Close-on-exec helps only for children that call exec. A child
// that lives on as a copy of a rank (a data loader, a helper) would keep the rank's connections open, and no peer would
// notice that the rank died.
#include "base/fd.hpp"

namespace sumac {

/// Has one owner, like UniqueFd. In a child of fork() the child's copy is closed before fork() returns there, and get()
/// is -1. The parent's connection is not affected: nothing is sent and nothing is shut down. Opening and closing take a
/// lock that fork() takes too, so no fork falls into the middle of either. A plain clone() runs none of our handlers;
/// the death of such a rank is reported by sharpd.
class PrivateFd {
 public:
  PrivateFd() noexcept = default;
  /// Opens by `open()` (socket, accept4), which returns a descriptor or -1 with errno; no fork can happen in between.
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

  void hold(int fd) noexcept;  ///< The caller holds the lock, as for the members below.
  int let_go() noexcept;

  int fd_ = -1;
  PrivateFd* next_ = nullptr;  ///< The list of all descriptors of this library, in no order.
  PrivateFd* previous_ = nullptr;
};

}  // namespace sumac
