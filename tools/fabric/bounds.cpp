// `sumac fabric bounds FILE` prints the least time of an allreduce by each method, on the hosts and trees of a fabric
// file, and for other positions of the nodes; then the least times of the other kinds on these hosts and trees. The same
// function decides at run time (src/cost/bounds.hpp).
#include "tools/fabric/bounds.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

namespace sumac::tools {
namespace {

using coll::Kind;
using cost::Line;
using cost::WaysFabric;

constexpr std::array<std::uint64_t, 5> kSizes = {8, 1 << 10, 64 << 10, 1 << 20, 16 << 20};

/// The kinds beside allreduce whose least times are printed; one row stands for all kinds with the same times.
constexpr struct {
  Kind kind;
  const char* words;
} kOthers[] = {{Kind::bcast, "a bcast or a reduce"},
               {Kind::allgather, "an allgather of so many bytes in all blocks"},
               {Kind::reduce_scatter_block, "a reduce_scatter_block of so many bytes in all blocks"}};
constexpr Kind kKindsOfJson[] = {Kind::allreduce, Kind::reduce, Kind::bcast, Kind::allgather,
                                 Kind::reduce_scatter_block};

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

void row(const std::string& name, const Line& line, const std::string& last = "") {
  fmt::print("  {:<40}", name);
  for (const auto bytes : kSizes) fmt::print("{:>11}", time_text(line.at(bytes)));
  fmt::print("{}{}\n", last.empty() ? "" : "  ", last);
}

void trees(const std::string& name, const WaysFabric& fabric, Kind kind = Kind::allreduce) {
  const auto most = cost::tree_bytes_max(fabric, kind);
  row(name, cost::tree_line(fabric),
      most == cost::kNoLimit ? "any size" : "up to " + cost::bytes_text(static_cast<std::uint64_t>(most)));
}

void head(const std::string& of_what) {
  fmt::print("least time of {}, payload alone\n  {:<40}", of_what, "");
  for (const auto bytes : kSizes) fmt::print("{:>11}", cost::bytes_text(bytes));
  fmt::print("  at least as fast as the hosts alone\n");
}

nlohmann::json json(const Line& line) { return {{"fixed_s", line.fixed_s}, {"per_byte_s", line.per_byte_s}}; }

nlohmann::json json_bytes_max(const WaysFabric& ways, Kind kind) {
  const auto most = cost::tree_bytes_max(ways, kind);
  return most == cost::kNoLimit ? nlohmann::json() : nlohmann::json(most);
}

std::string count(std::size_t n, const std::string& what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

void print_bounds(const std::string& name, const cost::WaysFabric& ways) {
  const auto rate = ways.port_rate_bits_per_s == 0
                        ? std::string("no known rate")
                        : fmt::format("{:g} Mbit/s", static_cast<double>(ways.port_rate_bits_per_s) / 1e6);
  fmt::print("fabric {}: {} with {} of {}, {} from host to host\n\n", name, count(ways.hosts, "host"),
             count(ways.rails, "port"), rate, time_text(static_cast<double>(ways.hop_delay_ns) * 1e-9));
  head("an allreduce");
  const auto shared = ways.nodes_on_member_hosts;
  const auto these =
      fmt::format("this file's {}{}", count(ways.trees.size(), "tree"), shared == 0 ? "" : ", nodes on its hosts");
  trees(these, ways);
  trees("a tree per port, nodes at switches", cost::with_nodes_at_switches(ways));
  const auto n = ways.hosts;
  for (const auto m : {1u, n / 2, n})
    if (m > 0 && (m == 1 || m == n || (m > 1 && m < n)))
      trees(fmt::format("{} as nodes", count(m, "spare host")), cost::with_spare_hosts(ways, m));
  for (const auto m : {1u, n})
    if (m > 0)
      trees(fmt::format("nodes on {}", m == n ? "all hosts" : "one of the hosts"), cost::with_nodes_on_hosts(ways, m));
  row("no tree: ring", cost::ring_line(ways));
  row("no tree: recursive halving, doubling", cost::halving_line(ways));
  row("no tree: recursive doubling", cost::doubling_line(ways));
  row("no tree: all to one and back", cost::linear_line(ways));
  fmt::print("\n{}\n", cost::explain(ways));
  using cost::Nodes;
  if (!ways.trees.empty())
    fmt::print(
        "8 B by the tree, with the time of its nodes: {} asleep, {} awake, {} in their kernels (SUMAC_NODE_HOP=auto)\n",
        time_text(cost::small_seconds(ways, Nodes::asleep)), time_text(cost::small_seconds(ways, Nodes::awake)),
        time_text(cost::small_seconds(ways, Nodes::kernels)));
  for (const auto& [kind, words] : kOthers) {
    fmt::print("\n");
    head(words);
    trees(these, ways, kind);
    for (const auto& own : cost::own_ways(ways, kind)) row(fmt::format("no tree: {}", own.name), own.line);
  }
}

void print_bounds_json(const std::string& name, const cost::WaysFabric& ways) {
  nlohmann::json kinds;
  for (const Kind kind : kKindsOfJson) {
    auto& of_kind = kinds[std::string(to_string(kind))];
    of_kind = {{"tree", json(cost::tree_line(ways))}, {"tree_bytes_max", json_bytes_max(ways, kind)}};
    for (const auto& own : cost::own_ways(ways, kind)) of_kind["own"][own.name] = json(own.line);
  }
  const nlohmann::json out{
      {"fabric", name},
      {"hosts", ways.hosts},
      {"trees", ways.trees.size()},
      {"tree", json(cost::tree_line(ways))},
      {"ring", json(cost::ring_line(ways))},
      {"halving", json(cost::halving_line(ways))},
      {"doubling", json(cost::doubling_line(ways))},
      {"linear", json(cost::linear_line(ways))},
      {"tree_bytes_max", json_bytes_max(ways, Kind::allreduce)},
      {"small",
       {{"asleep_s", cost::small_seconds(ways, cost::Nodes::asleep)},
        {"awake_s", cost::small_seconds(ways, cost::Nodes::awake)},
        {"kernels_s", cost::small_seconds(ways, cost::Nodes::kernels)}}},
      {"kinds", kinds},
  };
  fmt::print("{}\n", out.dump());
}

}  // namespace sumac::tools
