// The first rank of a host makes a memfd, which the others open through /proc/PID/fd. Where that fails (hidepid, other
// process numbers) a file in /dev/shm serves, which is unlinked as soon as all have opened it.
#include "shm/segment/block.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/secret.hpp"
#include "base/shared_file.hpp"
#include "shm/segment/segment.hpp"

namespace sumac::shm {
namespace {

constexpr const char* kPrefix = "sumac-block-";

/// The name by which the other ranks open it, and whether it is one to remove.
struct Offer {
  UniqueFd fd;
  std::string path;
  bool has_name = false;

  Offer() = default;
  Offer(Offer&&) = default;
  Offer& operator=(Offer&&) = default;
  ~Offer() {
    if (has_name) ::unlink(path.c_str());
  }
};

Result<Offer> offer(std::size_t bytes, bool as_memfd) {
  Offer made;
  if (as_memfd) {
    made.fd.reset(::memfd_create("sumac-block", MFD_CLOEXEC));
    made.path = fmt::format("/proc/{}/fd/{}", ::getpid(), made.fd.get());
  } else {
    // Nobody else can take a name that he cannot guess.
    auto part = draw_secret();
    if (!part) return tl::unexpected(part.error());
    made.path = fmt::format("/dev/shm/{}{}-{}", kPrefix, ::getuid(), hex(std::as_bytes(std::span(*part)), ""));
    made.fd.reset(::open(made.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    made.has_name = static_cast<bool>(made.fd);
  }
  if (!made.fd) return fail_errno(as_memfd ? "memfd_create" : "create " + made.path);
  if (::ftruncate(made.fd.get(), static_cast<off_t>(bytes)) != 0) return fail_errno("size " + made.path);
  return made;
}

/// Returns the first rank's complaint, or nothing.
Result<> agree(const Block::Exchange& exchange, const std::string& complaint) {
  auto all = exchange(complaint);
  if (!all) return tl::unexpected(all.error());
  for (std::size_t rank = 0; rank < all->size(); ++rank)
    if (!(*all)[rank].empty()) return fail(Errc::io, "rank {}: {}", rank, (*all)[rank]);
  return {};
}

}  // namespace

Block::Block(Block&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Block::~Block() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Block> Block::share(const Exchange& exchange, int rank, int creator, std::size_t bytes) {
  Result<> agreed;
  for (const bool as_memfd : {true, false}) {
    Result<Offer> mine = Offer{};
    if (creator == rank) mine = offer(bytes, as_memfd);
    auto offers = exchange(mine ? mine->path : "");
    if (!offers) return tl::unexpected(offers.error());
    const std::string& path = (*offers)[static_cast<std::size_t>(creator)];
    std::string complaint = mine ? "" : mine.error().context;
    Block block;
    if (complaint.empty() && !path.empty()) {
      auto other = creator == rank ? Result<UniqueFd>(UniqueFd()) : open_shared(path, kPrefix, bytes);
      auto mapped = other ? map_shared(creator == rank ? mine->fd.get() : other->get(), bytes)
                          : Result<std::byte*>(tl::unexpected(other.error()));
      if (mapped)
        block = Block(*mapped, bytes);
      else
        complaint = mapped.error().context;
    }
    agreed = agree(exchange, complaint);
    if (agreed) return block;
  }
  return within("no shared memory between the ranks of a host", agreed.error());
}

}  // namespace sumac::shm
