#pragma once
// Errors are values with a trail: `Result<T>` is T or an Error whose context reads from the outermost layer inwards,
// "join tree 7: connect an-3: no answer in 2000 ms". Hot paths return a bare Errc and build no text.
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace sumac {

/// The kinds of errors, grouped by the caller's reaction.
enum class Errc : int {
  ok = 0,
  // After these errors the caller tries again: nothing is broken.
  again = 1,        ///< A window, queue or credit is full: progress, then repeat the call.
  interrupted = 2,  ///< A signal asked us to stop.
  // After these errors the caller must correct the call: repeating it unchanged cannot help.
  invalid = 10,      ///< An argument, option, file or message is malformed.
  unsupported = 11,  ///< Legal, but this tree, type or machine cannot do it: choose another method.
  not_found = 12,
  denied = 13,
  exists = 14,
  // After these errors the caller rebuilds the group or the job: the operation failed for every member, or the peer is
  // gone.
  lost = 20,       ///< A peer or connection is gone.
  timeout = 21,    ///< No answer within the time limit of the caller.
  verdict = 22,    ///< The group's root ended the group; the text names the culprit.
  exhausted = 23,  ///< A quota or pool (OSTs, groups, connections) has nothing left.
  refused = 24,    ///< The other side refused and gave a reason.
  // After these errors the caller gives up.
  no_memory = 30,
  io = 31,  ///< The operating system refused; the text contains the words for errno.
  internal = 32,
};

std::string_view to_string(Errc code) noexcept;

struct Error {
  Errc code = Errc::internal;
  std::string context;
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// Makes the unexpected value: `return fail(Errc::invalid, "port {} is not a number", text);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Keeps the error's code and puts one more layer of words in front of its text.
[[nodiscard]] inline tl::unexpected<Error> within(std::string_view layer, Error error) {
  return tl::unexpected<Error>(Error{error.code, fmt::format("{}: {}", layer, error.context)});
}

/// Returns Errc::io with the words for errno; call it before errno can change.
[[nodiscard]] tl::unexpected<Error> fail_errno(std::string_view what);

template <class... Lambdas>
struct overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
overloaded(Lambdas...) -> overloaded<Lambdas...>;

}  // namespace sumac
