#include "topo/sample_fabrics.hpp"

#include <fmt/core.h>

#include <random>
#include <string_view>

namespace sumac::topo {

namespace {

constexpr std::uint64_t kRate = 100'000'000'000;

LinkSpec rated(std::uint64_t rate) {
  LinkSpec spec;
  spec.rate_bits_per_s = rate;
  return spec;
}

void add_switch_with_node(Fabric& fabric, const std::string& name) {
  fabric.switches.emplace_back(name);
  fabric.nodes.push_back({"an-" + name, {name, ""}, {}});
}

void join(Fabric& fabric, const std::string& a, const std::string& b) { fabric.links.push_back({a, b, rated(kRate)}); }

void add_hosts(Fabric& fabric, const std::string& leaf, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Host host;
    host.name = fmt::format("h{}", fabric.hosts.size());
    host.leaf = leaf;
    host.link = rated(kRate);
    fabric.hosts.push_back(std::move(host));
  }
}

void add_leaf_spine(Fabric& fabric, std::string_view prefix, std::uint32_t leaves, std::uint32_t spines,
                    std::uint32_t parallel) {
  for (std::uint32_t i = 0; i < spines; ++i) add_switch_with_node(fabric, fmt::format("{}spine{}", prefix, i));
  for (std::uint32_t i = 0; i < leaves; ++i) {
    const auto leaf = fmt::format("{}leaf{}", prefix, i);
    add_switch_with_node(fabric, leaf);
    for (std::uint32_t spine = 0; spine < spines; ++spine)
      for (std::uint32_t link = 0; link < parallel; ++link) join(fabric, leaf, fmt::format("{}spine{}", prefix, spine));
  }
}

}  // namespace

Fabric leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf, std::uint32_t parallel) {
  Fabric fabric;
  fabric.name = "leaf-spine";
  add_leaf_spine(fabric, "", leaves, spines, parallel);
  for (std::uint32_t i = 0; i < leaves; ++i) add_hosts(fabric, fmt::format("leaf{}", i), hosts_per_leaf);
  return fabric;
}

Fabric fat_tree(std::uint32_t pods, std::uint32_t edges, std::uint32_t aggregations, std::uint32_t cores,
                std::uint32_t hosts_per_edge) {
  Fabric fabric;
  fabric.name = "fat-tree";
  for (std::uint32_t core = 0; core < cores; ++core) add_switch_with_node(fabric, fmt::format("core{}", core));
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t i = 0; i < aggregations; ++i) {
      const auto aggregation = fmt::format("pod{}-agg{}", pod, i);
      add_switch_with_node(fabric, aggregation);
      for (auto core = i; core < cores; core += aggregations) join(fabric, aggregation, fmt::format("core{}", core));
    }
    for (std::uint32_t i = 0; i < edges; ++i) {
      const auto edge = fmt::format("pod{}-edge{}", pod, i);
      add_switch_with_node(fabric, edge);
      for (std::uint32_t up = 0; up < aggregations; ++up) join(fabric, edge, fmt::format("pod{}-agg{}", pod, up));
      add_hosts(fabric, edge, hosts_per_edge);
    }
  }
  return fabric;
}

Fabric hypercube(std::uint32_t dimensions, std::uint32_t hosts_per_corner) {
  Fabric fabric;
  fabric.name = "hypercube";
  const auto name = [](std::uint32_t corner) { return fmt::format("c{}", corner); };
  for (std::uint32_t at = 0; at < 1U << dimensions; ++at) {
    add_switch_with_node(fabric, name(at));
    add_hosts(fabric, name(at), hosts_per_corner);
  }
  for (std::uint32_t at = 0; at < 1U << dimensions; ++at)
    for (std::uint32_t bit = 0; bit < dimensions; ++bit)
      if ((at >> bit & 1U) == 0) join(fabric, name(at), name(at | 1U << bit));
  return fabric;
}

