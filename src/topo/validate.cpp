#include "topo/validate.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sumac::topo {

namespace {

using Names = std::map<std::string, std::uint32_t, std::less<>>;

bool is_name(std::string_view text) {  // it becomes a host name
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && std::all_of(text.begin(), text.end(), good);
}

Result<> check_spec(const LinkSpec& spec, std::string_view what) {
  if (spec.delay_ns < 0) return fail(Errc::invalid, "{}: the delay is negative", what);
  if (spec.mtu_bytes < 576 || spec.mtu_bytes > 9216) {
    return fail(Errc::invalid, "{}: mtu {} is not within 576 to 9216", what, spec.mtu_bytes);
  }
  if (spec.buffer_bytes < spec.mtu_bytes + 14ULL) {
    return fail(Errc::invalid, "{}: a buffer of {} bytes holds no frame of {} bytes: make it larger", what,
                spec.buffer_bytes, spec.mtu_bytes + 14ULL);
  }
  if (!(spec.loss >= 0 && spec.loss <= 1))
    return fail(Errc::invalid, "{}: loss {} is not within 0 to 1", what, spec.loss);
  return {};
}

/// Switches and hosts share one name space, since both can be an end of something; nodes are apart but for places of
/// their own, which become names of machines too.
Result<> check_names(const Fabric& fabric) {
  std::map<std::string_view, std::string_view> seen;
  const auto add = [&](std::string_view name, std::string_view kind) -> Result<> {
    if (!is_name(name)) {
      return fail(Errc::invalid, "{} name '{}' is not usable: letters, digits and '-' only, at most 63", kind, name);
    }
    const auto [at, fresh] = seen.emplace(name, kind);
    if (!fresh) {
      return fail(Errc::invalid, "the name {} is used twice, for a {} and a {}: names must differ", name, at->second,
                  kind);
    }
    return {};
  };
  for (const auto& name : fabric.switches) {
    if (auto ok = add(name, "switch"); !ok) return ok;
  }
  for (const auto& host : fabric.hosts) {
    if (auto ok = add(host.name, "host"); !ok) return ok;
  }
  for (const auto& node : fabric.nodes) {
    if (auto ok = add(node.name, "node"); !ok) return ok;
  }
  if (fabric.manager && !fabric.manager->place.at_switch.empty() && seen.contains("manager")) {
    return fail(Errc::invalid, "the name manager is used for a {}: it is kept for the manager's own place",
                seen["manager"]);
  }
  return {};
}

Names index_of(const std::vector<std::string>& switches) {
  Names index;
  for (std::uint32_t i = 0; i < switches.size(); ++i) index.emplace(switches[i], i);
  return index;
}

/// The way from `from` to `to` over the links accepted so far: with the link that closes it, it is the loop.
std::vector<std::uint32_t> way(const std::vector<std::vector<std::uint32_t>>& adjacent, std::uint32_t from,
                               std::uint32_t to) {
  std::vector<std::int64_t> before(adjacent.size(), -1);
  std::vector<std::uint32_t> queue{from};
  before[from] = from;
  for (std::size_t next = 0; next < queue.size() && before[to] < 0; ++next) {
    for (const auto n : adjacent[queue[next]]) {
      if (before[n] >= 0) continue;
      before[n] = queue[next];
      queue.push_back(n);
    }
  }
  std::vector<std::uint32_t> path;
  if (before[to] < 0) return path;
  for (auto at = to; at != from; at = static_cast<std::uint32_t>(before[at])) path.push_back(at);
  path.push_back(from);
  return path;
}

Result<> check_links(const Fabric& fabric, const Names& index) {
  std::vector<std::vector<std::uint32_t>> adjacent(fabric.switches.size());
  for (const auto& link : fabric.links) {
    const auto name = fmt::format("link {}-{}", link.a, link.b);
    for (const auto& end : {link.a, link.b}) {
      if (!index.contains(end))
        return fail(Errc::invalid, "{}: there is no switch {}: add it to 'switches' or mend the name", name, end);
    }
    if (auto ok = check_spec(link.spec, name); !ok) return ok;
    const auto a = index.find(link.a)->second;
    const auto b = index.find(link.b)->second;
    if (const auto loop = way(adjacent, a, b); !loop.empty()) {
      std::string text = link.a;
      for (const auto at : loop) text += " - " + fabric.switches[at];
      return fail(Errc::invalid, "the links form a loop: {}: switches must form a tree, remove one of these links",
                  text);
    }
    adjacent[a].push_back(b);
    adjacent[b].push_back(a);
  }
  for (std::uint32_t i = 1; i < fabric.switches.size(); ++i) {
    if (way(adjacent, 0, i).empty()) {
      return fail(Errc::invalid, "switch {} has no way to switch {}: add a link that joins the two parts",
                  fabric.switches[i], fabric.switches[0]);
    }
  }
  return {};
}

Result<> check_place(const Fabric& fabric, const Names& index, const Placement& place, std::string_view what) {
  if (place.at_switch.empty() == place.at_host.empty()) {
    return fail(Errc::invalid, "{}: say where it is, either 'switch' or 'host'", what);
  }
  if (!place.at_switch.empty() && !index.contains(place.at_switch)) {
    return fail(Errc::invalid, "{}: there is no switch {}: add it to 'switches' or mend the name", what,
                place.at_switch);
  }
  const auto named = [&](const Host& host) { return host.name == place.at_host; };
  if (!place.at_host.empty() && std::none_of(fabric.hosts.begin(), fabric.hosts.end(), named)) {
    return fail(Errc::invalid, "{}: there is no host {}: add it to 'hosts' or mend the name", what, place.at_host);
  }
  return {};
}

}  // namespace

