#pragma once
// For tests: a range of addresses that maps one block of memory again and again, so that a call of 1 TiB needs 64 MiB.
// A write at one address changes every repetition. A period that is no divisor of a power of two exposes an offset that
// lost its upper bits, because it falls at another position in the block.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>

namespace sumac::test {

class RepeatedMemory {
 public:
  enum class Pages {
    when_touched,
    /// Maps all pages in advance: if a test touches all of the range, a page fault for each page takes longer than the
    /// test's own work.
    at_once,
  };
  /// `period` counts whole pages. The kernel allows some 65,000 mappings per process, and each repetition is one.
  RepeatedMemory(std::size_t period, std::size_t bytes, Pages pages = Pages::when_touched)
      : bytes_(bytes), period_(period) {
    const int fd = ::memfd_create("sumac-repeated", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(period)) != 0) throw std::runtime_error("memfd");
    void* reserved = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw std::runtime_error("mmap of the whole range");
    begin_ = static_cast<std::byte*>(reserved);
    for (std::size_t at = 0; at < bytes; at += period)
      if (::mmap(begin_ + at, std::min(period, bytes - at), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | (pages == Pages::at_once ? MAP_POPULATE : 0), fd, 0) == MAP_FAILED)
        throw std::runtime_error("mmap of one repetition");
    ::close(fd);
  }
  ~RepeatedMemory() { ::munmap(begin_, bytes_); }
  RepeatedMemory(const RepeatedMemory&) = delete;
  RepeatedMemory& operator=(const RepeatedMemory&) = delete;

  std::byte* data() const { return begin_; }
  std::span<std::byte> all() const { return {begin_, bytes_}; }
  /// Returns the memory that really exists.
  std::span<std::byte> once() const { return {begin_, std::min(period_, bytes_)}; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_, period_;
};

}  // namespace sumac::test
