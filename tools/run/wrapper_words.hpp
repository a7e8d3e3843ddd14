#pragma once
// Reads the command line of a program that only prepares the next one: `env`, `numactl`, `taskset`, `nice`, `time` and
// their like. Pure.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/run/launcher_words.hpp"

namespace sumac::tools {

struct Unwrapped {
  std::size_t first = 0;          ///< The index, among the words given, of the command that the wrapper starts.
  std::vector<Setting> settings;  ///< env's NAME=VALUE; `word` counts from the words given.
  std::string withheld;           ///< The option that empties the environment (`env -i`), or empty.
  bool operator==(const Unwrapped&) const = default;
};

/// Nothing: the first word is no wrapper that is known here, or no command follows it.
std::optional<Unwrapped> unwrap(std::span<const std::string> words);

/// The part of a path behind its last slash.
std::string file_name_of(const std::string& path);

}  // namespace sumac::tools