Result<> validate(const Fabric& fabric) {
  if (fabric.name.empty()) return fail(Errc::invalid, "the fabric has no name: add 'name'");
  if (!is_name(fabric.name)) {
    return fail(Errc::invalid, "the fabric's name '{}' is not usable: letters, digits and '-' only, at most 63",
                fabric.name);
  }
  if (fabric.switches.empty())
    return fail(Errc::invalid, "fabric {} has no switch: name one under 'switches'", fabric.name);
  if (fabric.hosts.empty()) return fail(Errc::invalid, "fabric {} has no host: name one under 'hosts'", fabric.name);
  if (auto ok = check_names(fabric); !ok) return ok;
  const auto index = index_of(fabric.switches);
  if (auto ok = check_links(fabric, index); !ok) return ok;
  for (const auto& host : fabric.hosts) {
    if (host.leaf.empty()) return fail(Errc::invalid, "host {} has no leaf: add 'leaf: SWITCH'", host.name);
    if (!index.contains(host.leaf)) {
      return fail(Errc::invalid, "host {}: there is no switch {}: add it to 'switches' or mend the name", host.name,
                  host.leaf);
    }
    if (host.slots == 0)
      return fail(Errc::invalid, "host {}: slots is 0: say 'compute: false' for a host without ranks", host.name);
    if (auto ok = check_spec(host.link, fmt::format("host {}", host.name)); !ok) return ok;
  }
  for (const auto& node : fabric.nodes) {
    if (auto ok = check_place(fabric, index, node.place, fmt::format("node {}", node.name)); !ok) return ok;
  }
  if (fabric.root) {
    const auto named = [&](const Node& node) { return node.name == *fabric.root; };
    if (std::none_of(fabric.nodes.begin(), fabric.nodes.end(), named)) {
      return fail(Errc::invalid, "root: there is no node {}: add it to 'nodes' or mend the name", *fabric.root);
    }
  }
  if (fabric.manager) {
    if (auto ok = check_place(fabric, index, fabric.manager->place, "manager"); !ok) return ok;
    if (fabric.manager->port == 0) return fail(Errc::invalid, "manager: port 0 is not usable: name one of 1 to 65535");
  }
  return {};
}

}  // namespace sumac::topo
