// `sumac fabric show FILE` prints the content of a fabric file and the trees that the manager would build from it.
// `sumac fabric bounds FILE` prints how fast they can be (fabric_bounds.cpp).
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "fabricfile/fabricfile.hpp"
#include "fabricfile/ibnetdiscover.hpp"
#include "tools/commands.hpp"
#include "tools/fabric/bounds.hpp"
#include "topo/bounds_fabric.hpp"
#include "topo/job_tree.hpp"
#include "topo/tree.hpp"

namespace sumac::tools {

namespace {

using topo::AggregationTree;
using topo::Fabric;

constexpr const char* kUsage =
    "usage: sumac fabric show FILE [--trees N] [--radix N] [--root-guids FILE] [--hosts A,B,...] [--dot]\n"
    "       sumac fabric bounds FILE [--trees N] [--radix N] [--root-guids FILE] [--hosts A,B,...] [--json]\n\n"
    "  show               the fabric and the trees that the manager would build of it\n"
    "  bounds             the least time of each kind of collective through these trees and without any; of an "
    "allreduce\n"
    "                     through other ones as well\n"
    "  FILE               YAML (docs/fabric.md), or what ibnetdiscover printed\n"
    "  --trees N          so many trees, instead of what the file says\n"
    "  --radix N          children of one node, hosts and nodes together; 0: no limit\n"
    "  --root-guids FILE  roots only at these switches, one GUID a line\n"
    "  --hosts A,B,...    a job on these hosts: what it needs of each tree, and its bounds; bounds: all but spare "
    "ones\n"
    "  --dot              for graphviz: sumac fabric show FILE --dot | dot -Tsvg > fabric.svg\n"
    "  --json             for programs: fixed part and part per byte of each way of these hosts, in seconds\n";

struct Command {
  std::string verb;  ///< "show" or "bounds".
  std::string file;
  std::string root_guids;
  std::vector<std::string> hosts;
  std::optional<std::uint32_t> trees;
  std::optional<std::uint32_t> radix;
  bool dot = false;
  bool json = false;
};

Result<std::uint32_t> count(const std::string& verb, const std::string& option, const std::string& text,
                            std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return fail(Errc::invalid, "fabric {}: {} {}: a number of {} to {}", verb, option, text, least, most);
  return value;
}

Result<Command> parse(const Arguments& arguments) {
  Command command;
  command.verb = arguments[0];
  const auto& verb = command.verb;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    if (word == "--dot" && verb == "show") {
      command.dot = true;
    } else if (word == "--json" && verb == "bounds") {
      command.json = true;
    } else if (word == "--trees" || word == "--radix" || word == "--root-guids" || word == "--hosts") {
      if (++i == arguments.size()) return fail(Errc::invalid, "fabric {}: {} needs a value", verb, word);
      const auto& value = arguments[i];
      if (word == "--root-guids") {
        command.root_guids = value;
      } else if (word == "--hosts") {
        for (std::size_t begin = 0; begin <= value.size();) {
          const auto end = std::min(value.find(',', begin), value.size());
          command.hosts.push_back(value.substr(begin, end - begin));
          begin = end + 1;
        }
      } else {
        auto number = word == "--trees" ? count(verb, word, value, 1, 1024) : count(verb, word, value, 0, 65'535);
        if (!number) return tl::unexpected(number.error());
        (word == "--trees" ? command.trees : command.radix) = *number;
      }
    } else if (word.starts_with("-") || !command.file.empty()) {
      return fail(Errc::invalid, "fabric {}: '{}' is not understood: see `sumac fabric help`", verb, word);
    } else {
      command.file = word;
    }
  }
  if (command.dot && !command.hosts.empty())
    return fail(Errc::invalid, "fabric show: --dot draws whole trees: leave out --hosts");
  if (command.file.empty()) return fail(Errc::invalid, "fabric {}: name a fabric file, like fabric.yaml", verb);
  return command;
}

Result<std::vector<std::uint32_t>> indices(const Fabric& fabric, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> found;
  for (const auto& name : names) {
    const auto at =
        std::find_if(fabric.hosts.begin(), fabric.hosts.end(), [&](const auto& h) { return h.name == name; });
    if (at == fabric.hosts.end())
      return fail(Errc::not_found, "fabric {} has no host {}: correct --hosts", fabric.name, name);
    found.push_back(static_cast<std::uint32_t>(at - fabric.hosts.begin()));
  }
  return found;
}

std::string place(const topo::Node& node) {
  return node.place.at_host.empty() ? node.place.at_switch : "on " + node.place.at_host;
}

std::string number(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// Returns "h1 h2 h3", or the first ones and "...".
std::string names(const Fabric& fabric, const std::vector<std::uint32_t>& hosts) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(hosts.size(), kShown); ++i) text += " " + fabric.hosts[hosts[i]].name;
  return hosts.size() > kShown ? text + " ..." : text;
}

void print_summary(const Fabric& fabric) {
  const topo::SwitchGraph graph(fabric);
  std::map<std::uint64_t, std::size_t> rates;
  for (const auto& link : fabric.links) ++rates[link.spec.rate_bits_per_s];
  std::string speeds;
  for (const auto& [rate, links] : rates)
    speeds += rate == 0 ? fmt::format(", {} without limit", links)
                        : fmt::format(", {} of {:g} Gbit/s", links, static_cast<double>(rate) / 1e9);
  fmt::print("fabric {}: {}, {}, {}, {}, {}\n", fabric.name, number(fabric.switches.size(), "switch", "switches"),
             number(fabric.links.size(), "link", "links"), number(fabric.hosts.size(), "host", "hosts"),
             number(fabric.nodes.size(), "aggregation node", "aggregation nodes"),
             number(graph.plane_count(), "plane", "planes"));
  if (!rates.empty()) fmt::print("links between switches: {}\n", speeds.substr(2));
}

/// Prints hosts with several ports, equal ones in one line: "ports of h1 h2: mlx5_0 at a (40 Mbit/s), mlx5_1 at b
/// (...)".
void print_rails(const Fabric& fabric) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> alike;
  for (std::uint32_t i = 0; i < fabric.hosts.size(); ++i) {
    const auto& host = fabric.hosts[i];
    if (host.rails.empty()) continue;
    std::string ports;
    const auto add = [&](const std::string& device, const std::string& leaf, const topo::LinkSpec& link) {
      const auto rate = link.rate_bits_per_s == 0
                            ? std::string("no limit")
                            : fmt::format("{:g} Mbit/s", static_cast<double>(link.rate_bits_per_s) / 1e6);
      ports +=
          fmt::format("{}{}{}at {} ({})", ports.empty() ? "" : ", ", device, device.empty() ? "" : " ", leaf, rate);
    };
    add(host.device, host.leaf, host.link);
    for (const auto& rail : host.rails) add(rail.device, rail.leaf, rail.link);
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const auto& each) { return each.first == ports; });
    if (same == alike.end())
      alike.push_back({ports, {i}});
    else
      same->second.push_back(i);
  }
  for (const auto& [ports, hosts] : alike) fmt::print("ports of{}: {}\n", names(fabric, hosts), ports);
}

