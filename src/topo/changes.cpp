#include "topo/changes.hpp"

#include <map>
#include <tuple>
#include <unordered_map>

namespace sumac::topo {

namespace {

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

}  // namespace sumac::topo
