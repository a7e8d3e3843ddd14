#pragma once
// For fuzz targets: the function that reports a broken check, and a reader that takes bytes one after another.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace sumac::fuzz {

inline void must(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}
  bool empty() const noexcept { return left_.empty(); }
  std::uint8_t byte() noexcept {
    if (left_.empty()) return 0;
    const auto value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }
  std::uint16_t word() noexcept { return static_cast<std::uint16_t>(byte() | byte() << 8); }
  /// Returns `count` bytes, or all that are left if there are fewer.
  std::string_view bytes(std::size_t count) noexcept {
    const auto part = left_.first(count < left_.size() ? count : left_.size());
    left_ = left_.subspan(part.size());
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::string_view rest() noexcept { return bytes(left_.size()); }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace sumac::fuzz
