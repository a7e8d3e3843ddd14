#include "page/views.hpp"

#include <algorithm>
#include <unordered_map>

#include "page/text_match.hpp"

namespace sumac::page {
namespace {

using nlohmann::json;

std::string id_text(JobId id) { return fmt::format("{}", number_of(id)); }  // JavaScript rounds numbers above 2^53.

json quota(const wire::Quota& granted) {
  return {{"osts", granted.osts},
          {"groups", granted.max_groups},
          {"payload_per_ost", granted.payload_per_ost},
          {"qps", granted.max_qps},
          {"group_channels", granted.max_group_channels},
          {"trees", granted.num_trees},
          {"stream_window", granted.stream_window},
          {"chunk_bytes", granted.chunk_bytes}};
}

const char* phase(const JobState& state) {
  return state.waiting ? "waiting" : state.leaving ? "leaving" : state.granted ? "running" : "beginning";
}

json summary(const Model& model, const JobState& state) {
  const auto& job = *state.job;
  json trees = json::array();
  for (const auto& share : job.shares) trees.push_back(share.tree);
  return {{"id", id_text(job.id)},
          {"number", job.number},
          {"uid", job.uid},
          {"user", model.user_name(job.uid)},
          {"holder", job.holder},
          {"reservation", job.reservation},
          {"phase", phase(state)},
          {"hosts", job.hosts.size()},
          {"trees", std::move(trees)},
          {"quota", quota(job.quota)},
          {"begun_ms", model.unix_ms(job.begun)}};
}

json event_json(const Model& model, const Event& event) {
  json one{{"id", event.id},
           {"at_ms", model.unix_ms(event.at)},
           {"kind", to_string(event.kind)},
           {"subject", event.subject},
           {"text", event.text},
           {"count", event.count}};
  if (event.is_of_job()) {
    one["job"] = id_text(event.job);
    one["uid"] = *event.owner;
    one["user"] = model.user_name(*event.owner);
  }
  return one;
}

constexpr std::size_t kMissingMax = 20;  ///< More names are of no use beside the numbers.

/// The part of a list that is in the fabric: its size, and the names of those that are not there.
struct Presence {
  std::size_t known = 0, there = 0;
  json missing = json::array();
};
template <class T, class IsThere>
Presence presence_of(const std::vector<T>& list, const IsThere& is_there) {
  Presence found;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].up) continue;  // It has left the fabric.
    ++found.known;
    if (is_there(i))
      ++found.there;
    else if (found.missing.size() < kMissingMax)
      found.missing.push_back(list[i].name);
  }
  return found;
}

template <class T>
json index_or_null(T index) {
  return index == topo::kNone ? json() : json(index);
}

json tree_json(const topo::Fabric& fabric, std::size_t number, const TreeView& tree) {
  json one{{"tree", number}, {"lost", tree.lost}, {"id", number_of(tree.id)}};
  if (tree.lost) return one;
  json parents = json::array(), routes = json::array(), leaves = json::array();
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const bool there = n < tree.shape.nodes.size() && tree.shape.nodes[n].in_tree;
    parents.push_back(there ? json(tree.shape.nodes[n].parent) : json());
    routes.push_back(there ? json(tree.shape.nodes[n].route) : json::array());
  }
  for (std::size_t h = 0; h < fabric.hosts.size(); ++h)
    leaves.push_back(h < tree.shape.leaf_of_host.size() ? index_or_null(tree.shape.leaf_of_host[h]) : json());
  one["root"] = tree.shape.root;
  one["parents"] = std::move(parents);
  one["routes"] = std::move(routes);
  one["leaf_of_host"] = std::move(leaves);
  one["port_of_host"] = tree.shape.port_of_host;
  return one;
}

json hop_json(const control::HopTotals& hop) {
  json one{{"frames", hop.frames}, {"sums", hop.folds},          {"repeats", hop.repeats},
           {"sent", hop.sent},     {"strangers", hop.strangers}, {"expired", hop.expired}};
  // A run is one of each datagram that came to the device, also of those that are no frames.
  if (hop.runs > 0) one["run_ns"] = static_cast<double>(hop.run_ns) / static_cast<double>(hop.runs);
  return one;
}

