#include "node/pin.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>

namespace sumac::node {
namespace {

Result<int> number(std::string_view text, std::string_view whole) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value >= CPU_SETSIZE)
    return fail(Errc::invalid, "{}: no list of processors; write 2 or 0,4-7", whole);
  return value;
}

}  // namespace

Result<std::vector<int>> parse_processors(std::string_view text) {
  std::vector<int> processors;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash), text);
    if (!first) return tl::unexpected(first.error());
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1), text);
    if (!last) return tl::unexpected(last.error());
    if (*last < *first) return fail(Errc::invalid, "{}: {} comes after {}", text, *first, *last);
    for (int processor = *first; processor <= *last; ++processor) processors.push_back(processor);
    at = end + 1;
  }
  return processors;
}

Result<> pin_this_thread(const std::vector<int>& processors, std::size_t index) {
  if (processors.empty()) return {};
  const int processor = processors[index % processors.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0)
    return fail_errno(fmt::format("run on processor {} only (SUMAC_NODE_PIN)", processor));
  return {};
}

}  // namespace sumac::node
