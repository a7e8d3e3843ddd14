#pragma once
// For tests and benchmarks of processes on several hosts: their starter holds both ends of their pipes. A member writes
// its blob to stdout as a line of hexadecimal digits, and reads the lines of all members from stdin.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "p2p/group.hpp"

namespace sumac::p2p::test {

inline Result<std::vector<std::byte>> exchange_by_pipes(std::span<const std::byte> mine, std::uint32_t size) {
  std::string line = "blob ";
  for (const std::byte byte : mine) line += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  std::cout << line << std::endl;
  std::vector<std::byte> all;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (!std::getline(std::cin, line) || line.size() != 2 * mine.size())
      return fail(Errc::invalid, "stdin has no line of {} digits for rank {}: the starter has ended", 2 * mine.size(),
                  i);
    for (std::size_t at = 0; at < line.size(); at += 2)
      all.push_back(static_cast<std::byte>(std::stoi(line.substr(at, 2), nullptr, 16)));
  }
  return all;
}

/// Makes the group of this process by the transport that SUMAC_TRANSPORT names, or ends it with a line that says why not.
inline std::unique_ptr<Group> group_by_pipes(GroupConfig config) {
  const std::uint32_t size = config.size;
  config.exchange = [size](std::span<const std::byte> mine) { return exchange_by_pipes(mine, size); };
  const std::uint32_t rank = config.rank;
  if (const char* transport = std::getenv("SUMAC_TRANSPORT"); transport != nullptr)
    config.transport.backend = transport;
  auto group = Group::make(std::move(config));
  if (group) return std::move(*group);
  fmt::print(stderr, "rank {}: {}\n", rank, group.error().context);
  std::exit(1);
}

}  // namespace sumac::p2p::test
