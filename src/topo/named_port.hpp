#pragma once
// A port of a host as people name it: its device and a number, "mlx5_1:1".
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::topo {

struct NamedPort {
  std::string device;
  std::uint32_t number = 1;

  friend bool operator==(const NamedPort&, const NamedPort&) = default;
};

/// Parses "mlx5_1:1" or "mlx5_1". Errc::invalid: the name is empty, or the number is not one.
Result<NamedPort> parse_named_port(std::string_view text);
/// Parses "mlx5_1:1,mlx5_2"; an empty text gives an empty list.
Result<std::vector<NamedPort>> parse_named_ports(std::string_view text);

}  // namespace sumac::topo