void print_tree(const Fabric& fabric, const AggregationTree& tree) {
  std::vector<std::vector<std::uint32_t>> hosts(tree.nodes.size());
  std::size_t served = 0;
  for (std::uint32_t i = 0; i < tree.leaf_of_host.size(); ++i)
    if (tree.leaf_of_host[i] != topo::kNone) {
      hosts[tree.leaf_of_host[i]].push_back(i);
      ++served;
    }
  fmt::print("\ntree {}: root {}, {}, at most {} up, serves {} of {}\n", tree.id, tree.nodes[tree.root].name,
             number(tree.levels(), "level", "levels"), number(tree.depth_links(), "link", "links"), served,
             number(fabric.hosts.size(), "host", "hosts"));
  std::string idle;
  std::string out;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    if (!node.in_tree) out += " " + node.name;
    if (node.in_tree && node.children.empty() && hosts[i].empty() && i != tree.root) idle += " " + node.name;
  }
  std::vector<std::uint32_t> stack{tree.root};
  while (!stack.empty()) {
    const auto at = stack.back();
    stack.pop_back();
    const auto& node = tree.nodes[at];
    if (at != tree.root && node.children.empty() && hosts[at].empty()) continue;
    std::string line = fmt::format("  {:{}}{} ({})", "", 2 * node.depth, node.name, place(fabric.nodes[at]));
    if (!hosts[at].empty())
      line += fmt::format(": {}:{}", number(hosts[at].size(), "host", "hosts"), names(fabric, hosts[at]));
    fmt::print("{}\n", line);
    stack.insert(stack.end(), node.children.rbegin(), node.children.rend());
  }
  if (!idle.empty()) fmt::print("  without work:{}\n", idle);
  if (!out.empty()) fmt::print("  not in the tree:{}\n", out);
}

void print_job(const Fabric& fabric, const AggregationTree& tree, const topo::JobTree& job) {
  fmt::print("\ntree {} for a job on {}: root {}, {}\n", tree.id, number(job.hosts.size(), "host", "hosts"),
             fabric.nodes[job.nodes.front().node].name, number(job.levels(), "level", "levels"));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack{{0, 0}};
  while (!stack.empty()) {
    const auto [at, depth] = stack.back();
    stack.pop_back();
    const auto& node = job.nodes[at];
    const auto& named = fabric.nodes[node.node];
    fmt::print("  {:{}}{} ({}){}{}\n", "", 2 * depth, named.name, place(named), node.hosts.empty() ? "" : ":",
               names(fabric, node.hosts));
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
      stack.emplace_back(*child, depth + 1);
  }
}

