#pragma once
// A thread of ours inside somebody else's program takes none of its signals: those are for the program's own threads.
#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace sumac::python {

template <class Body>
std::thread start_thread(Body body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace sumac::python
