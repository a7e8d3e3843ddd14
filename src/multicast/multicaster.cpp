#include "multicast/multicaster.hpp"

#include <sys/socket.h>

#include <cstring>

#include "base/secret.hpp"
#include "base/siphash.hpp"

namespace sumac::multicast {
namespace {

// Transient addresses of the site-local (IPv4) and link-local (IPv6) scope, which are not assigned to anyone (RFC 2365,
// RFC 4291).
constexpr const char* kBase4 = "239.255.0.0:5383";
constexpr const char* kBase6 = "[ff12::5355:0]:5383";

}  // namespace

Result<Config> parse_config(const std::string& text, int hops) {
  Config config{text != "off", text != "auto", std::nullopt, hops};
  if (text == "auto" || text == "on" || text == "off") return config;
  auto base = net::parse_address(text);
  if (!base) return tl::unexpected(base.error());
  if (!is_multicast(*base) || base->port() == 0)
    return fail(Errc::invalid, "{} is no multicast address with a port: write {} or {}, or auto, on, off", text, kBase4,
                kBase6);
  config.base = *base;
  return config;
}

bool Multicaster::open() {
  if (sender_) return true;
  // Only tcp addresses name a network; a ucx address does not.
  const auto local = address_.starts_with("tcp:") ? net::parse_address(std::string_view(address_).substr(4))
                                                  : fail(Errc::unsupported, "the transport is not tcp");
  if (!local) return give_up(local.error().context), false;
  if (!config_.base) config_.base = *net::parse_address(local->family() == AF_INET6 ? kBase6 : kBase4);
  if (config_.base->family() != local->family())
    return give_up(fmt::format("{} is not of the family of {}", net::format_address(*config_.base), address_)), false;
  auto sender = SendSocket::open(*local, config_.hops);
  if (!sender) return give_up(sender.error().context), false;
  sender_.emplace(*std::move(sender));
  return true;
}

void Multicaster::give_up(const std::string& why) {
  is_off_ = true;
  SUMAC_INFO(log_, "no multicast here, results go by the tree's links only: {}", why);
}

bool Multicaster::invite(GroupId /*group_id*/, wire::InvitedBody& to) {
  if (is_off_ || !open()) return false;
  const auto key = draw_secret();
  if (!key) return give_up(key.error().context), false;
  // A random address will do: no one keeps account of the addresses of all trees in a network. If two groups share one,
  // their keys keep them apart.
  const auto where = nth_address(*config_.base, static_cast<std::uint16_t>(siphash(*key, {})));
  to = {};
  to.key = *key;
  to.address = to_wire(where);
  to.port = where.port();
  return true;
}

bool Multicaster::send(const wire::InvitedBody& to, const wire::AggHeader& header, std::span<const std::byte> data) {
  if (is_off_ || !sender_ || data.size() > wire::kMulticastPayloadMax) return false;
  std::array<std::byte, wire::kDatagramMax> bytes;
  const std::size_t size = wire::kAggHeaderBytes + data.size() + wire::kTagBytes;
  wire::store(bytes.data(), header);
  if (!data.empty()) std::memcpy(bytes.data() + wire::kAggHeaderBytes, data.data(), data.size());
  const auto datagram = std::span(bytes).first(size);
  wire::seal_datagram(datagram, to.key);
  switch (sender_->send(from_wire(to.address, to.port), datagram)) {
    case Errc::ok: failures_ = 0; return true;
    case Errc::again: ++lost_; return true;  // The loss of a datagram in the network has the same effect.
    default: break;
  }
  const std::string why = std::strerror(errno);
  ++lost_;
  if (++failures_ >= kFailuresMax) give_up(why);
  return false;
}

}  // namespace sumac::multicast