bool matches(const Model& model, const JobState& state, const std::string& text) {
  const auto& job = *state.job;
  return contains_folded(id_text(job.id), text) || contains_folded(fmt::format("{}", job.number), text) ||
         contains_folded(model.user_name(job.uid), text) || contains_folded(job.holder, text);
}

}  // namespace

void Model::take(Snapshot next) {
  if (!next.fabric) next.fabric = std::move(now.fabric);
  if (!next.sharpds) {
    next.sharpds = std::move(now.sharpds);
    next.sharpds_elsewhere = now.sharpds_elsewhere;
  }
  if (!next.events) next.events = std::move(now.events);
  now = std::move(next);
}

std::int64_t Model::unix_ms(Time time) const {
  return origin_unix_ms + std::chrono::duration_cast<Millis>(time.time_since_epoch()).count();
}

json overview(const Model& model, const Viewer& viewer, Time now) {
  const auto& snap = model.now;
  const auto& all = snap.fabric->fabric;
  std::size_t own = 0, running = 0, beginning = 0, leaving = 0, waiting = 0;
  for (const auto& one : snap.jobs) {
    own += viewer.sees(one.job->uid) ? 1 : 0;
    (one.waiting ? waiting : one.leaving ? leaving : one.granted ? running : beginning) += 1;
  }
  json trees = json::array();
  for (std::size_t i = 0; i < snap.trees.size(); ++i) {
    const auto& totals = snap.trees[i];
    json one{{"tree", i},
             {"lost", i < snap.fabric->trees.size() && snap.fabric->trees[i].lost},
             {"nodes", totals.nodes},
             {"osts_granted", totals.osts},
             {"groups_granted", totals.groups}};
    one["osts_free"] = totals.complete ? json(totals.osts_free) : json();
    one["groups_free"] = totals.complete ? json(totals.groups_free) : json();
    trees.push_back(std::move(one));
  }
  json who{{"operator", viewer.everything}};
  who["uid"] = viewer.uid ? json(*viewer.uid) : json();
  who["user"] = viewer.uid ? json(model.user_name(*viewer.uid)) : json();
  const auto hosts =
      presence_of(all.hosts, [&](std::size_t i) { return i < snap.sharpds->size() && (*snap.sharpds)[i]; });
  const auto nodes =
      presence_of(all.nodes, [&](std::size_t i) { return i < snap.nodes.size() && snap.nodes[i].registered; });
  return {{"manager", {{"version", model.manager_version}, {"started_ms", model.unix_ms(model.started)}}},
          {"now_ms", model.unix_ms(now)},
          {"viewer", std::move(who)},
          {"fabric",
           {{"name", all.name},
            {"described", snap.fabric->described},
            {"hosts", hosts.known},
            {"switches", std::ranges::count_if(all.switches, &topo::Switch::up)},
            {"sharpds", hosts.there},
            {"sharpds_missing", hosts.missing},
            {"sharpds_elsewhere", snap.sharpds_elsewhere},
            {"nodes", nodes.known},
            {"nodes_registered", nodes.there},
            {"nodes_missing", nodes.missing}}},
          {"trees", std::move(trees)},
          {"jobs",
           {{"running", running},
            {"beginning", beginning},
            {"leaving", leaving},
            {"waiting", waiting},
            {"visible", own},
            {"granted_total", snap.jobs_granted},
            {"refused_total", snap.jobs_refused},
            {"released_total", snap.jobs_released},
            {"rank_deaths_total", snap.rank_deaths}}},
          {"limits",
           {{"user_jobs_max", snap.user_jobs_max},
            {"user_share_max_percent", snap.user_share_max_percent},
            {"user_osts_max", snap.user_osts_max},
            {"user_groups_max", snap.user_groups_max},
            {"default_quota_percent", snap.default_quota_percent}}},
          {"versions",
           {{"state", snap.version.state},
            {"fabric", snap.version.fabric},
            {"sharpds", snap.version.sharpds},
            {"events", snap.version.events}}}};
}

