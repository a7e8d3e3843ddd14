#include "topo/validate.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.hpp"

namespace sumac::topo {

namespace {

constexpr std::size_t kSwitchesMax = 65'536;  // an InfiniBand subnet has 49,151 addresses
constexpr std::size_t kLinksMax = 4'194'304;
constexpr std::size_t kHostsMax = 1'048'576;
constexpr std::uint32_t kTreesMax = 1024;
constexpr std::uint32_t kRadixMax = 65'535;

using Names = std::unordered_map<std::string_view, std::uint32_t>;

bool is_name(std::string_view text, std::string_view also) {
  const auto good = [&](char c) { return is_letter_or_digit(c) || c == '-' || also.find(c) != std::string_view::npos; };
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

/// Switches, hosts and nodes share one namespace: all can be machines of the lab, and switches and hosts ends of links.
/// A manager at a switch is a machine too, with the name `manager`.
Result<> check_names(const Fabric& fabric) {
  std::unordered_map<std::string_view, std::string_view> seen;
  const auto add = [&](std::string_view name, std::string_view kind) -> Result<> {
    if (!is_name(name, "._")) {
      return fail(Errc::invalid, "{} name '{}' is not usable: letters, digits, '.', '_' and '-' only, at most 63", kind,
                  name);
    }
    const auto [at, fresh] = seen.emplace(name, kind);
    if (!fresh) {
      return fail(Errc::invalid, "the name {} is used twice, for a {} and a {}: names must differ", name, at->second,
                  kind);
    }
    return {};
  };
  for (const auto& each : fabric.switches) {
    if (auto ok = add(each.name, "switch"); !ok) return ok;
  }
  for (const auto& host : fabric.hosts) {
    if (auto ok = add(host.name, "host"); !ok) return ok;
  }
  for (const auto& node : fabric.nodes) {
    if (auto ok = add(node.name, "node"); !ok) return ok;
  }
  if (fabric.manager && !fabric.manager->place.at_switch.empty() && seen.contains("manager")) {
    return fail(Errc::invalid, "the name manager is used for a {}: it is reserved for the manager: choose another",
                seen["manager"]);
  }
  return {};
}

Result<> check_links(const Fabric& fabric, const Names& index) {
  for (const auto& link : fabric.links) {
    const auto name = fmt::format("link {}-{}", link.a, link.b);
    for (const auto& end : {link.a, link.b}) {
      if (!index.contains(end))
        return fail(Errc::invalid, "{}: there is no switch {}: add it to 'switches' or mend the name", name, end);
    }
    if (link.a == link.b)
      return fail(Errc::invalid, "{}: a link joins two switches, not one with itself: mend one of its ends", name);
    if (auto ok = check_spec(link.spec, name); !ok) return ok;
  }
  return {};
}

/// Parts of the fabric that no link joins are planes: each then needs every host that gets ranks.
Result<> check_planes(const Fabric& fabric, const Names& index) {
  std::vector<std::uint32_t> plane(fabric.switches.size());
  std::iota(plane.begin(), plane.end(), 0U);
  const auto find = [&](std::uint32_t at) {
    while (plane[at] != at) at = plane[at] = plane[plane[at]];
    return at;
  };
  for (const auto& link : fabric.links) {
    const auto a = find(index.at(link.a));
    const auto b = find(index.at(link.b));
    plane[std::max(a, b)] = std::min(a, b);
  }
  std::vector<std::uint32_t> first;  // one switch of each plane
  for (std::uint32_t i = 0; i < plane.size(); ++i)
    if (find(i) == i) first.push_back(i);
  if (first.size() == 1) return {};
  for (const auto& host : fabric.hosts) {
    if (!host.compute) continue;
    std::set<std::uint32_t> here{find(index.at(host.leaf))};
    for (const auto& rail : host.rails) here.insert(find(index.at(rail.leaf)));
    for (const auto at : first)
      if (!here.contains(at))
        return fail(Errc::invalid,
                    "switch {} has no way to switch {}: add a link that joins the two parts, or give each host a port "
                    "in both ('rails'): host {} has none at the side of {}",
                    fabric.switches[first[1]].name, fabric.switches[first[0]].name, host.name,
                    fabric.switches[at].name);
  }
  return {};
}

Result<> check_hosts(const Fabric& fabric, const Names& index) {
  for (const auto& host : fabric.hosts) {
    if (host.leaf.empty()) return fail(Errc::invalid, "host {} has no leaf: add 'leaf: SWITCH'", host.name);
    if (host.slots == 0)
      return fail(Errc::invalid, "host {}: slots is 0: say 'compute: false' for a host without ranks", host.name);
    const auto check = [&](const std::string& leaf, const LinkSpec& link) -> Result<> {
      if (!index.contains(leaf))
        return fail(Errc::invalid, "host {}: there is no switch {}: add it to 'switches' or mend the name", host.name,
                    leaf);
      return check_spec(link, fmt::format("host {}", host.name));
    };
    if (auto ok = check(host.leaf, host.link); !ok) return ok;
    for (const auto& rail : host.rails)
      if (auto ok = check(rail.leaf, rail.link); !ok) return ok;
  }
  return {};
}

Result<> check_place(const Names& switches, const Names& hosts, const Placement& place, std::string_view what) {
  if (place.at_switch.empty() == place.at_host.empty()) {
    return fail(Errc::invalid, "{}: add its position, either 'switch' or 'host'", what);
  }
  if (!place.at_switch.empty() && !switches.contains(place.at_switch)) {
    return fail(Errc::invalid, "{}: there is no switch {}: add it to 'switches' or mend the name", what,
                place.at_switch);
  }
  if (!place.at_host.empty() && !hosts.contains(place.at_host)) {
    return fail(Errc::invalid, "{}: there is no host {}: add it to 'hosts' or mend the name", what, place.at_host);
  }
  return {};
}

Result<> check_roots(const Fabric& fabric, const Names& switches) {
  for (const auto& root : fabric.roots) {
    if (std::any_of(fabric.nodes.begin(), fabric.nodes.end(), [&](const Node& node) { return node.name == root; }))
      continue;
    if (!switches.contains(root))
      return fail(Errc::invalid, "root: there is no node or switch {}: add it to 'nodes' or mend the name", root);
  }
  if (fabric.trees == 0 || fabric.trees > kTreesMax)
    return fail(Errc::invalid, "trees: {} is not within 1 to {}", fabric.trees, kTreesMax);
  if (fabric.radix == 1 || fabric.radix > kRadixMax)
    return fail(Errc::invalid, "radix: {} is not within 2 to {}, nor 0 for no limit", fabric.radix, kRadixMax);
  return {};
}

Result<> check_sizes(const Fabric& fabric) {
  const struct {
    const char* what;
    std::size_t count, most;
  } rows[] = {{"switches", fabric.switches.size(), kSwitchesMax},
              {"links", fabric.links.size(), kLinksMax},
              {"hosts", fabric.hosts.size(), kHostsMax},
              {"nodes", fabric.nodes.size(), kSwitchesMax}};
  for (const auto& row : rows)
    if (row.count > row.most)
      return fail(Errc::invalid, "fabric {} has {} {}, at most {} are possible: describe a smaller one", fabric.name,
                  row.count, row.what, row.most);
  return {};
}

/// Linux accepts any name of up to 15 bytes for a network device unless it has a slash or a space. Ports that the file
/// leaves unnamed are called lab0, lab1, ...
Result<> check_devices(const Host& host) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i <= host.rails.size(); ++i) {
    const auto& said = i == 0 ? host.device : host.rails[i - 1].device;
    const auto name = said.empty() ? fmt::format("lab{}", i) : said;
    if (name.size() > 15 || !is_name(name, "._"))
      return fail(
          Errc::invalid,
          "host {}: device '{}' is no name of a network device: letters, digits, '.', '_' and '-' only, at most "
          "15",
          host.name, name);
    if (!seen.insert(name).second)
      return fail(Errc::invalid, "host {}: two ports are called {}: give each 'device' a name of its own", host.name,
                  name);
  }
  return {};
}

/// Returns the path from `from` to `to` over the links accepted so far: together with the link that closes it, it is
/// the loop.
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

template <class Named>
Names index_of(const std::vector<Named>& list) {
  Names index;
  index.reserve(list.size());
  for (std::uint32_t i = 0; i < list.size(); ++i) index.emplace(list[i].name, i);
  return index;
}

}  // namespace

