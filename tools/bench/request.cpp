#include "tools/bench/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace sumac::tools::bench {
namespace {

constexpr std::array kRunOptions = {"--hosts", "--hostfile", "--launcher", "--nodes", "--address", "--transport"};
constexpr std::array kRunFlags = {"--tree", "--local", "--allow-insecure", "--keep-logs"};
constexpr std::array kWithValue = {"-n", "-np", "--mpirun", "--lab", "--pairs", "--json", "--plot"};

template <std::size_t n>
bool is_one_of(const std::string& word, const std::array<const char*, n>& words) {
  return std::ranges::find(words, word) != words.end();
}

Result<unsigned> number(const std::string& option, const std::string& text, unsigned least, unsigned most) {
  unsigned value = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || value < least || value > most)
    return fail(Errc::invalid, "{} {}: give a whole number from {} to {}", option, text, least, most);
  return value;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Result<> take(Request& request, const std::string& option, const std::string& value) {
  if (option == "-n" || option == "-np") {
    const auto ranks = number(option, value, 1, 1'000'000);
    if (!ranks) return tl::unexpected(ranks.error());
    request.ranks = *ranks;
  } else if (option == "--pairs") {
    const auto pairs = number(option, value, 2, 10'000);
    if (!pairs) return tl::unexpected(pairs.error());
    request.pairs = *pairs;
  } else if (option == "--mpirun") {
    request.launcher = words_of(value);
    if (request.launcher.empty()) return fail(Errc::invalid, "--mpirun is empty: name the launcher");
  } else if (option == "--lab") {
    request.lab = value;
  } else {
    if (value.empty() || value.starts_with("-"))
      return fail(Errc::invalid, "{} '{}': give a file's name; ./-x for one that begins with '-'", option, value);
    (option == "--json" ? request.json : request.plot) = value;
  }
  return {};
}

Result<> agree(const Request& request) {
  if (request.benchmark.empty()) return fail(Errc::invalid, "which benchmark? `sumac bench --list` names all");
  if (!request.lab.empty() && !request.run.empty())
    return fail(Errc::invalid, "--lab has hosts and a tree of its own: leave {} out", request.run.front());
  if (!request.compare && (!request.json.empty() || !request.plot.empty() || request.no_plot))
    return fail(Errc::invalid, "--json, --plot and --no-plot are about a comparison: add --compare");
  if (request.no_plot && !request.plot.empty())
    return fail(Errc::invalid, "--plot and --no-plot contradict each other: give one of them");
  return {};
}

}  // namespace

Result<Request> parse_request(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    const bool has_benchmark = !request.benchmark.empty();
    const bool with_value = is_one_of(word, kWithValue) || is_one_of(word, kRunOptions);
    if (with_value && i + 1 == words.size()) return fail(Errc::invalid, "{} needs a value", word);
    if (is_one_of(word, kWithValue)) {
      if (auto taken = take(request, word, words[++i]); !taken) return tl::unexpected(taken.error());
    } else if (is_one_of(word, kRunOptions)) {
      request.hosts_named = request.hosts_named || word == "--hosts" || word == "--hostfile";
      request.run.insert(request.run.end(), {word, words[++i]});
    } else if (is_one_of(word, kRunFlags)) {
      request.run.push_back(word);
    } else if (word == "--compare") {
      request.compare = true;
    } else if (word == "--no-plot") {
      request.no_plot = true;
    } else if (!has_benchmark && (word == "--help" || word == "-h")) {
      request.help = true;
    } else if (!has_benchmark && word == "--list") {
      request.list = true;
    } else if (!has_benchmark && word.starts_with("-")) {
      return fail(Errc::invalid, "no option {}: see `sumac bench --help`", word);
    } else {
      request.benchmark.push_back(word);
    }
  }
  if (request.help || request.list) return request;
  if (auto agreed = agree(request); !agreed) return tl::unexpected(agreed.error());
  return request;
}

}  // namespace sumac::tools::bench
