#pragma once
// A thread of ours inside somebody else's program takes none of its signals: those are for the program's own threads.
#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace sumac {

/// Throws what std::thread's constructor throws.
template <class Body>
std::thread start_thread(Body body) {
  struct NoSignals {
    sigset_t before;
    NoSignals() noexcept {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const none;
  return std::thread(std::move(body));
}

}  // namespace sumac
