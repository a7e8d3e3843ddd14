#include "p2p/members.hpp"

#include <net/if.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "net/address.hpp"
#include "wire/host.hpp"
#include "wire/peer.hpp"

namespace sumac::p2p {
namespace {

constexpr std::uint32_t kMagic = 0x70325053;  // This reads "SP2p".

/// All members run on machines of one byte order, as their buffers do.
struct Blob {
  std::uint32_t magic = kMagic;
  std::uint32_t version = wire::kPeerVersion;
  std::uint32_t rank = 0, size = 0;
  std::uint32_t group = 0;
  std::uint32_t reproducible = 0;
  std::uint64_t rate_bits_per_s = 0;
  Secret key{};
  std::array<char, 64> host{};
  std::array<char, wire::kAddressMax> address{};
};
static_assert(std::has_unique_object_representations_v<Blob>);

template <std::size_t n>
std::string text_of(const std::array<char, n>& text) {
  return {text.data(), strnlen(text.data(), n)};
}

template <std::size_t n>
void set_text(std::array<char, n>& to, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), n - 1), to.begin());
}

}  // namespace

Result<std::vector<std::byte>> introduce(std::uint32_t rank, std::uint32_t size, const Introduction& me) {
  auto key = draw_secret();
  auto number = draw_secret();
  if (!key || !number) return tl::unexpected(key ? number.error() : key.error());
  Blob blob;
  blob.rank = rank;
  blob.size = size;
  std::memcpy(&blob.group, number->data(), sizeof blob.group);
  blob.reproducible = me.reproducible ? 1 : 0;
  blob.rate_bits_per_s = me.rate_bits_per_s;
  blob.key = *key;
  wipe(*key);
  set_text(blob.host, me.host);
  set_text(blob.address, me.address);
  std::vector<std::byte> bytes(sizeof blob);
  std::memcpy(bytes.data(), &blob, sizeof blob);
  wipe(blob.key);
  return bytes;
}

Result<Members> read_introductions(std::span<const std::byte> blobs, std::uint32_t size) {
  if (blobs.size() != size * sizeof(Blob))
    return fail(Errc::invalid,
                "the exchange returned {} bytes instead of {} for each of {} members: have all the same version of "
                "Sumac?",
                blobs.size(), sizeof(Blob), size);
  Members members;
  std::string first_transport;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Blob blob;
    std::memcpy(static_cast<void*>(&blob), blobs.data() + rank * sizeof blob, sizeof blob);
    const std::string host = text_of(blob.host);
    if (blob.magic != kMagic || blob.version != wire::kPeerVersion)
      return fail(Errc::invalid,
                  "rank {} introduced itself in another form: install the same version of Sumac everywhere", rank);
    if (blob.rank != rank || blob.size != size)
      return fail(Errc::invalid,
                  "rank {} of {} (host {}) came as rank {} of {}: the exchange must keep the order of ranks", blob.rank,
                  blob.size, host, rank, size);
    if (rank == 0) {
      members.key = blob.key;
      members.group = blob.group;
      members.reproducible = blob.reproducible != 0;
      members.rate_bits_per_s = blob.rate_bits_per_s;
    }
    wipe(blob.key);
    const std::string address = text_of(blob.address);
    const std::string transport = address.substr(0, address.find(':'));
    if (rank == 0) first_transport = transport;
    if (transport != first_transport)
      return fail(Errc::invalid,
                  "rank {} (host {}) uses the transport {}, rank 0 (host {}) {}: set SUMAC_TRANSPORT alike everywhere",
                  rank, host, transport, members.hosts.front(), first_transport);
    members.rate_bits_per_s = std::min(members.rate_bits_per_s, blob.rate_bits_per_s);
    members.hosts.push_back(host);
    members.addresses.push_back(address);
  }
  return members;
}

std::uint64_t link_rate_of(std::string_view transport_address) {
  if (!transport_address.starts_with("tcp:")) return 0;
  const auto address = net::parse_address(transport_address.substr(4));
  if (!address) return 0;
  const auto index = net::interface_of(*address);
  std::array<char, IF_NAMESIZE> name{};
  if (!index || if_indextoname(*index, name.data()) == nullptr) return 0;
  // An interface without a device behind it (veth, tap) has a number there that means nothing.
  const std::filesystem::path folder = std::filesystem::path("/sys/class/net") / name.data();
  std::error_code error;
  if (!std::filesystem::exists(folder / "device", error)) return 0;
  std::ifstream file(folder / "speed");
  std::int64_t megabits = 0;
  return file >> megabits && megabits > 0 ? static_cast<std::uint64_t>(megabits) * 1'000'000 : 0;
}

}  // namespace sumac::p2p
