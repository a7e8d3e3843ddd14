#pragma once
// The memory of one host's team. One rank creates it and sends a handle to the others, which attach with it; afterwards
// no rank needs a name or a descriptor any more:
//
//   member 0:  auto segment = Segment::create(shape, Backing::memfd);   send segment->handle() to the others
//   others:    auto segment = Segment::attach(handle, shape, member);
//   all:       agree that everybody has it (and if not: drop it, and try Backing::devshm, then go on without)
//   all:       segment->all_attached();
//
// Ranks in several PID namespaces (containers) cannot ask the kernel for each other's processes. There each rank keeps
// the descriptor and a lock on one byte of the file. The kernel releases that lock exactly when the process ends, since
// a forked child does not inherit it. Where all ranks are in one namespace nothing is kept.
//
// A memfd has no name, so nothing can be left behind, and it works where /dev/shm is full or tiny. The other ranks open
// it through /proc/PID/fd, which fails under hidepid or in a container with other process numbers. Then a file in
// /dev/shm serves: it is reserved in full before use (a full /dev/shm is an error here and not a SIGBUS later), and
// all_attached() unlinks it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "shm/segment/layout.hpp"

namespace sumac::shm {

enum class Backing : std::uint8_t { memfd, devshm };

inline constexpr std::uint64_t kSegmentMagic = 0x53554d4143534835;  // "SUMACSH5": the number rises with the layout

/// A process as other processes identify it. The kernel may use the number again; the start time tells the two apart.
struct ProcessName {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;     ///< Clock ticks since boot, /proc/PID/stat.
  std::uint64_t pid_namespace = 0;  ///< The inode number of its PID namespace; 0 if unknown.
};
ProcessName this_process() noexcept;

/// Gives a new file of memory its size; one in /dev/shm takes all of its pages now. Errc::exhausted: /dev/shm has no room.
Result<> size_memory(int fd, std::size_t bytes, Backing backing);
/// Returns the begin of a name in /dev/shm, which this process completes: the next call of the same user and PID namespace
/// removes files with such names whose processes have died.
std::string shared_name();
/// The bytes that one group may take: half of the room that is left in /dev/shm, so that further groups find some.
std::size_t fair_share(Backing backing) noexcept;
/// Maps so many bytes of a file that other processes map too.
Result<std::byte*> map_shared(int fd, std::size_t bytes);

/// Plain bytes, which fit into any message between processes of one host.
struct Handle {
  std::uint64_t token = 0;  ///< A random number that also stands in the segment, so that a reused descriptor number is
                            ///< noticed.
  std::int64_t pid = 0;
  std::int32_t fd = -1;
  Backing backing = Backing::memfd;
  std::uint64_t bytes = 0;
  std::uint64_t large_bytes = 0;  ///< The size of the areas as made: halved while the segment was not fair_share().
  std::array<char, 64> path{};    ///< The file's path, for Backing::devshm.
};

/// The first bytes of a segment.
struct alignas(kCacheLine) SegmentHeader {
  std::atomic<std::uint64_t> magic;
  std::uint64_t token;
  std::uint64_t bytes;
  std::uint32_t members;
  /// The first member that found the group broken stores why: m + 1 if member m is dead, -(m + 1) if member m gave up;
  /// 0 if all is well.
  std::atomic<std::int32_t> culprit;
};

/// One entry for each member after the header; the member writes it when it attaches.
struct alignas(kCacheLine) MemberEntry {
  ProcessName process;
  std::atomic<std::int32_t> rank;  ///< The rank by which errors name it; each Group stores those of its members.
  bool is_locked;                  ///< It holds the lock of its byte (Segment::life_lock()).
};

class Segment {
 public:
  /// Member 0 calls this. Errc::exhausted: /dev/shm has no room; Errc::io: the system refused.
  static Result<Segment> create(const Shape& shape, Backing backing);
  static Result<Segment> attach(const Handle& handle, const Shape& shape, int member);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  const Handle& handle() const noexcept { return handle_; }
  const Shape& shape() const noexcept { return shape_; }  ///< Its large_bytes is the size that was really allocated.
  /// Every member has attached, or none will any more: removes the name and the descriptor by which others found the
  /// memory. The destructor does so too.
  void all_attached() noexcept;

  enum class Lock : std::uint8_t { held, gone, unknown };
  /// Has the process of a member in another PID namespace ended? Not for members of this process.
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
  UniqueFd fd_;  ///< Held until all have attached; with several namespaces, as long as the segment.
  bool owns_name_ = false;
};

}  // namespace sumac::shm
