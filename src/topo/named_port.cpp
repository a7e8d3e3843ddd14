#include "topo/named_port.hpp"

#include <algorithm>
#include <charconv>

namespace sumac::topo {

Result<NamedPort> parse_named_port(std::string_view text) {
  const auto colon = text.rfind(':');
  NamedPort port{std::string(text.substr(0, colon)), 1};
  if (port.device.empty()) return fail(Errc::invalid, "device '{:.64}' has no name", text);
  if (colon == std::string_view::npos) return port;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port.number);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || port.number == 0)
    return fail(Errc::invalid, "device {:.64}: port {:.16} is no number from 1", text, digits);
  return port;
}

Result<std::vector<NamedPort>> parse_named_ports(std::string_view text) {
  std::vector<NamedPort> ports;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    auto port = parse_named_port(word);
    if (!port) return tl::unexpected(port.error());
    ports.push_back(*std::move(port));
  }
  return ports;
}

}  // namespace sumac::topo
