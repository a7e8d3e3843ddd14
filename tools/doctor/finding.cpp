#include "tools/doctor/finding.hpp"

#include <algorithm>

namespace sumac::tools::doctor {

bool is_plain(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:@+,%=";
  return !text.empty() && text.front() != '-' && text.find_first_not_of(kPlain) == text.npos;
}

std::string in_command(std::string_view text, std::string_view stand_in) {
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (!is_plain(rest.substr(0, end))) return std::string(stand_in);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::string(text.empty() ? stand_in : text);
}

}  // namespace sumac::tools::doctor
