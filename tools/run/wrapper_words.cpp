#include "tools/run/wrapper_words.hpp"

#include <algorithm>
#include <string_view>

namespace sumac::tools {
namespace {

struct Wrapper {
  std::string_view name;
  std::string_view short_values;              ///< Short options that take a value, attached or as the next word.
  std::vector<std::string_view> long_values;  ///< Long options whose value may be the next word.
  std::size_t operands = 0;                   ///< Words of its own between options and command (timeout's duration).
  bool assigns = false;                       ///< NAME=VALUE may stand before the command.
};

const std::vector<Wrapper>& wrappers() {
  static const std::vector<Wrapper> kWrappers{
      {"env", "uC", {"--unset", "--chdir"}, 0, true},
      {"nice", "n", {"--adjustment"}},
      {"nohup", "", {}},
      {"numactl",
       "iNCmpPw",
       {"--interleave", "--cpunodebind", "--physcpubind", "--membind", "--preferred", "--preferred-many",
        "--weighted-interleave"}},
      {"setsid", "", {}},
      {"stdbuf", "ioe", {"--input", "--output", "--error"}},
      {"taskset", "", {}, 1},
      {"time", "fo", {"--format", "--output"}},
      {"timeout", "sk", {"--signal", "--kill-after"}, 1},
  };
  return kWrappers;
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0;
}

/// The number of words that the option at `at` takes, its own included.
std::size_t option_words(const Wrapper& wrapper, const std::string& word) {
  if (word.starts_with("--")) return std::ranges::find(wrapper.long_values, word) != wrapper.long_values.end() ? 2 : 1;
  return word.size() == 2 && wrapper.short_values.find(word[1]) != std::string_view::npos ? 2 : 1;
}

}  // namespace

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<Unwrapped> unwrap(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  const auto wrapper = std::ranges::find(wrappers(), file_name_of(words[0]), &Wrapper::name);
  if (wrapper == wrappers().end()) return std::nullopt;
  Unwrapped found;
  std::size_t at = 1;
  for (; at < words.size() && words[at].starts_with("-"); at += option_words(*wrapper, words[at])) {
    if (words[at] == "--") {
      ++at;
      break;
    }
    if (wrapper->assigns && (words[at] == "-" || words[at] == "-i" || words[at] == "--ignore-environment"))
      found.withheld = "env " + words[at];
    // env -S "A B" holds a whole command line in one word, with a syntax of its own.
    if (wrapper->assigns && (words[at].starts_with("-S") || words[at].starts_with("--split-string")))
      return std::nullopt;
  }
  for (; wrapper->assigns && at < words.size() && is_assignment(words[at]); ++at) {
    const auto equals = words[at].find('=');
    found.settings.push_back({words[at].substr(0, equals), words[at].substr(equals + 1), at});
  }
  at += wrapper->operands;
  if (at >= words.size()) return std::nullopt;
  found.first = at;
  return found;
}

}  // namespace sumac::tools
