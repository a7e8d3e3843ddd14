#include "base/result.hpp"

#include <cerrno>
#include <cstring>

namespace sumac {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::ok: return "ok";
    case Errc::again: return "try again";
    case Errc::interrupted: return "interrupted";
    case Errc::invalid: return "invalid";
    case Errc::unsupported: return "not supported";
    case Errc::not_found: return "not found";
    case Errc::denied: return "denied";
    case Errc::exists: return "exists";
    case Errc::lost: return "peer lost";
    case Errc::timeout: return "timed out";
    case Errc::verdict: return "ended by verdict";
    case Errc::exhausted: return "exhausted";
    case Errc::refused: return "refused";
    case Errc::no_memory: return "out of memory";
    case Errc::io: return "input/output error";
    case Errc::internal: return "internal error";
  }
  return "unknown error";
}

tl::unexpected<Error> fail_errno(std::string_view what) {
  const int code = errno;
  return fail(Errc::io, "{}: {}", what, std::strerror(code));
}

}  // namespace sumac
