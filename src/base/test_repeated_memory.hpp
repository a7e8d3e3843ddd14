#pragma once
// For tests: a range of addresses that is one piece of memory over and over, so that a call of a TiB needs 64 MiB. Written at one place it
// changes at all of them. A period that divides no power of two shows an offset that lost its upper bits: it lies in another phase.
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
    at_once,  ///< For all of the range, if all of it is touched: a fault for each page takes longer than what is done with it.
  };
  /// `period`: whole pages; the kernel allows some 65,000 mappings of a process, and each repetition is one.
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
  /// What there really is.
  std::span<std::byte> once() const { return {begin_, std::min(period_, bytes_)}; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_, period_;
};

}  // namespace sumac::test
