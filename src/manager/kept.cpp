#include "manager/kept.hpp"

#include <algorithm>

#include "control/command_line.hpp"
#include "manager/saved_tree.hpp"

namespace sumac::manager {

Result<> Kept::check(const KeptOsts& osts) const {
  constexpr std::size_t kNameMax = 64;
  const auto is_plain = [](char c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z' ? true : (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (osts.name.empty() || osts.name.size() > kNameMax || !std::ranges::all_of(osts.name, is_plain))
    return fail(Errc::invalid, "a reservation's name has 1 to {} letters, digits, - and _", kNameMax);
  if (osts.osts == 0) return fail(Errc::invalid, "reservation {} has no OSTs: name some", osts.name);
  if (osts.hosts.empty()) return fail(Errc::invalid, "reservation {} has no hosts: name some", osts.name);
  if (std::ranges::find(all_, osts.name, &KeptOsts::name) != all_.end())
    return fail(Errc::exists, "there is a reservation {} already: release it first", osts.name);
  if (all_.size() >= kMax) return fail(Errc::exhausted, "there are {} reservations: release one first", kMax);
  for (const auto& host : osts.hosts)
    if (!cluster_.host_named(host))
      return fail(Errc::not_found, "host {:.64} is not in the fabric: `sharp_cmd topology` shows what is", host);
  std::uint32_t most = 0;
  for (std::uint32_t tree = 0; tree < forest_.size(); ++tree) {
    const auto nodes = nodes_of(osts, tree);
    if (nodes.empty()) continue;
    const auto [capacity, used] = holdings_.capacity(tree, nodes, from_others(tree, osts.name));
    most = std::max(most, capacity.osts - used.osts);
  }
  if (osts.osts > most)
    return fail(Errc::exhausted, "{} OSTs asked, {} are free on these hosts: reserve less, or wait for jobs to end",
                osts.osts, most);
  return {};
}

Result<> Kept::reserve(const KeptOsts& osts) {
  if (auto may = check(osts); !may) return may;
  if (auto saved = journal_.keep(osts); !saved) return within("the reservation is not made", saved.error());
  all_.push_back(osts);
  return {};
}

Result<> Kept::release(const std::string& name) {
  const auto found = std::ranges::find(all_, name, &KeptOsts::name);
  if (found == all_.end())
    return fail(Errc::not_found, "there is no reservation {:.64}: `sharp_cmd reservations` lists them", name);
  if (auto saved = journal_.release(name); !saved) return within("the reservation stays", saved.error());
  all_.erase(found);
  return {};
}

std::string Kept::covering(const std::vector<std::string>& hosts, std::uint32_t uid) const {
  for (const auto& one : all_) {
    const auto is_of = [&](const std::string& host) { return std::ranges::find(one.hosts, host) != one.hosts.end(); };
    if (one.uid == uid && std::ranges::all_of(hosts, is_of)) return one.name;
  }
  return {};
}

std::vector<std::uint32_t> Kept::nodes_of(const KeptOsts& osts, std::uint32_t tree) const {
  std::vector<std::uint32_t> hosts;
  for (const auto& name : osts.hosts)
    if (const auto host = cluster_.host_named(name)) hosts.push_back(*host);
  const auto& it = forest_.trees()[tree];
  if (it.lost || hosts.empty()) return {};
  const auto part = topo::prune(cluster_.fabric(), it.shape, hosts, {.lift = false, .avoid = {}});
  return part ? forest_.reserved_for(share_of(*part, tree, it.id)) : std::vector<std::uint32_t>{};
}

std::map<std::uint32_t, std::uint32_t> Kept::from_others(std::uint32_t tree, const std::string& own) const {
  std::map<std::uint32_t, std::uint32_t> kept;
  for (const auto& one : all_) {
    if (one.name == own) continue;
    for (const auto node : nodes_of(one, tree)) {
      const auto held = holdings_.of_reservation(one.name, tree, node);
      if (held < one.osts) kept[node] += one.osts - held;
    }
  }
  return kept;
}

}  // namespace sumac::manager
