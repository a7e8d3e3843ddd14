// The first rank of a host makes a memfd, which the others open through /proc/PID/fd. Where that fails (hidepid, other
// process numbers) a file in /dev/shm serves, which is unlinked as soon as all have opened it.
#include "shm/segment/block.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/secret.hpp"
#include "base/shared_file.hpp"
#include "shm/segment/segment.hpp"

namespace sumac::shm {
namespace {

/// The name by which the other ranks open it, and whether it is one to remove.
struct Offer {
  UniqueFd fd;
  std::string path;
  std::size_t bytes = 0;
  bool has_name = false;

  Offer() = default;
  Offer(Offer&&) = default;
  Offer& operator=(Offer&&) = default;
  ~Offer() {
    if (has_name) ::unlink(path.c_str());
  }
};

Result<Offer> offer(const std::vector<std::size_t>& sizes, bool as_memfd) {
  Offer made;
  if (as_memfd) {
    made.fd.reset(::memfd_create("sumac-block", MFD_CLOEXEC));
    made.path = fmt::format("/proc/{}/fd/{}", ::getpid(), made.fd.get());
  } else {
    // Nobody else can take a name that he cannot guess.
    auto part = draw_secret();
    if (!part) return tl::unexpected(part.error());
    made.path = shared_name() + hex(std::as_bytes(std::span(*part)), "");
    made.fd.reset(::open(made.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    made.has_name = static_cast<bool>(made.fd);
  }
  if (!made.fd) return fail_errno(as_memfd ? "memfd_create" : "create a file in /dev/shm");
  // The team's segment needs more.
  const std::size_t most = fair_share(as_memfd ? Backing::memfd : Backing::devshm) / 2;
  const auto fits = std::ranges::find_if(sizes, [&](std::size_t bytes) { return bytes <= most; });
  made.bytes = fits == sizes.end() ? sizes.back() : *fits;
  if (auto sized = size_memory(made.fd.get(), made.bytes, as_memfd ? Backing::memfd : Backing::devshm); !sized)
    return tl::unexpected(sized.error());
  return made;
}

/// The others read it by heard().
std::string told(const Offer& offer) { return fmt::format("{} {}", offer.bytes, offer.path); }

/// Nothing where the creator has none to offer.
std::optional<Offer> heard(const std::string& text, const std::vector<std::size_t>& sizes) {
  const std::size_t space = text.find(' ');
  const auto size =
      std::ranges::find_if(sizes, [&](std::size_t bytes) { return std::to_string(bytes) == text.substr(0, space); });
  if (size == sizes.end()) return std::nullopt;
  Offer offer;
  offer.bytes = *size;
  offer.path = text.substr(space + 1);
  return offer;
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

Result<Block> Block::share(const Exchange& exchange, int rank, int creator, const std::vector<std::size_t>& sizes) {
  Result<> agreed;
  for (const bool as_memfd : {true, false}) {
    Result<Offer> mine = Offer{};
    if (creator == rank) mine = offer(sizes, as_memfd);
    auto offers = exchange(mine && creator == rank ? told(*mine) : "");
    if (!offers) return tl::unexpected(offers.error());
    const auto common = heard((*offers)[static_cast<std::size_t>(creator)], sizes);
    std::string complaint = mine ? "" : mine.error().context;
    if (mine && !common) complaint = fmt::format("rank {} names no memory", creator);
    Block block;
    if (complaint.empty()) {
      auto other = creator == rank ? Result<UniqueFd>(UniqueFd()) : open_shared(common->path, "sumac-", common->bytes);
      auto mapped = other ? map_shared(creator == rank ? mine->fd.get() : other->get(), common->bytes)
                          : Result<std::byte*>(tl::unexpected(other.error()));
      if (mapped)
        block = Block(*mapped, common->bytes);
      else
        complaint = mapped.error().context;
    }
    agreed = agree(exchange, complaint);
    if (agreed) return block;
  }
  return within("no shared memory between the ranks of a host", agreed.error());
}

}  // namespace sumac::shm
