#pragma once
// The result of a function of the C interface, with the sentence for the log. Inside the library, failures that the
// caller must get as a number are Failures; the layers below use base/result.hpp.
#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>

namespace sumac::client {

struct Failure {
  int status = 0;    ///< Negative, from enum sharp_error_no.
  std::string text;  ///< Lower case, one line, names the object and the remedy.
  /// For a refused operation: arguments that all members pass alike (type, operation, mode) decided it, so no member
  /// waits for this one.
  bool is_alike = false;
  bool no_room =
      false;  ///< All that the job was granted is in use: the communicator has no group, and the job goes on.
  bool in_vain = false;  ///< No more is known than that no answer came: another rank may know the reason.
};

template <class T = void>
using Outcome = tl::expected<T, Failure>;

template <class... Args>
[[nodiscard]] tl::unexpected<Failure> failure(int status, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Failure>(Failure{status, fmt::format(format, std::forward<Args>(args)...)});
}

/// The failure of a communicator for which the job's grant has no room left.
[[nodiscard]] inline tl::unexpected<Failure> no_room(tl::unexpected<Failure> failed) {
  failed.value().no_room = true;
  return failed;
}

/// The failure of a rank that waited in vain.
[[nodiscard]] inline tl::unexpected<Failure> in_vain(tl::unexpected<Failure> failed) {
  failed.value().in_vain = true;
  return failed;
}

/// Never null, also for numbers that are not ours.
const char* status_text(int status) noexcept;

}  // namespace sumac::client
