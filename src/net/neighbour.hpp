#pragma once
// Finds where packets to an address leave this host: the interface, and the link addresses of both ends of its first way.
#include <array>
#include <cstdint>

#include "net/address.hpp"

namespace sumac::net {

using LinkAddress = std::array<std::uint8_t, 6>;

struct Neighbour {
  unsigned interface = 0;
  LinkAddress own{}, next{};  ///< Zeros on loopback. `next` is a router's if the address is behind one.
};

/// Asks the kernel's tables. Errc::not_found: it does not know the neighbour's link address; who has a connection there does.
Result<Neighbour> neighbour_of(const SocketAddress& to);

/// The link address of an interface; zeros if it has none.
Result<LinkAddress> link_address_of(unsigned interface);

}  // namespace sumac::net