json fabric(const Model& model) {
  const auto& view = *model.now.fabric;
  const auto& all = view.fabric;
  std::unordered_map<std::string, std::size_t> switch_at, host_at;
  json switches = json::array(), links = json::array(), hosts = json::array(), nodes = json::array(),
       trees = json::array();
  const auto mark = [](json& entry, bool up) {
    if (!up) entry["up"] = false;
  };
  for (const auto& one : all.switches) {
    switch_at[one.name] = switches.size();
    json entry{{"name", one.name}};
    if (!one.description.empty()) entry["description"] = one.description;
    mark(entry, one.up);
    switches.push_back(std::move(entry));
  }
  const auto index = [](const auto& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? json() : json(found->second);
  };
  for (const auto& one : all.links) {
    json entry{{"a", index(switch_at, one.a)},
               {"b", index(switch_at, one.b)},
               {"rate_bits_per_s", one.spec.rate_bits_per_s},
               {"delay_ns", one.spec.delay_ns}};
    mark(entry, one.up);
    links.push_back(std::move(entry));
  }
  for (const auto& one : all.hosts) {
    host_at[one.name] = hosts.size();
    json ports = json::array({index(switch_at, one.leaf)});
    for (const auto& rail : one.rails) ports.push_back(index(switch_at, rail.leaf));
    json entry{{"name", one.name}, {"ports", std::move(ports)}};
    mark(entry, one.up);
    hosts.push_back(std::move(entry));
  }
  for (const auto& one : all.nodes) {
    json entry{{"name", one.name}};
    if (one.place.at_host.empty())
      entry["switch"] = index(switch_at, one.place.at_switch);
    else
      entry["host"] = index(host_at, one.place.at_host);
    mark(entry, one.up);
    nodes.push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < view.trees.size(); ++i) trees.push_back(tree_json(all, i, view.trees[i]));
  return {{"name", all.name},          {"described", view.described}, {"switches", std::move(switches)},
          {"links", std::move(links)}, {"hosts", std::move(hosts)},   {"nodes", std::move(nodes)},
          {"trees", std::move(trees)}};
}

json state(const Model& model, const Viewer& viewer) {
  const auto& snap = model.now;
  const auto& view = *snap.fabric;
  json nodes = json::array();
  std::vector<std::uint64_t> link_osts(view.fabric.links.size());
  for (std::size_t n = 0; n < snap.nodes.size(); ++n) {
    const auto& node = snap.nodes[n];
    json parts = json::array();
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const auto& part = node.parts[i];
      if (!part.works) continue;
      json one{{"tree", i}, {"osts_granted", part.osts}, {"groups_granted", part.groups}, {"link_up", part.link_up}};
      if (!part.link_up && !part.link_why.empty()) one["link_why"] = part.link_why;
      parts.push_back(std::move(one));
      if (i >= view.trees.size() || view.trees[i].lost || n >= view.trees[i].shape.nodes.size()) continue;
      for (const auto link : view.trees[i].shape.nodes[n].route)
        if (link < link_osts.size()) link_osts[link] += part.osts;
    }
    json entry{{"registered", node.registered}, {"trees", std::move(parts)}};
    if (node.registered) {
      entry["pid"] = node.pid;
      if (!node.silent.empty()) entry["silent"] = node.silent;
      entry["osts"] = node.osts;
      entry["groups"] = node.groups;
      if (node.hop != control::HopTotals{}) entry["hop"] = hop_json(node.hop);
    }
    nodes.push_back(std::move(entry));
  }
  std::string sharpds;
  for (const bool there : *snap.sharpds) sharpds += there ? '1' : '0';
  std::vector<std::uint32_t> counts(view.fabric.hosts.size());
  for (const auto& one : snap.jobs)
    if (viewer.sees(one.job->uid))
      for (const auto host : one.job->hosts)
        if (host < counts.size()) ++counts[host];
  json host_jobs = json::array();
  for (std::size_t h = 0; h < counts.size(); ++h)
    if (counts[h] != 0) host_jobs.push_back(json::array({h, counts[h]}));
  return {{"nodes", std::move(nodes)},
          {"link_osts", link_osts},
          {"sharpds", std::move(sharpds)},
          {"host_jobs", std::move(host_jobs)}};
}

