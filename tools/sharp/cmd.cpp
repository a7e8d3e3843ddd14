// sharp_cmd prints the manager's knowledge, for users (tables) and programs (--json).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/tell.hpp"
#include "tools/manager_status.hpp"
#include "tools/sharp/reserve.hpp"

namespace sumac::tools {
namespace {

using nlohmann::json;

constexpr const char* kHelp =
    "usage: sharp_cmd topology|trees|jobs|quotas|reservations [--json] [--manager ADDR:PORT|unix:PATH]\n"
    "       sharp_cmd reserve NAME --hosts HOST,HOST --user USER --osts NUMBER [--manager ...]\n"
    "       sharp_cmd release NAME [--manager ...]\n"
    "\n"
    "Asks the aggregation manager (sharp_am) and prints what it answers.\n"
    "\n"
    "  topology   the aggregation nodes: where they are, what they hold, whether they and their links are up\n"
    "  trees      who aggregates for whom, from the root down\n"
    "  jobs       the jobs that run or wait, who began them, what they were granted, and how long their lease lasts\n"
    "  quotas     what is granted, what is left, and the limits that a new job meets\n"
    "  reservations  the OSTs that are kept for users' jobs on some hosts\n"
    "  reserve    keeps OSTs at each node that a job on these hosts uses; jobs of the user there find them free\n"
    "  release    gives back what was reserved under the name; jobs that run go on\n"
    "\n"
    "  --json     the same as JSON, for programs\n"
    "  --manager  where sharp_am is; else SUMAC_HOSTD_MANAGER says, else what `sumac up` started, else\n"
    "             unix:/run/sumac-am/am.sock\n"
    "  --ib-dev DEVICE[:PORT]   accepted for scripts written for the hardware, without effect\n"
    "  -h, --help this text\n"
    "\n"
    "Exit status 0: done. 1: no manager answers, or it refuses. 2: wrong usage.\n";

using Rows = std::vector<std::vector<std::string>>;

/// Prints columns as wide as their widest word; the first row is the head.
void print_table(const Rows& rows) {
  std::vector<std::size_t> width(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], width[i]);
    fmt::print("{}\n", line);
  }
}

/// Returns a field as text; "-" if the manager does not report it.
std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string()) return found->get<std::string>().empty() ? "-" : found->get<std::string>();
  if (found->is_boolean()) return found->get<bool>() ? "yes" : "no";
  return found->dump();
}

bool is(const json& object, const char* key) { return object.value(key, false); }

json pick(const json& from, std::initializer_list<const char*> keys) {
  json result = json::object();
  for (const char* key : keys)
    if (from.contains(key)) result[key] = from[key];
  return result;
}

json list_of(const json& top, const char* key) { return top.contains(key) ? top[key] : json::array(); }

json topology(const json& top) { return pick(top, {"hosts", "sharpds", "root", "nodes"}); }
void print_topology(const json& top) {
  fmt::print("{} hosts in the fabric, {} sharpds connected\n", text(top, "hosts"), text(top, "sharpds"));
  // A node has a parent, a state, a link and an address in each of its trees.
  Rows rows{{"NODE", "ID", "TREE", "PARENT", "STATE", "LINK", "ADDRESS", "OSTS", "GROUPS"}};
  const auto row = [&](const json& node, const json& part) {
    const bool here = is(node, "registered");
    rows.push_back({text(node, "name"), text(node, "id"), text(part, "tree"), text(part, "parent"),
                    !here                     ? "missing"
                    : node.contains("silent") ? "silent"
                    : is(part, "root")        ? "root"
                                              : "registered",
                    !here || !part.contains("link_up") ? "-"
                    : is(part, "link_up")              ? "up"
                                                       : "down: " + text(part, "link_why"),
                    text(part, "address"), text(node, "osts"), text(node, "groups")});
  };
  for (const auto& node : list_of(top, "nodes")) {
    const auto parts = list_of(node, "trees");
    for (const auto& part : parts) row(node, part);
    if (parts.empty()) row(node, json::object());
  }
  if (list_of(top, "trees").size() == 1)
    for (auto& one : rows) one.erase(one.begin() + 2);
  print_table(rows);
  for (const auto& node : list_of(top, "nodes"))
    if (node.contains("silent")) fmt::print("{} is silent: {}\n", text(node, "name"), text(node, "silent"));
}

