#include "tools/chaos/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/random.hpp"

namespace sumac::tools::chaos {

namespace {

/// Faults begin at such distances.
constexpr Duration kApartMin = Millis{500}, kApartMax = Seconds{3};
constexpr Duration kKilledFor = Seconds{1};
/// A node that says nothing gets no new jobs after 3 s, and is lost after 10 s: some stops are shorter than the first,
/// some longer than the second.
constexpr Duration kStoppedMin = Millis{500}, kStoppedMax = Seconds{12};
constexpr Duration kCutMin = Millis{200}, kCutMax = Seconds{4};
constexpr Duration kLosesMin = Seconds{1}, kLosesMax = Seconds{5};

Duration between(Random& random, Duration least, Duration most) {
  return Duration{random.between(least.count(), most.count())};
}

/// The words that begin a fault and those that undo it, without the thing that both name.
struct Words {
  std::string thing, begin, undo;
  Duration lasts{};
};

std::optional<Words> draw(Random& random, Kind kind, const Targets& targets) {
  const auto daemon = [](const std::string& name) { return "daemon " + name; };
  const auto one_of = [&](const std::vector<std::string>& names) { return names[random.below(names.size())]; };
  switch (kind) {
    case Kind::node_killed:
      if (targets.nodes.empty()) return std::nullopt;
      return Words{daemon(one_of(targets.nodes)), "kill", "start", kKilledFor};
    case Kind::node_stopped:
      if (targets.nodes.empty()) return std::nullopt;
      return Words{daemon(one_of(targets.nodes)), "stop", "cont", between(random, kStoppedMin, kStoppedMax)};
    case Kind::sharpd_killed:
      if (targets.hosts.empty()) return std::nullopt;
      return Words{daemon(one_of(targets.hosts)), "kill", "start", kKilledFor};
    case Kind::manager_killed: return Words{daemon("manager"), "kill", "start", kKilledFor};
    case Kind::link_cut:
    case Kind::link_loses: {
      if (targets.links.empty()) return std::nullopt;
      const auto& [a, b] = targets.links[random.below(targets.links.size())];
      const bool cut = kind == Kind::link_cut;
      const auto loss = static_cast<double>(random.between(1, 100)) / 1000;
      return Words{fmt::format("link {} {}", a, b), cut ? "down" : fmt::format("loss {}", loss), "up",
                   cut ? between(random, kCutMin, kCutMax) : between(random, kLosesMin, kLosesMax)};
    }
  }
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::node_killed: return "node killed";
    case Kind::node_stopped: return "node stopped";
    case Kind::sharpd_killed: return "sharpd killed";
    case Kind::manager_killed: return "manager killed";
    case Kind::link_cut: return "link cut";
    case Kind::link_loses: return "link loses frames";
  }
  return "?";
}

std::vector<Step> schedule(std::uint64_t seed, const Targets& targets, Duration end) {
  Random random(seed);
  std::vector<Step> steps;
  std::map<std::string, Duration> disturbed_until;
  for (Duration at = between(random, kApartMin, kApartMax); at < end; at += between(random, kApartMin, kApartMax)) {
    const auto kind = kKinds[random.below(kKinds.size())];
    const auto words = draw(random, kind, targets);
    if (!words || disturbed_until[words->thing] >= at) continue;
    disturbed_until[words->thing] = at + words->lasts;
    steps.push_back({at, kind, true, split(words->thing + " " + words->begin)});
    steps.push_back({at + words->lasts, kind, false, split(words->thing + " " + words->undo)});
  }
  std::ranges::stable_sort(steps, {}, &Step::at);
  return steps;
}

}  // namespace sumac::tools::chaos
