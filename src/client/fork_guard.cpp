#include "client/fork_guard.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

namespace sumac::client {
namespace {

/// The library's own memory: it goes when the library is unloaded, and not at exit(), when other threads may still ask.
constexpr std::size_t kPageBytes = 4096;
alignas(kPageBytes) unsigned long page[kPageBytes / sizeof(unsigned long)];
std::mutex page_mutex;
bool tried = false;

void forget() { page[0] = 0; }

void make_page() {
  // A larger page of the kernel would wipe other variables too.
  if (::sysconf(_SC_PAGESIZE) == static_cast<long>(kPageBytes) && ::madvise(page, kPageBytes, MADV_WIPEONFORK) == 0)
    return;
  ::pthread_atfork(nullptr, nullptr, forget);  // Also for kernels before 4.14.
}

}  // namespace

unsigned long process_mark() {
  const std::lock_guard lock(page_mutex);
  if (!tried) make_page();
  tried = true;
  // A child that begins a job of its own writes its own pid into the zeroed page; its parent's contexts still do not
  // match.
  if (*page == 0) *page = static_cast<unsigned long>(::getpid());
  return *page;
}

bool same_process(unsigned long mark) noexcept { return mark != 0 && *page == mark; }

}  // namespace sumac::client
