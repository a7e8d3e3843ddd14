#include "base/tell.hpp"

#include <cstdio>
#include <string>

#include "base/utf8.hpp"

namespace sumac {

void tell_text(std::string_view text) {
  std::string lines;
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find('\n');
    lines += printable(text.substr(0, end)) + '\n';
    if (end != text.npos) text.remove_prefix(end + 1);
  }
  (void)std::fwrite(lines.data(), 1, lines.size(), stderr);
}

}  // namespace sumac