Fabric dragonfly_plus(std::uint32_t groups, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf) {
  Fabric fabric;
  fabric.name = "dragonfly-plus";
  for (std::uint32_t group = 0; group < groups; ++group) {
    add_leaf_spine(fabric, fmt::format("g{}-", group), leaves, spines, 1);
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      add_hosts(fabric, fmt::format("g{}-leaf{}", group, leaf), hosts_per_leaf);
  }
  for (std::uint32_t a = 0; a < groups; ++a)
    for (auto b = a + 1; b < groups; ++b)
      join(fabric, fmt::format("g{}-spine{}", a, b % spines), fmt::format("g{}-spine{}", b, a % spines));
  return fabric;
}

Fabric planes(std::uint32_t planes, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf) {
  Fabric fabric;
  fabric.name = "planes";
  for (std::uint32_t plane = 0; plane < planes; ++plane)
    add_leaf_spine(fabric, fmt::format("p{}-", plane), leaves, spines, 1);
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const auto first = fabric.hosts.size();
    add_hosts(fabric, fmt::format("p0-leaf{}", leaf), hosts_per_leaf);
    for (auto host = first; host < fabric.hosts.size(); ++host)
      for (std::uint32_t plane = 1; plane < planes; ++plane)
        fabric.hosts[host].rails.push_back({fmt::format("p{}-leaf{}", plane, leaf), rated(kRate)});
  }
  return fabric;
}

Fabric random_fabric(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  Fabric fabric;
  fabric.name = fmt::format("random{}", seed);
  const auto switches = 1 + below(24);
  const auto rate = [&] { return std::uint64_t{1} << (30 + below(8)); };
  for (std::uint32_t i = 0; i < switches; ++i) {
    fabric.switches.emplace_back(fmt::format("s{}", i));
    if (i > 0) fabric.links.push_back({fmt::format("s{}", i), fmt::format("s{}", below(i)), rated(rate())});
  }
  for (auto more = below(2 * switches + 1); switches > 1 && more > 0; --more) {
    const auto a = below(switches);
    const auto b = (a + 1 + below(switches - 1)) % switches;
    fabric.links.push_back({fmt::format("s{}", a), fmt::format("s{}", b), rated(rate())});
  }
  for (std::uint32_t i = 0; i < switches; ++i) add_hosts(fabric, fmt::format("s{}", i), below(6));
  if (fabric.hosts.empty()) add_hosts(fabric, "s0", 1);
  for (auto& host : fabric.hosts) {
    if (below(8) == 0) host.rails.push_back({fmt::format("s{}", below(switches)), rated(rate())});
    host.compute = below(10) != 0;
  }
  const auto density = 1 + below(4);
  for (std::uint32_t i = 0; i < switches; ++i)
    for (std::uint32_t n = below(density + 1); n > 0; --n)
      fabric.nodes.push_back({fmt::format("an{}", fabric.nodes.size()), {fmt::format("s{}", i), ""}, {}});
  for (const auto& host : fabric.hosts)
    if (below(6) == 0) fabric.nodes.push_back({fmt::format("an{}", fabric.nodes.size()), {"", host.name}, {}});
  if (fabric.nodes.empty()) fabric.nodes.push_back({"an0", {"s0", ""}, {}});
  return fabric;
}

Fabric large_fabric(std::string_view shape) {
  if (shape == "leaf-spine") return leaf_spine(400, 40, 25);             // 10,000 hosts, 440 switches
  if (shape == "fat-tree") return fat_tree(25, 16, 16, 64, 25);          // 10,000 hosts, 864 switches
  if (shape == "hypercube") return hypercube(9, 20);                     // 10,240 hosts, 512 switches
  if (shape == "dragonfly-plus") return dragonfly_plus(25, 20, 20, 20);  // 10,000 hosts, 1,000 switches
  return {};
}

}  // namespace sumac::topo
