#pragma once
// GPU memory, staged through pinned host memory. The CUDA driver is not linked: its library is loaded when somebody first says that a buffer
// is CUDA's, and asked only if the process has it anyway when nobody says what a buffer is. Chunks are copied to the host one behind the
// other while earlier ones travel; results go back in one copy each when the operation is complete. What the caller's streams still write
// into a buffer is the caller's to wait for, as with every library that takes a pointer.
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/status.hpp"

namespace sumac::client::cuda {

/// Is it device memory? False without a driver in this process.
bool is_device(const void* pointer) noexcept;

/// SHARP_COLL_ENOT_SUPP: no driver on this host.
Outcome<> require_driver();

/// Gives pinned memory back that is kept for the next operation. Kept are at most 64 MiB.
void trim() noexcept;

struct Piece {
  void* device = nullptr;
  std::size_t bytes = 0;
};

/// The device memory of one operation. In any call the right CUDA context is made current and put back.
class Stage {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;  ///< Of one copy: at PCIe speed about 50 us.
  static constexpr std::size_t kAhead = 4;                     ///< Copies under way.

  /// SHARP_COLL_EINVAL: not device memory.
  static Outcome<std::unique_ptr<Stage>> make(const void* device);
  ~Stage();  ///< Waits for copies under way.
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Host memory for what the operation gives: advance() fills it. At most one of each.
  Outcome<std::span<std::byte>> give(std::vector<Piece> from);
  /// Host memory for what it keeps: finish() takes it to the device. `in_place`: the memory of give().
  Outcome<std::span<std::byte>> keep(std::vector<Piece> to, bool in_place);

  /// Up to here the memory of give() is filled. Stays where it is.
  const std::byte* const* ready_until() const noexcept { return &ready_; }
  /// Starts and notes copies; never waits. True: all of it is here.
  Outcome<bool> advance();
  /// The first `to.size()` bytes at once.
  static Outcome<> fetch(const void* device, std::span<std::byte> to);
  Outcome<> finish();

 private:
  struct Impl;
  explicit Stage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  const std::byte* ready_ = nullptr;
};

}  // namespace sumac::client::cuda