Result<> validate(const Fabric& fabric) {
  if (fabric.name.empty()) return fail(Errc::invalid, "the fabric has no name: add 'name'");
  if (!is_name(fabric.name, "._")) {
    return fail(Errc::invalid,
                "the fabric's name '{}' is not usable: letters, digits, '.', '_' and '-' only, at most 63",
                fabric.name);
  }
  if (fabric.switches.empty())
    return fail(Errc::invalid, "fabric {} has no switch: name one under 'switches'", fabric.name);
  if (fabric.hosts.empty()) return fail(Errc::invalid, "fabric {} has no host: name one under 'hosts'", fabric.name);
  if (auto ok = check_sizes(fabric); !ok) return ok;
  if (auto ok = check_names(fabric); !ok) return ok;
  const auto switches = index_of(fabric.switches);
  const auto hosts = index_of(fabric.hosts);
  if (auto ok = check_links(fabric, switches); !ok) return ok;
  if (auto ok = check_hosts(fabric, switches); !ok) return ok;
  if (auto ok = check_planes(fabric, switches); !ok) return ok;
  for (const auto& node : fabric.nodes) {
    if (auto ok = check_place(switches, hosts, node.place, fmt::format("node {}", node.name)); !ok) return ok;
  }
  if (auto ok = check_roots(fabric, switches); !ok) return ok;
  if (fabric.manager) {
    if (auto ok = check_place(switches, hosts, fabric.manager->place, "manager"); !ok) return ok;
    if (fabric.manager->port == 0) return fail(Errc::invalid, "manager: port 0 is not usable: name one of 1 to 65535");
  }
  return {};
}

Result<> validate_for_lab(const Fabric& fabric) {
  const auto check_name = [](const std::string& name) -> Result<> {
    if (is_name(name, "")) return {};
    return fail(Errc::invalid, "the name '{}' is no name of a machine: in a lab letters, digits and '-' only", name);
  };
  if (auto ok = check_name(fabric.name); !ok) return ok;
  for (const auto& host : fabric.hosts) {
    if (auto ok = check_name(host.name); !ok) return ok;
    if (auto ok = check_devices(host); !ok) return ok;
  }
  for (const auto& node : fabric.nodes) {
    if (auto ok = check_name(node.name); !ok) return ok;
  }
  const auto index = index_of(fabric.switches);
  std::vector<std::vector<std::uint32_t>> adjacent(fabric.switches.size());
  for (const auto& link : fabric.links) {
    const auto a = index.at(link.a);
    const auto b = index.at(link.b);
    if (const auto loop = way(adjacent, a, b); !loop.empty()) {
      std::string text = link.a;
      for (const auto at : loop) text += " - " + fabric.switches[at].name;
      return fail(Errc::invalid,
                  "the links form a loop: {}: in a lab the switches must form a tree, remove one of these links", text);
    }
    adjacent[a].push_back(b);
    adjacent[b].push_back(a);
  }
  return {};
}

}  // namespace sumac::topo
