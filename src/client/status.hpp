#pragma once
// What a function of the C interface returns, with the sentence that the log gets. Inside the library failures that must be
// told to the caller by number are Failures; everything below speaks base/result.hpp.
#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>

namespace sumac::client {

struct Failure {
  int status = 0;    ///< Negative, of enum sharp_error_no.
  std::string text;  ///< Lower case, one line, names the thing and the remedy.
  /// Of a refused operation: decided by what all members pass alike (type, operation, mode), so nobody waits for this one.
  bool is_alike = false;
};

template <class T = void>
using Outcome = tl::expected<T, Failure>;

template <class... Args>
[[nodiscard]] tl::unexpected<Failure> failure(int status, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Failure>(Failure{status, fmt::format(format, std::forward<Args>(args)...)});
}

/// Never null, also for numbers that are none of ours.
const char* status_text(int status) noexcept;

}  // namespace sumac::client
