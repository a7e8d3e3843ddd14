#include "base/secret.hpp"

#include <sys/random.h>

#include <cerrno>

namespace sumac {

Result<Secret> draw_secret() {
  Secret secret{};
  for (std::size_t have = 0; have < secret.size();) {
    const auto got = ::getrandom(secret.data() + have, secret.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("getrandom");
    have += static_cast<std::size_t>(got);
  }
  return secret;
}

}  // namespace sumac
