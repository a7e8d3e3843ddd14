#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace sumac {

/// Prints lines for people on stderr. Whatever may be in them from a file, a peer or a program is made printable() first.
/// It throws nothing where stderr is closed or full, since the exit status must come all the same.
void tell_text(std::string_view text);

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  tell_text(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sumac