/// Names in a fabric file are letters, digits, '.', '_' and '-', so graphviz reads them unchanged between quotes.
void print_dot(const Fabric& fabric, const std::vector<AggregationTree>& trees) {
  constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"};
  fmt::print(
      "graph \"{}\" {{\n  graph [overlap=false, splines=true];\n  node [fontname=\"sans-serif\", fontsize=10];\n",
      fabric.name);
  std::map<std::string, std::size_t> hosts;
  std::map<std::string, std::string> host_switch;
  for (const auto& host : fabric.hosts) {
    ++hosts[host.leaf];
    for (const auto& rail : host.rails) ++hosts[rail.leaf];
    host_switch[host.name] = host.leaf;
  }
  std::map<std::string, std::string> nodes;
  const auto at = [&](const topo::Node& node) {
    return node.place.at_host.empty() ? node.place.at_switch : host_switch[node.place.at_host];
  };
  for (const auto& node : fabric.nodes) nodes[at(node)] += "\\n" + node.name;
  for (const auto& each : fabric.switches) {
    std::string ports;
    if (hosts.contains(each.name)) ports = "\\n" + number(hosts[each.name], "host port", "host ports");
    fmt::print("  \"{}\" [shape=box, label=\"{}{}{}\"];\n", each.name, each.name, nodes[each.name], ports);
  }
  for (const auto& link : fabric.links) fmt::print("  \"{}\" -- \"{}\" [color=gray];\n", link.a, link.b);
  for (const auto& tree : trees)
    for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
      const auto& node = tree.nodes[i];
      if (node.parent < 0) continue;
      const bool works = !node.children.empty() ||
                         std::find(tree.leaf_of_host.begin(), tree.leaf_of_host.end(), i) != tree.leaf_of_host.end();
      if (!works) continue;
      fmt::print("  \"{}\" -- \"{}\" [color=\"{}\", penwidth=2, dir=forward, tooltip=\"tree {}: {}\"];\n",
                 at(fabric.nodes[i]), at(fabric.nodes[static_cast<std::size_t>(node.parent)]),
                 kColours[(tree.id - 1) % std::size(kColours)], tree.id, node.name);
    }
  fmt::print("}}\n");
}

Result<> show(const Command& command) {
  auto fabric = load_fabric(command.file);
  if (!fabric) return tl::unexpected(fabric.error());
  if (!command.root_guids.empty())
    if (auto ok = use_root_guids(*fabric, command.root_guids); !ok) return ok;
  auto hosts = indices(*fabric, command.hosts);
  if (!hosts) return tl::unexpected(hosts.error());
  auto options = topo::tree_options(*fabric);
  if (command.trees) options.count = *command.trees;
  if (command.radix) options.radix = *command.radix;
  auto trees = topo::build_trees(*fabric, options);
  if (!trees) return within(command.file, trees.error());
  if (command.dot) {
    print_dot(*fabric, *trees);
    return {};
  }
  if (command.verb == "bounds" && hosts->empty())
    for (std::uint32_t i = 0; i < fabric->hosts.size(); ++i)
      if (fabric->hosts[i].compute) hosts->push_back(i);
  if (command.verb == "bounds" && hosts->empty()) return fail(Errc::not_found, "{}: no host gets ranks", command.file);
  std::vector<topo::JobTree> jobs;
  if (!hosts->empty())
    for (const auto& tree : *trees) {
      auto job = topo::prune(*fabric, tree, *hosts);
      if (!job) return within(command.file, job.error());
      jobs.push_back(std::move(*job));
    }
  if (command.verb == "bounds") {
    const auto ways = topo::ways_fabric(*fabric, *trees, jobs);
    if (command.json)
      print_bounds_json(fabric->name, ways);
    else
      print_bounds(fabric->name, ways);
    return {};
  }
  print_summary(*fabric);
  print_rails(*fabric);
  for (std::size_t i = 0; i < trees->size(); ++i) {
    if (jobs.empty()) {
      print_tree(*fabric, (*trees)[i]);
    } else {
      print_job(*fabric, (*trees)[i], jobs[i]);
    }
  }
  return {};
}

}  // namespace

int fabric_command(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print("{}", kUsage);
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] != "show" && arguments[0] != "bounds")
    return complain(fmt::format("there is no command 'fabric {}': see `sumac fabric help`", arguments[0]), 2);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    fmt::print("{}", kUsage);
    return 0;
  }
  auto command = parse(arguments);
  if (!command) return complain(command.error().context, 2);
  if (auto shown = show(*command); !shown) return complain(shown.error().context);
  return 0;
}

}  // namespace sumac::tools
