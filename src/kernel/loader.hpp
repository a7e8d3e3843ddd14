#pragma once
// Puts the program of program.bpf.c into the kernel and speaks to it. Its maps can be pinned below a folder whose name has the
// layout's version and sizes: then the next daemon finds the groups that are in use. Until it comes, or the lease ends, the
// kernel goes on to answer their frames.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kernel/layout.h"

struct bpf_object;

namespace sumac::kernel {

struct LoadOptions {
  std::string pins{};      ///< A folder of this daemon alone, in a file system of type bpf; none: nothing is pinned.
  std::uint16_t port = 0;  ///< Frames come to it,
  std::vector<std::uint8_t> address{};  ///< at this address of 4 or 16 bytes; none: at any.
  std::uint32_t groups_max = 64;
  std::uint32_t slots_max = 8;                     ///< A group has at most so many, 2 W.
  std::uint64_t lease_end_ns = ~std::uint64_t{0};  ///< The time of CLOCK_BOOTTIME until renew_lease().
};

class Program {
 public:
  /// Loads the program and takes over the pinned maps of a former daemon, or makes them. What another layout has pinned
  /// in the folder goes.
  static Result<Program> load(const LoadOptions& options);

  /// Reads what a former daemon has left in that folder for as many groups and slots. Nothing: it has left none, or of another layout.
  static std::optional<HopConfig> pinned(const LoadOptions& options);

  /// Attaches it to the ingress of a device, in the place of a former daemon's. The filter goes on when we end.
  Result<> attach(const std::string& device);

  /// Detaches it, and removes the queueing discipline that held it if nothing else uses it.
  Result<> detach(const std::string& device);

  /// Detaches what a former daemon of that folder has left on any device, and removes its pins. Nothing is there, nearly always.
  static Result<> clear(const LoadOptions& options);

  /// Removes all pins. Without filters the kernel then frees the maps.
  Result<> unpin();

  /// A group begins with number `first`. Frames find it once all its slots stand.
  Result<> begin_group(std::uint32_t index, const HopGroup& group, std::uint32_t first);
  Result<> end_group(std::uint32_t index);
  /// No daemon knows of it any more. Successors see until when it goes on.
  Result<> leave_group(std::uint32_t index, std::uint64_t until_ns);
  Result<HopGroup> group(std::uint32_t index) const;
  Result<> renew_lease(std::uint64_t end_ns);  ///< The kernel answers no frames after it.

  /// From now on the kernel answers only what it has answered.
  Result<> freeze(std::uint32_t index);
  Result<HopSlot> look(const HopGroup& group, std::uint32_t sequence) const;
  Result<HopCounts> counts() const;  ///< Sums over the processors.
  struct Runs {
    std::uint64_t count = 0, ns = 0;
  };
  Result<Runs> runs() const;  ///< The kernel counts them while kernel.bpf_stats_enabled is 1.

  int receiver() const noexcept;  ///< Returns the descriptor of the program, for tests.

 private:
  struct Close {
    void operator()(bpf_object* object) const noexcept;
  };
  Program(std::unique_ptr<bpf_object, Close> object, LoadOptions options) noexcept
      : object_(std::move(object)), options_(std::move(options)) {}
  int map(const char* name) const noexcept;

  std::unique_ptr<bpf_object, Close> object_;
  LoadOptions options_;
};

}  // namespace sumac::kernel