json trees(const json& top) {
  json result = pick(top, {"trees"});
  for (const auto& node : list_of(top, "nodes"))
    result["nodes"].push_back(pick(node, {"id", "name", "parent", "registered", "trees"}));
  return result;
}
/// A node has a parent in each of its trees.
void print_tree(const json& nodes, const json& tree, std::set<std::string>& placed) {
  std::multimap<std::string, const json*> children;
  for (const auto& node : nodes)
    for (const auto& part : list_of(node, "trees"))
      if (text(part, "tree") == text(tree, "tree")) children.emplace(text(part, "parent"), &node);
  std::size_t printed = 0;
  const std::function<void(const std::string&, std::size_t)> print = [&](const std::string& parent, std::size_t depth) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) {
      if (++printed > children.size()) return;  // A manager whose answer has a loop must not hang us.
      const json& node = *child->second;
      placed.insert(text(node, "name"));
      fmt::print("{:>{}}{}{}\n", "", 2 * depth, text(node, "name"), is(node, "registered") ? "" : "  (not registered)");
      print(text(node, "name"), depth + 1);
    }
  };
  fmt::print("tree {} id {}: {}\n", text(tree, "tree"), text(tree, "id"),
             is(tree, "lost") ? "lost" : "root " + text(tree, "root"));
  print("-", 1);
}

void print_trees(const json& top) {
  const auto nodes = list_of(top, "nodes");
  std::set<std::string> placed;
  for (const auto& tree : list_of(top, "trees")) print_tree(nodes, tree, placed);
  for (const auto& node : nodes)
    if (!placed.contains(text(node, "name")))
      fmt::print("in no tree: {}{}\n", text(node, "name"), is(node, "registered") ? "" : "  (not registered)");
}

json jobs(const json& top) { return pick(top, {"jobs", "waiting"}); }
void print_jobs(const json& top) {
  const auto all = list_of(top, "jobs"), waiting = list_of(top, "waiting");
  if (all.empty() && waiting.empty()) return fmt::print("no job\n");
  Rows rows{{"JOB", "STATE", "HOLDER", "UID", "RESERVATION", "HOSTS", "OSTS", "GROUPS", "PAYLOAD", "AGE s", "LEASE s"}};
  const auto seconds = [](const json& job, const char* key) {
    return job.contains(key) && job[key].is_number() ? fmt::format("{:.1f}", job[key].get<double>() / 1000) : "-";
  };
  for (const auto& job : all)
    rows.push_back({text(job, "id"), is(job, "running") ? "runs" : "begins", text(job, "holder"), text(job, "uid"),
                    text(job, "reservation"), text(job, "hosts"), text(job, "osts"), text(job, "max_groups"),
                    text(job, "payload_per_ost"), seconds(job, "age_ms"), seconds(job, "lease_ms")});
  for (const auto& job : waiting)
    rows.push_back({text(job, "id"), "waits", text(job, "holder"), text(job, "uid"), "-", text(job, "hosts"),
                    text(job, "osts"), text(job, "max_groups"), "-", seconds(job, "age_ms"), "-"});
  print_table(rows);
}

