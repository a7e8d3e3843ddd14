#include "topo/changes.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace sumac::topo {

namespace {

template <class List>
auto find(List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.name == name; });
}

Result<> must_have_switch(const Fabric& fabric, std::string_view who, std::string_view name) {
  if (find(fabric.switches, name) != fabric.switches.end()) return {};
  return fail(Errc::not_found, "{}: fabric {} has no switch {}: name one that it has", who, fabric.name, name);
}

/// Replaces the entry of that name, or appends.
template <class T>
Result<> put(std::vector<T>& list, T added, std::string_view kind) {
  const auto at = find(list, added.name);
  if (at == list.end()) {
    list.push_back(std::move(added));
    return {};
  }
  if (at->up)
    return fail(Errc::exists, "{} {} is there already: choose another name, or remove that one", kind, added.name);
  *at = std::move(added);
  at->up = true;
  return {};
}

template <class T>
Result<> set_up(std::vector<T>& list, std::string_view name, bool up, std::string_view kind, const Fabric& fabric) {
  const auto at = find(list, name);
  if (at == list.end()) return fail(Errc::not_found, "fabric {} has no {} {}", fabric.name, kind, name);
  at->up = up;
  return {};
}

/// Handles lists whose entries have names.
template <class T>
void become_list(std::vector<T>& now, const std::vector<T>& described) {
  std::unordered_map<std::string_view, const T*> by_name;
  for (const auto& each : described) by_name.emplace(each.name, &each);
  for (auto& each : now) {
    const auto found = by_name.find(each.name);
    if (found == by_name.end()) {
      each.up = false;
      continue;
    }
    each = *found->second;
    by_name.erase(found);
  }
  for (const auto& each : described)
    if (by_name.contains(each.name)) now.push_back(each);
}

/// Links have no names: they are matched by their ends, and several with the same ends by their order.
void become_links(std::vector<SwitchLink>& now, const std::vector<SwitchLink>& described) {
  const auto ends = [](const SwitchLink& link) { return std::tuple(link.a, link.a_port, link.b, link.b_port); };
  std::multimap<decltype(ends(now.front())), const SwitchLink*> by_ends;
  for (const auto& link : described) by_ends.emplace(ends(link), &link);
  for (auto& link : now) {
    const auto found = by_ends.find(ends(link));
    if (found == by_ends.end()) {
      link.up = false;
      continue;
    }
    link = *found->second;
    by_ends.erase(found);
  }
  for (const auto& [key, link] : by_ends) now.push_back(*link);
}

}  // namespace

void become(Fabric& fabric, const Fabric& described) {
  become_list(fabric.switches, described.switches);
  become_links(fabric.links, described.links);
  become_list(fabric.hosts, described.hosts);
  become_list(fabric.nodes, described.nodes);
  fabric.roots = described.roots;
  fabric.trees = described.trees;
  fabric.radix = described.radix;
}

Fabric registered_fabric(std::string name) {
  Fabric fabric;
  fabric.name = std::move(name);
  fabric.switches = {kAnywhere};
  return fabric;
}

Result<> add_switch(Fabric& fabric, Switch added) {
  if (find(fabric.hosts, added.name) != fabric.hosts.end())
    return fail(Errc::exists, "switch {}: a host has that name: choose another", added.name);
  return put(fabric.switches, std::move(added), "switch");
}

Result<> add_link(Fabric& fabric, SwitchLink added) {
  const auto who = fmt::format("link {}-{}", added.a, added.b);
  if (added.a == added.b) return fail(Errc::invalid, "{}: a link joins two switches, not one with itself", who);
  for (const auto& end : {added.a, added.b})
    if (auto ok = must_have_switch(fabric, who, end); !ok) return ok;
  // A link has no name: one that is down between the same ports is the same link.
  const auto same = std::find_if(fabric.links.begin(), fabric.links.end(), [&](const SwitchLink& link) {
    return !link.up &&
           ((link.a == added.a && link.b == added.b && link.a_port == added.a_port && link.b_port == added.b_port) ||
            (link.a == added.b && link.b == added.a && link.a_port == added.b_port && link.b_port == added.a_port));
  });
  if (same == fabric.links.end()) {
    fabric.links.push_back(std::move(added));
  } else {
    same->spec = added.spec;
    same->up = true;
  }
  return {};
}

Result<> add_host(Fabric& fabric, Host added) {
  const auto who = fmt::format("host {}", added.name);
  if (find(fabric.switches, added.name) != fabric.switches.end())
    return fail(Errc::exists, "{}: a switch has that name: choose another", who);
  if (auto ok = must_have_switch(fabric, who, added.leaf); !ok) return ok;
  for (const auto& rail : added.rails)
    if (auto ok = must_have_switch(fabric, who, rail.leaf); !ok) return ok;
  return put(fabric.hosts, std::move(added), "host");
}

Result<> add_node(Fabric& fabric, Node added) {
  const auto who = fmt::format("node {}", added.name);
  if (added.place.at_switch.empty() == added.place.at_host.empty())
    return fail(Errc::invalid, "{}: add its position, either 'switch' or 'host'", who);
  if (!added.place.at_switch.empty()) {
    if (auto ok = must_have_switch(fabric, who, added.place.at_switch); !ok) return ok;
  } else if (find(fabric.hosts, added.place.at_host) == fabric.hosts.end()) {
    return fail(Errc::not_found, "{}: fabric {} has no host {}: name one that it has", who, fabric.name,
                added.place.at_host);
  }
  return put(fabric.nodes, std::move(added), "node");
}

Result<> set_switch_up(Fabric& fabric, std::string_view name, bool up) {
  return set_up(fabric.switches, name, up, "switch", fabric);
}
Result<> set_host_up(Fabric& fabric, std::string_view name, bool up) {
  return set_up(fabric.hosts, name, up, "host", fabric);
}
Result<> set_node_up(Fabric& fabric, std::string_view name, bool up) {
  return set_up(fabric.nodes, name, up, "node", fabric);
}

Result<> set_link_up(Fabric& fabric, std::string_view a, std::string_view b, bool up, std::uint32_t a_port,
                     std::uint32_t b_port) {
  bool found = false;
  const auto port_fits = [](std::uint32_t asked, std::uint32_t has) { return asked == 0 || asked == has; };
  for (auto& link : fabric.links) {
    const bool forward = link.a == a && link.b == b && port_fits(a_port, link.a_port) && port_fits(b_port, link.b_port);
    const bool backward =
        link.a == b && link.b == a && port_fits(a_port, link.b_port) && port_fits(b_port, link.a_port);
    if (!forward && !backward) continue;
    link.up = up;
    found = true;
  }
  if (!found) return fail(Errc::not_found, "fabric {} has no link {}-{}", fabric.name, a, b);
  return {};
}

}  // namespace sumac::topo
