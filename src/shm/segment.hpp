#pragma once
// The memory of one host's team. One rank creates it, the others attach with the handle that it sends them, then nobody
// needs a name or a descriptor any more:
//
//   member 0:  auto segment = Segment::create(shape, Backing::memfd);   send segment->handle() to the others
//   others:    auto segment = Segment::attach(handle, shape, member);
//   all:       agree that everybody has it (and if not: drop it, and try Backing::devshm, then go on without)
//   all:       segment->all_attached();
//
// Ranks in several PID namespaces (containers) can't ask the kernel for each other's processes. There each keeps the descriptor, and a lock
// on one byte of the file: the kernel takes it away when the process ends, and from nobody earlier, since a forked child does not
// inherit it. Where all are in one namespace nothing is kept.
//
// memfd: no name, nothing can be left behind, /dev/shm may be full or tiny. Others open it through /proc/PID/fd, which a
// container with other process numbers or hidepid forbids; then a file in /dev/shm serves: reserved in full before use (a
// full /dev/shm is an error here and not a SIGBUS later), and unlinked by all_attached().
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "shm/layout.hpp"

namespace sumac::shm {

enum class Backing : std::uint8_t { memfd, devshm };

inline constexpr std::uint64_t kSegmentMagic = 0x53554d4143534834;  // "SUMACSH4": the number rises with the layout

/// A process as others find it: the number may be used again, the time of its start tells.
struct ProcessName {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;     ///< Clock ticks since boot, /proc/PID/stat.
  std::uint64_t pid_namespace = 0;  ///< Its number; 0: not known.
};
ProcessName this_process() noexcept;

/// Plain bytes: travels in any message between processes of one host.
struct Handle {
  std::uint64_t token = 0;  ///< Random; also in the segment: a descriptor number that was used again is found out.
  std::int64_t pid = 0;
  std::int32_t fd = -1;
  Backing backing = Backing::memfd;
  std::uint64_t bytes = 0;
  std::uint64_t large_bytes = 0;  ///< Of the shape as made: halved until it fitted.
  std::array<char, 64> path{};    ///< devshm.
};

/// First bytes of a segment.
struct alignas(kCacheLine) SegmentHeader {
  std::atomic<std::uint64_t> magic;
  std::uint64_t token;
  std::uint64_t bytes;
  std::uint32_t members;
  /// Why nothing works any more, said by who found out first: m + 1: member m is dead; -(m + 1): it has given up; 0: all is well.
  std::atomic<std::int32_t> culprit;
};

/// Behind it, one of each member, written by that member when it attaches.
struct alignas(kCacheLine) MemberEntry {
  ProcessName process;
  std::atomic<std::int32_t> rank;  ///< What errors call it; by its first Group.
  bool is_locked;                  ///< It holds the lock of its byte (Segment::life_lock()).
};

class Segment {
 public:
  /// For the creator, who is member 0. Errc::exhausted: no room (devshm); Errc::io: the system refused.
  static Result<Segment> create(const Shape& shape, Backing backing);
  static Result<Segment> attach(const Handle& handle, const Shape& shape, int member);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  const Handle& handle() const noexcept { return handle_; }
  const Shape& shape() const noexcept { return shape_; }  ///< With the large_bytes that were had.
  /// Everybody has attached, or nobody will: what the memory was found by goes away. Also done on destruction.
  void all_attached() noexcept;

  enum class Lock : std::uint8_t { held, gone, unknown };
  /// Of a member in another PID namespace: has its process ended? Not for members of this process.
  Lock life_lock(int member) const noexcept;

  std::byte* at(std::size_t offset) const noexcept { return base_ + offset; }
  SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }
  MemberEntry& entry(int member) const noexcept {
    return reinterpret_cast<MemberEntry*>(base_ + sizeof(SegmentHeader))[member];
  }

 private:
  Segment(Shape shape, Handle handle, std::byte* base, UniqueFd fd) noexcept;

  Shape shape_;
  Handle handle_;
  std::byte* base_ = nullptr;
  UniqueFd fd_;  ///< Until all have attached; in several namespaces as long as the segment.
  bool owns_name_ = false;
};

}  // namespace sumac::shm