json jobs(const Model& model, const Viewer& viewer, const JobQuery& query) {
  std::vector<const JobState*> found;
  for (const auto& one : model.now.jobs)
    if (viewer.sees(one.job->uid) && (query.text.empty() || matches(model, one, query.text))) found.push_back(&one);
  const auto key = [&](const JobState* one) -> std::int64_t {
    switch (query.order) {
      case JobOrder::id: return 0;  // The list is sorted by it.
      case JobOrder::age: return -one->job->begun.time_since_epoch().count();
      case JobOrder::osts: return std::int64_t{one->job->quota.osts} * one->job->quota.num_trees;
      case JobOrder::hosts: return static_cast<std::int64_t>(one->job->hosts.size());
      case JobOrder::user: return one->job->uid;
    }
    return 0;
  };
  std::ranges::stable_sort(found, [&](const auto* a, const auto* b) { return key(a) < key(b); });
  if (query.descending) std::ranges::reverse(found);
  json list = json::array();
  for (std::size_t i = query.offset; i < found.size() && list.size() < query.limit; ++i)
    list.push_back(summary(model, *found[i]));
  return {{"total", found.size()}, {"offset", query.offset}, {"jobs", std::move(list)}};
}

std::optional<json> job(const Model& model, const Viewer& viewer, JobId id) {
  const auto at = std::ranges::find_if(model.now.jobs, [&](const auto& one) { return one.job->id == id; });
  if (at == model.now.jobs.end() || !viewer.sees(at->job->uid)) return std::nullopt;
  json all = summary(model, *at);
  const auto& view = *at->job;
  json shares = json::array(), happened = json::array();
  for (const auto& share : view.shares) {
    json parents = json::array();
    for (const auto parent : share.parents) parents.push_back(parent == 0 ? json() : json(parent - 1));
    shares.push_back({{"tree", share.tree},
                      {"id", number_of(share.id)},
                      {"nodes", share.nodes},
                      {"parents", std::move(parents)},
                      {"leaves", share.leaves}});
  }
  for (const auto& event : *model.now.events)
    if (event->is_of_job() && event->job == id && viewer.sees(*event->owner))
      happened.push_back(event_json(model, *event));
  all["host_list"] = view.hosts;
  all["shares"] = std::move(shares);
  all["events"] = std::move(happened);
  return all;
}

json events(const Model& model, const Viewer& viewer) {
  json list = json::array();
  for (const auto& event : *model.now.events)
    if (!event->is_of_job() || viewer.sees(*event->owner)) list.push_back(event_json(model, *event));
  return {{"events", std::move(list)}, {"dropped", viewer.everything ? model.now.events_dropped : 0}};
}

json users(const Model& model, const Viewer& viewer) {
  json list = json::array();
  for (const auto& user : model.now.users)
    if (viewer.sees(user.uid))
      list.push_back({{"uid", user.uid},
                      {"user", model.user_name(user.uid)},
                      {"jobs", user.jobs},
                      {"osts", user.osts},
                      {"groups", user.groups}});
  return {{"users", std::move(list)}};
}

json search(const Model& model, const Viewer& viewer, const std::string& text) {
  constexpr std::size_t kOfAKind = 20;
  json found = json::array();
  const auto add = [&](const char* kind, std::size_t& count, std::string name, json index, std::string about) {
    if (++count > kOfAKind) return;
    found.push_back(
        {{"kind", kind}, {"name", std::move(name)}, {"index", std::move(index)}, {"about", std::move(about)}});
  };
  const auto& all = model.now.fabric->fabric;
  const auto names = [&](const char* kind, const auto& list, const auto& about) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].up && contains_folded(list[i].name, text)) add(kind, count, list[i].name, i, about(list[i]));
  };
  names("node", all.nodes, [](const topo::Node& one) {
    return one.place.at_host.empty() ? "at switch " + one.place.at_switch : "on host " + one.place.at_host;
  });
  names("host", all.hosts, [](const topo::Host& one) { return "at switch " + one.leaf; });
  names("switch", all.switches, [](const topo::Switch& one) { return one.description; });
  std::size_t count = 0;
  for (const auto& one : model.now.jobs)
    if (viewer.sees(one.job->uid) && matches(model, one, text))
      add("job", count, id_text(one.job->id), json(),
          fmt::format("{}, {} hosts", model.user_name(one.job->uid), one.job->hosts.size()));
  count = 0;
  for (const auto& user : model.now.users) {
    const auto name = model.user_name(user.uid);
    if (viewer.sees(user.uid) && (contains_folded(name, text) || contains_folded(fmt::format("{}", user.uid), text)))
      add("user", count, name, user.uid, fmt::format("{} jobs, {} OSTs", user.jobs, user.osts));
  }
  return {{"found", std::move(found)}};
}

}  // namespace sumac::page
