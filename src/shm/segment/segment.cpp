#include "shm/segment/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

#include "base/shared_file.hpp"

namespace sumac::shm {

namespace {

constexpr std::size_t kLargeBytesLeast = 16 * 1024;

std::uint64_t random_token() noexcept {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != sizeof token) token = static_cast<std::uint64_t>(::getpid()) << 32 | 1;
  return token | 1;  // Never 0, which is the content of fresh memory.
}

Result<UniqueFd> make_memfd(std::size_t bytes) {
  UniqueFd fd{::memfd_create("sumac", MFD_CLOEXEC)};
  if (!fd) return fail_errno("memfd_create");
  if (auto sized = size_memory(fd.get(), bytes, Backing::memfd); !sized) return tl::unexpected(sized.error());
  return fd;
}

Result<UniqueFd> make_file(const char* path, std::size_t bytes) {
  UniqueFd fd{::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd) return fail_errno("create a file in /dev/shm");
  auto sized = size_memory(fd.get(), bytes, Backing::devshm);
  if (sized) return fd;
  ::unlink(path);
  return tl::unexpected(sized.error());
}

/// A name exists from create() to all_attached() and stays behind if the creator is killed in between: the next
/// create() of the same user and PID namespace removes it.
std::string name_prefix() { return fmt::format("sumac-{}-{}-", ::getuid(), this_process().pid_namespace); }

void sweep() {
  // This is only housekeeping: a file that cannot be read or removed belongs to somebody else.
  std::error_code ignored;
  const std::string prefix = name_prefix();
  for (auto at = std::filesystem::directory_iterator("/dev/shm", ignored); at != std::filesystem::directory_iterator();
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)
      std::filesystem::remove(at->path(), ignored);
  }
}

struct flock whole_byte(int member) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = member;
  lock.l_len = 1;
  return lock;
}

/// The lock belongs to the process, not to the descriptor, so a forked child does not hold it.
bool lock_byte(const UniqueFd& fd, int member) noexcept {
  struct flock lock = whole_byte(member);
  return ::fcntl(fd.get(), F_SETLK, &lock) == 0;
}

}  // namespace

std::string shared_name() {
  sweep();
  return fmt::format("/dev/shm/{}{}-", name_prefix(), ::getpid());
}

Result<> size_memory(int fd, std::size_t bytes, Backing backing) {
  const bool is_memfd = backing == Backing::memfd;
  const int error = size_shared(fd, bytes, is_memfd ? Pages::when_touched : Pages::now);
  // The texts are short because they travel to the other ranks beside many others.
  if (error == ENOSPC)
    return fail(Errc::exhausted, "/dev/shm has no {} KiB left: enlarge it (docker --shm-size)", bytes / 1024);
  if (error == EFBIG)
    return fail(Errc::io, "shared memory of {} KiB is beyond the limit of a file: raise it (ulimit -f)", bytes / 1024);
  const char* const words = std::strerror(error);
  if (error != 0 && is_memfd) return fail(Errc::io, "size {} KiB of a memfd: {}", bytes / 1024, words);
  if (error != 0) return fail(Errc::io, "reserve {} KiB in /dev/shm: {}", bytes / 1024, words);
  return {};
}

std::size_t fair_share(Backing backing) noexcept {
  struct statvfs room {};
  // A tmpfs without a limit has no blocks.
  if (backing == Backing::memfd || ::statvfs("/dev/shm", &room) != 0 || room.f_blocks == 0)
    return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(room.f_bavail) * room.f_frsize / 2;
}

Result<std::byte*> map_shared(int fd, std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return fail_errno(fmt::format("map {} KiB of shared memory", bytes / 1024));
  return static_cast<std::byte*>(at);
}

Segment::Segment(Shape shape, Handle handle, std::byte* base, UniqueFd fd) noexcept
    : shape_(std::move(shape)), handle_(handle), base_(base), fd_(std::move(fd)) {}

Segment::Segment(Segment&& other) noexcept
    : shape_(std::move(other.shape_)),
      handle_(other.handle_),
      base_(std::exchange(other.base_, nullptr)),
      fd_(std::move(other.fd_)),
      owns_name_(std::exchange(other.owns_name_, false)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(shape_, other.shape_);
  std::swap(handle_, other.handle_);
  std::swap(base_, other.base_);
  std::swap(fd_, other.fd_);
  std::swap(owns_name_, other.owns_name_);
  return *this;
}

