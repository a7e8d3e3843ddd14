#include "tools/top/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sumac::tools::top {
namespace {

using Row = std::vector<std::string>;

/// Columns are as wide as their widest word. The first row is the head, the first column text on the left.
std::string table(const std::vector<Row>& rows) {
  if (rows.size() < 2) return {};
  std::vector<std::size_t> width(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string text = "\n";
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? fmt::format("{:<{}}", row[i], width[i]) : fmt::format("  {:>{}}", row[i], width[i]);
    text += '\n';
  }
  return text;
}

std::string whole(double number) { return fmt::format("{:.0f}", number); }

std::string scaled(double number) {
  if (number >= 1e9) return fmt::format("{:.1f}G", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f}M", number / 1e6);
  if (number >= 1e4) return fmt::format("{:.1f}k", number / 1e3);
  return fmt::format("{:.0f}", number);
}

/// A bound of a histogram; "-" if nothing was counted.
std::string time_text(double seconds) {
  if (seconds == 0) return "-";
  if (std::isinf(seconds)) return ">8.6s";
  if (seconds < 1e-3) return fmt::format("{:.0f}us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f}ms", seconds * 1e3);
  return fmt::format("{:.1f}s", seconds);
}

/// The growth of a counter a second; "-" until there are two pages. A smaller number than before is a new start.
std::string rate(const Daemon& daemon, std::string_view counter, std::string_view tree) {
  if (daemon.before.empty() || daemon.seconds <= 0) return "-";
  const double was = sum(daemon.before, counter, tree), is = sum(daemon.now, counter, tree);
  return scaled((is < was ? is : is - was) / daemon.seconds);
}

/// The nanoseconds that a step of a counter took, by the growth of its counter of seconds; "-" if it did not grow.
std::string each_takes(const Daemon& daemon, std::string_view seconds, std::string_view counter,
                       std::string_view tree) {
  const double steps = sum(daemon.now, counter, tree) - sum(daemon.before, counter, tree);
  if (daemon.before.empty() || steps <= 0) return "-";
  const double took = sum(daemon.now, seconds, tree) - sum(daemon.before, seconds, tree);
  return whole(std::max(0.0, took) * 1e9 / steps);
}

std::string name_of(const Daemon& daemon) {
  const auto info = daemon.now.find("sumac_build_info");
  const auto name = info == daemon.now.end() ? std::string() : info->second[0].label("name");
  return name.empty() ? daemon.endpoint : name;
}

void add_node(std::vector<Row>& rows, const Daemon& daemon) {
  const auto& page = daemon.now;
  const auto trees = page.find("sumac_node_parent_up");
  if (trees == page.end()) return;
  for (const auto& one : trees->second) {
    const auto tree = one.label("tree");
    const auto number = [&](const char* name) { return whole(sum(page, name, tree)); };
    const auto share = [&](const char* histogram, double part) {
      return time_text(daemon.before.empty() ? 0 : quantile(daemon.before, page, histogram, tree, part));
    };
    rows.push_back({name_of(daemon), tree, rate(daemon, "sumac_node_operations_total", tree),
                    rate(daemon, "sumac_node_received_bytes_total", tree), share("sumac_node_operation_seconds", 0.5),
                    share("sumac_node_operation_seconds", 0.99), share("sumac_node_slowest_child_seconds", 0.99),
                    number("sumac_node_jobs"), number("sumac_node_groups"),
                    number("sumac_node_osts_in_use") + "/" + number("sumac_node_osts_max"),
                    number("sumac_node_connections"), one.value == 1 ? "up" : "DOWN",
                    number("sumac_node_verdicts_total"), number("sumac_node_offences_total")});
  }
}

/// A node whose kernel has never seen a datagram has no row.
void add_hop(std::vector<Row>& rows, const Daemon& daemon) {
  const auto trees = daemon.now.find("sumac_node_hop_frames_total");
  if (trees == daemon.now.end()) return;
  for (const auto& one : trees->second) {
    const auto tree = one.label("tree");
    if (one.value + sum(daemon.now, "sumac_node_hop_strangers_total", tree) == 0) continue;
    rows.push_back({name_of(daemon), tree, rate(daemon, "sumac_node_hop_frames_total", tree),
                    rate(daemon, "sumac_node_hop_folds_total", tree),
                    rate(daemon, "sumac_node_hop_repeats_total", tree), rate(daemon, "sumac_node_hop_sent_total", tree),
                    whole(sum(daemon.now, "sumac_node_hop_strangers_total", tree)),
                    each_takes(daemon, "sumac_node_hop_run_seconds_total", "sumac_node_hop_runs_total", tree)});
  }
}

void add_host(std::vector<Row>& rows, const Daemon& daemon) {
  const auto& page = daemon.now;
  if (!page.contains("sumac_host_clients")) return;
  const auto number = [&](const char* name) { return whole(sum(page, name)); };
  rows.push_back({name_of(daemon), number("sumac_host_clients"), number("sumac_host_jobs"),
                  number("sumac_host_jobs_begun_total"), number("sumac_host_jobs_refused_total"),
                  number("sumac_host_jobs_lost_total"), number("sumac_host_rank_deaths_total"),
                  number("sumac_host_offences_total"), sum(page, "sumac_host_registered") == 1 ? "up" : "DOWN"});
}

void add_manager(std::string& text, const Daemon& daemon) {
  const auto& page = daemon.now;
  if (!page.contains("sumac_manager_jobs")) return;
  const auto number = [&](const char* name) { return whole(sum(page, name)); };
  text += fmt::format(
      "manager {}: {} jobs, {} of {} nodes, sharpds on {} of {} hosts; {} jobs granted, {} refused, {} released\n",
      daemon.endpoint, number("sumac_manager_jobs"), number("sumac_manager_nodes_registered"),
      number("sumac_manager_nodes"), number("sumac_manager_sharpds"), number("sumac_manager_hosts"),
      number("sumac_manager_jobs_granted_total"), number("sumac_manager_jobs_refused_total"),
      number("sumac_manager_jobs_released_total"));
}

}  // namespace

std::string view(const std::vector<Daemon>& daemons) {
  std::vector<Row> nodes{{"NODE", "TREE", "OPS/s", "B/s IN", "MEDIAN", "P99", "WAIT P99", "JOBS", "GROUPS", "OSTS",
                          "LINKS", "PARENT", "VERDICTS", "OFFENCES"}};
  std::vector<Row> hops{{"HOP", "TREE", "FRAMES/s", "SUMS/s", "REPEATS/s", "SENT/s", "STRANGERS", "ns/FRAME"}};
  std::vector<Row> hosts{{"HOST", "CLIENTS", "JOBS", "BEGUN", "REFUSED", "LOST", "DEATHS", "OFFENCES", "MANAGER"}};
  std::string text, silent;
  for (const auto& daemon : daemons) {
    if (!daemon.why.empty()) {
      silent += fmt::format("{}: {}\n", daemon.endpoint, daemon.why);
      continue;
    }
    add_manager(text, daemon);
    add_node(nodes, daemon);
    add_hop(hops, daemon);
    add_host(hosts, daemon);
  }
  text += table(nodes);
  text += table(hops);
  text += table(hosts);
  if (!silent.empty()) text += "\n" + silent;
  return text;
}

}  // namespace sumac::tools::top
