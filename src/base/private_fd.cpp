#include "base/private_fd.hpp"

#include <pthread.h>

#include <cerrno>
#include <utility>

namespace sumac {

// Each of our shared libraries has a list of its own. The C library forgets the handlers when the library that
// registered them is unloaded, so dlopen and dlclose may alternate.
struct PrivateFd::List {
  static inline pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static inline PrivateFd* first = nullptr;
  static inline bool is_told = false;  ///< True once our handlers are registered, so that fork() runs them.

  static void lock() { ::pthread_mutex_lock(&mutex); }
  static void unlock() { ::pthread_mutex_unlock(&mutex); }
  /// Only closes and unlinks: these calls are safe in the child of a program with threads.
  static void close_all() {
    while (first != nullptr) {
      PrivateFd* const each = first;
      ::close(each->let_go());
    }
    unlock();
  }
};

PrivateFd::Lock::Lock() noexcept {
  List::lock();
  // This fails only if memory is exhausted; the descriptors are then inherited, as plain ones are.
  if (!List::is_told) List::is_told = ::pthread_atfork(List::lock, List::unlock, List::close_all) == 0;
}

PrivateFd::Lock::~Lock() { List::unlock(); }

void PrivateFd::hold(int fd) noexcept {
  fd_ = fd;
  if (fd < 0) return;
  next_ = List::first;
  previous_ = nullptr;
  if (next_ != nullptr) next_->previous_ = this;
  List::first = this;
}

int PrivateFd::let_go() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0) return fd;
  (previous_ != nullptr ? previous_->next_ : List::first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  next_ = previous_ = nullptr;
  return fd;
}

PrivateFd::PrivateFd(PrivateFd&& other) noexcept {
  if (!other) return;
  const Lock lock;
  hold(other.let_go());
}

PrivateFd& PrivateFd::operator=(PrivateFd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  const Lock lock;
  hold(other.let_go());
  return *this;
}

void PrivateFd::reset() noexcept {
  if (fd_ < 0) return;
  const int saved = errno;
  const Lock lock;
  if (const int fd = let_go(); fd >= 0) ::close(fd);  // EINTR needs no second close, as UniqueFd explains.
  errno = saved;
}

}  // namespace sumac
