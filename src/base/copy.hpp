#pragma once
// Copies of many bytes, for memory that other processes read and write.
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace sumac {

#if defined(__x86_64__)

namespace copies {

inline constexpr std::size_t kLineBytes = 64;
/// From about this size on, the C library's memcpy uses `rep movsb`.
inline constexpr std::size_t kRepeatLeast = 2048;

/// Is this a copy at which `rep movsb` may be slow? It copies whole lines only where both addresses are alike modulo 32.
/// Else, on an EPYC of family 25 with glibc 2.36, 32 KiB take 20 to 33 us in place of 2 where another core has read the
/// destination's lines last; and 10 us in place of 0.7 where the destination lies 1 to 31 bytes behind the source modulo
/// a page. Both are common: malloc() places each large block 16 bytes behind the beginning of a page, and shared memory
/// begins there.
inline bool repeats_slowly(const std::byte* to, const std::byte* from) noexcept {
  return (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 32 != 0;
}

inline void line_by_line(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t at = 0;
  for (; at + kLineBytes <= bytes; at += kLineBytes) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                  d = _mm_loadu_si128(source + 3);
    _mm_storeu_si128(target, a);
    _mm_storeu_si128(target + 1, b);
    _mm_storeu_si128(target + 2, c);
    _mm_storeu_si128(target + 3, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace copies

/// memcpy that is as fast for any two addresses. `to` and `from` may be NULL where `bytes` is 0.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes >= copies::kRepeatLeast && copies::repeats_slowly(to, from)) return copies::line_by_line(to, from, bytes);
  if (bytes != 0) std::memcpy(to, from, bytes);
}

inline constexpr bool kCanCopyPastCaches = true;

/// The same by stores that go past the caches to memory: whole lines are written without asking the core that read them
/// last, which may be far away; and they are read back from memory. All of it is seen by a thread that sees a later
/// release store of this one.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to) % copies::kLineBytes;
  const std::size_t head = past_line == 0 ? 0 : copies::kLineBytes - past_line;
  if (bytes < head + copies::kLineBytes) return copy_bytes(to, from, bytes);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + copies::kLineBytes <= bytes; at += copies::kLineBytes) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                  d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // A release store alone does not order these stores.
}

#else

inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

inline constexpr bool kCanCopyPastCaches = false;

inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  copy_bytes(to, from, bytes);
}

#endif

}  // namespace sumac
