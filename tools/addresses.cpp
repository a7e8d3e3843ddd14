#include "tools/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "base/fd.hpp"

namespace sumac::tools {
namespace {

std::string ip_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN]{};
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  return text;
}

std::string device_with(const std::string& ip) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next)
    if (at->ifa_addr != nullptr && ip_of(at->ifa_addr) == ip) return at->ifa_name;
  return {};
}

}  // namespace

std::string OwnAddress::with_port(unsigned port) const {
  return ip.find(':') == std::string::npos ? fmt::format("{}:{}", ip, port) : fmt::format("[{}]:{}", ip, port);
}

Result<OwnAddress> address_towards(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found); error != 0)
    return fail(Errc::not_found, "{}: {}", host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  Error last{Errc::not_found, host + ": no address"};
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const UniqueFd fd(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), at->ai_addr, at->ai_addrlen) < 0) {
      last = fail_errno(host).value();
      continue;
    }
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) < 0) return fail_errno("getsockname");
    OwnAddress address;
    address.ip = ip_of(reinterpret_cast<const sockaddr*>(&own));
    address.device = device_with(address.ip);
    address.loopback = address.ip.starts_with("127.") || address.ip == "::1";
    return address;
  }
  return tl::unexpected(last);
}

}  // namespace sumac::tools