Segment::~Segment() {
  all_attached();
  fd_.reset();
  if (base_ != nullptr) ::munmap(base_, handle_.bytes);
}

void Segment::all_attached() noexcept {
  bool is_one_namespace = base_ != nullptr && entry(0).process.pid_namespace != 0;
  for (int m = 1; m < shape_.members && is_one_namespace; ++m)
    is_one_namespace = entry(m).process.pid_namespace == entry(0).process.pid_namespace;
  if (is_one_namespace) fd_.reset();
  // A forked child that destroys its copy must not remove the name that other members still need to attach.
  if (std::exchange(owns_name_, false) && handle_.pid == ::getpid()) ::unlink(handle_.path.data());
}

Segment::Lock Segment::life_lock(int member) const noexcept {
  struct flock lock = whole_byte(member);
  if (!fd_ || !entry(member).is_locked || ::fcntl(fd_.get(), F_GETLK, &lock) != 0) return Lock::unknown;
  return lock.l_type == F_UNLCK ? Lock::gone : Lock::held;
}

Result<Segment> Segment::create(const Shape& wanted, Backing backing) {
  Shape shape = wanted;
  Handle handle;
  handle.token = random_token();
  handle.pid = ::getpid();
  handle.backing = backing;
  if (backing == Backing::devshm) {
    *fmt::format_to_n(handle.path.data(), handle.path.size() - 1, "{}{:x}", shared_name(), handle.token).out = '\0';
  }
  const std::size_t share = fair_share(backing);
  Result<UniqueFd> fd;
  for (;;) {
    handle.bytes = segment_bytes(shape);
    const bool is_least = shape.large_bytes == 0;
    if (handle.bytes <= share || is_least) {
      fd = backing == Backing::memfd ? make_memfd(handle.bytes) : make_file(handle.path.data(), handle.bytes);
      if (fd || fd.error().code != Errc::exhausted || is_least) break;
    }
    // Large messages also work with smaller areas; without any area they go through the eager buffers.
    shape.large_bytes = shape.large_bytes / 2 < kLargeBytesLeast ? 0 : shape.large_bytes / 2;
  }
  if (!fd) return tl::unexpected(fd.error());
  handle.fd = fd->get();
  handle.large_bytes = shape.large_bytes;

  auto base = map_shared(fd->get(), handle.bytes);
  Segment segment{std::move(shape), handle, base ? *base : nullptr, *std::move(fd)};
  segment.owns_name_ = backing == Backing::devshm;
  if (!base) return tl::unexpected(base.error());
  SegmentHeader& header = segment.header();
  header.token = handle.token;
  header.bytes = handle.bytes;
  header.members = static_cast<std::uint32_t>(segment.shape_.members);
  segment.entry(0).process = this_process();
  segment.entry(0).is_locked = lock_byte(segment.fd_, 0);
  // A member that sees the magic number also sees all fields stored above.
  header.magic.store(kSegmentMagic, std::memory_order_release);
  return segment;
}

Result<Segment> Segment::attach(const Handle& handle, const Shape& wanted, int member) {
  Shape shape = wanted;
  shape.large_bytes = handle.large_bytes;
  if (member < 1 || member >= shape.members || segment_bytes(shape) != handle.bytes)
    return fail(Errc::invalid, "a segment of {} bytes does not belong to this team", handle.bytes);
  const std::string path = handle.backing == Backing::memfd ? fmt::format("/proc/{}/fd/{}", handle.pid, handle.fd)
                                                            : std::string(handle.path.data());
  auto fd = open_shared(path, "sumac-", handle.bytes);
  if (!fd) return tl::unexpected(fd.error());
  auto base = map_shared(fd->get(), handle.bytes);
  if (!base) return tl::unexpected(base.error());
  Segment segment{std::move(shape), handle, *base, *std::move(fd)};
  const SegmentHeader& header = segment.header();
  if (header.magic.load(std::memory_order_acquire) != kSegmentMagic || header.token != handle.token)
    return fail(Errc::io,
                "the segment is another team's: the creator, process {}, is in another PID namespace, or gone",
                handle.pid);
  segment.entry(member).process = this_process();
  segment.entry(member).is_locked = lock_byte(segment.fd_, member);
  return segment;
}

}  // namespace sumac::shm
