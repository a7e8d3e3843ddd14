#include "client/fork_guard.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

namespace sumac::client {
namespace {

unsigned long fallback_page = 0;
unsigned long* page = &fallback_page;
std::mutex page_mutex;
bool tried = false;

void forget() { fallback_page = 0; }

// The page is unmapped when the library is unloaded, because callers may dlopen and dlclose it in a loop.
struct PageOwner {
  ~PageOwner() {
    if (page != &fallback_page) ::munmap(page, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  }
} page_owner;

void make_page() {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED && ::madvise(memory, bytes, MADV_WIPEONFORK) == 0) {
    page = static_cast<unsigned long*>(memory);
    return;
  }
  if (memory != MAP_FAILED) ::munmap(memory, bytes);
  ::pthread_atfork(nullptr, nullptr, forget);  // For kernels before 4.14.
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
