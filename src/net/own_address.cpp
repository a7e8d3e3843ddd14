#include "net/own_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <memory>
#include <thread>
#include <utility>

#include "base/fd.hpp"

namespace sumac::net {
namespace {

struct AddrinfoDelete {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

/// One look-up of a name. The thread that makes it and its caller share it, since the caller may leave first.
struct LookUp {
  std::string host;
  UniqueFd done;  ///< An eventfd that is readable once the fields below are set.
  int error = 0;
  std::unique_ptr<addrinfo, AddrinfoDelete> found;

  void run(int flags) {
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = flags;
    error = getaddrinfo(host.c_str(), "9", &hints, &list);
    found.reset(list);
  }
};

/// getaddrinfo() cannot be interrupted, and a name service that is down holds it for 5 s and more. So a thread calls
/// it, and is left alone if the caller is interrupted.
Result<std::shared_ptr<LookUp>> look_up(const std::string& host, int interrupt_fd) {
  auto up = std::make_shared<LookUp>();
  up->host = host;
  up->run(AI_NUMERICHOST);
  if (up->error != EAI_NONAME) return up;
  up->done = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!up->done) return fail_errno("eventfd");
  std::thread([up] {
    up->run(0);
    const eventfd_t once = 1;
    static_cast<void>(!write(up->done.get(), &once, sizeof once));  // It fails for wrong arguments alone.
  }).detach();
  for (;;) {
    pollfd wait[] = {{up->done.get(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return fail_errno("poll");
    if (wait[1].revents != 0) return fail(Errc::interrupted, "interrupted while {} was looked up", host);
    // The thread's fields are read behind what it wrote last. ThreadSanitizer sees that in read() and write() alone.
    eventfd_t times = 0;
    if (wait[0].revents != 0 && read(up->done.get(), &times, sizeof times) == sizeof times) return up;
  }
}

/// Returns the address from which the kernel would send to this one.
Result<OwnAddress> address_before(const addrinfo& to) {
  const UniqueFd fd(socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket");
  if (connect(fd.get(), to.ai_addr, to.ai_addrlen) < 0) return fail_errno("no way");
  OwnAddress own;
  own.address.length = sizeof own.address.storage;
  if (getsockname(fd.get(), own.address.get(), &own.address.length) < 0) return fail_errno("getsockname");
  own.address.set_port(0);
  auto device = interface_with(own.address);
  if (!device) return tl::unexpected(device.error());
  own.device = device->value_or("");
  own.loopback = own.address.is_loopback();
  return own;
}

}  // namespace

std::string OwnAddress::ip() const { return host_of(format_address(address)); }

Result<OwnAddress> address_towards(const std::string& host, int interrupt_fd) {
  auto up = look_up(host, interrupt_fd);
  if (!up) return tl::unexpected(up.error());
  if ((*up)->error != 0) return fail(Errc::not_found, "{}: {}", host, gai_strerror((*up)->error));
  Error last{Errc::not_found, host + ": no address"};
  // As among interfaces IPv4 goes first, since a host of the fabric may have nothing else.
  for (const int family : {AF_INET, AF_INET6})
    for (const addrinfo* at = (*up)->found.get(); at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      auto own = address_before(*at);
      if (own) return own;
      last = Error{own.error().code, fmt::format("{}: {}", host, own.error().context)};
    }
  return tl::unexpected(last);
}

}  // namespace sumac::net
