#pragma once
// GPU memory is staged through pinned host memory. The CUDA driver is not linked: its library is loaded when a caller
// first declares a buffer as CUDA's. If callers do not declare the kind of a buffer, the driver is asked only if the
// process has loaded it anyway. Chunks are copied to the host one after the other while earlier ones travel; each
// result is copied back in one step when the operation is complete. The caller must wait for its own streams before it
// passes a buffer, as with every library that takes a pointer.
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/status.hpp"

namespace sumac::client::cuda {

/// Is it device memory? False if this process has no driver.
bool is_device(const void* pointer) noexcept;

/// SHARP_COLL_ENOT_SUPP: there is no driver on this host.
Outcome<> require_driver();

/// Frees pinned memory that is kept for the next operation; at most 64 MiB are kept.
void trim() noexcept;

struct Piece {
  void* device = nullptr;
  std::size_t bytes = 0;
};

/// The device memory of one operation. Each call makes the right CUDA context current and restores the previous one.
class Stage {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;  ///< The bytes of one copy: at PCIe speed about 50 us.
  static constexpr std::size_t kAhead = 4;                     ///< The most copies under way.

  /// SHARP_COLL_EINVAL: this is not device memory.
  static Outcome<std::unique_ptr<Stage>> make(const void* device);
  ~Stage();  ///< Waits for copies under way.
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Returns host memory for the operation's input; advance() fills it. At most one give() and one keep().
  Outcome<std::span<std::byte>> give(std::vector<Piece> from);
  /// Returns host memory for the operation's result; finish() copies it to the device. `in_place`: it is the memory of
  /// give().
  Outcome<std::span<std::byte>> keep(std::vector<Piece> to, bool in_place);

  /// The end of the filled part of give()'s memory. The pointer itself never moves.
  const std::byte* const* ready_until() const noexcept { return &ready_; }
  /// Starts copies and records finished ones; never waits. Returns true when all input is on the host.
  Outcome<bool> advance();
  /// Copies the first `to.size()` bytes at once.
  static Outcome<> fetch(const void* device, std::span<std::byte> to);
  Outcome<> finish();

 private:
  struct Impl;
  explicit Stage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  const std::byte* ready_ = nullptr;
};

}  // namespace sumac::client::cuda