json quotas(const json& top) {
  auto result = pick(top, {"osts_granted", "osts_free", "groups_granted", "groups_free", "rules"});
  std::map<std::string, std::array<std::uint64_t, 3>> users;
  for (const auto& job : list_of(top, "jobs")) {
    auto& user = users[text(job, "uid")];
    user[0] += 1;
    user[1] += job.value("osts", std::uint64_t{0});
    user[2] += job.value("max_groups", std::uint64_t{0});
  }
  result["users"] = json::array();
  for (const auto& [uid, held] : users)
    result["users"].push_back({{"uid", uid}, {"jobs", held[0]}, {"osts", held[1]}, {"groups", held[2]}});
  return result;
}
void print_quotas(const json& top) {
  const auto all = quotas(top);
  print_table({{"", "GRANTED", "FREE"},
               {"OSTs", text(all, "osts_granted"), text(all, "osts_free")},
               {"groups", text(all, "groups_granted"), text(all, "groups_free")}});
  if (all.contains("rules"))
    for (const auto& [name, value] : all["rules"].items()) fmt::print("{} {}\n", name, value.dump());
  if (all["users"].empty()) return;
  Rows rows{{"UID", "JOBS", "OSTS", "GROUPS"}};
  for (const auto& user : all["users"])
    rows.push_back({text(user, "uid"), text(user, "jobs"), text(user, "osts"), text(user, "groups")});
  print_table(rows);
}

json reservations(const json& top) { return pick(top, {"reservations"}); }
void print_reservations(const json& top) {
  const auto all = list_of(top, "reservations");
  if (all.empty()) return fmt::print("no reservation\n");
  Rows rows{{"NAME", "UID", "OSTS", "HOSTS"}};
  for (const auto& one : all) {
    std::string hosts;
    for (const auto& host : list_of(one, "hosts")) hosts += (hosts.empty() ? "" : ",") + host.get<std::string>();
    rows.push_back({text(one, "name"), text(one, "uid"), text(one, "osts"), hosts});
  }
  print_table(rows);
}

constexpr struct {
  std::string_view name;
  json (*pick)(const json&);
  void (*print)(const json&);
} kViews[] = {{"topology", topology, print_topology},
              {"trees", trees, print_trees},
              {"jobs", jobs, print_jobs},
              {"quotas", quotas, print_quotas},
              {"reservations", reservations, print_reservations}};

int run(const std::vector<std::string>& words) {
  std::string view, manager = manager_of_environment();
  const auto asks_for_help = [](const std::string& word) { return word == "-h" || word == "--help"; };
  if (std::ranges::any_of(words, asks_for_help)) return fmt::print("{}", kHelp), 0;
  bool as_json = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    const auto rest = [&] { return std::vector(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()); };
    if (word == "reserve" && view.empty()) return reserve_command(rest(), manager);
    if (word == "release" && view.empty()) return release_command(rest(), manager);
    if (word == "--json") {
      as_json = true;
    } else if (word == "--manager" || word == "--ib-dev") {
      if (i + 1 >= words.size()) return wrong_usage(word + " needs a value");
      if (word == "--manager") manager = words[i + 1];
      ++i;
    } else if (!word.starts_with("-") && view.empty()) {
      view = word;
    } else {
      return wrong_usage(fmt::format("'{}' is not understood", word));
    }
  }
  if (view.empty()) return wrong_usage("say what: topology, trees, jobs, quotas, reservations, reserve or release");
  const auto* found = std::ranges::find(kViews, view, [](const auto& each) { return each.name; });
  if (found == std::end(kViews)) {
    std::vector<std::string> known{"reserve", "release"};
    for (const auto& each : kViews) known.emplace_back(each.name);
    const auto near = unknown_names(std::vector<std::string>{view}, known);
    const bool has_near = !near.empty() && !near[0].nearest.empty();
    return wrong_usage(
        fmt::format("there is no '{}'{}", view, has_near ? ": did you mean " + near[0].nearest + "?" : ""));
  }
  auto status = ask_manager(manager);
  if (!status) {
    tell("sharp_cmd: {}", status.error().context);
    return 1;
  }
  if (as_json)
    fmt::print("{}\n", found->pick(*status).dump(2, ' ', false, json::error_handler_t::replace));
  else
    found->print(*status);
  return 0;
}

}  // namespace
}  // namespace sumac::tools

int main(int argc, char** argv) { return sumac::tools::run({argv + 1, argv + argc}); }
