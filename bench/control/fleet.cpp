#include "bench/control/fleet.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "control/command_line.hpp"
#include "control/life.hpp"

namespace sumac::bench {
namespace {
constexpr std::uint32_t kOsts = 512, kGroups = 512;
constexpr Duration kNodeRetry = Millis(500);  // The same as in sharp_an.
}  // namespace

std::string fabric_text(std::size_t hosts, std::size_t nodes) {
  const std::size_t leaves = nodes - 1;
  std::string text = "name: control-bench\nswitches: [root";
  for (std::size_t i = 1; i <= leaves; ++i) text += fmt::format(", leaf{}", i);
  text += "]\nlinks:\n";
  for (std::size_t i = 1; i <= leaves; ++i) text += fmt::format("  - {{a: leaf{}, b: root}}\n", i);
  text += "hosts:\n";
  for (std::size_t i = 0; i < hosts; ++i) text += fmt::format("  h{}: {{leaf: leaf{}}}\n", i, i % leaves + 1);
  text += "nodes:\n  an0: {switch: root}\n";
  for (std::size_t i = 1; i <= leaves; ++i) text += fmt::format("  an{}: {{switch: leaf{}}}\n", i, i);
  return text + "root: an0\n";
}

std::string spine_text(std::size_t hosts, std::size_t leaves, std::size_t spines, std::uint32_t trees) {
  std::string text = "name: control-bench\nswitches:\n", nodes, roots;
  for (std::size_t i = 0; i < spines; ++i) {
    text += fmt::format("  - spine{}\n", i + 1);
    nodes += fmt::format("  an{}: {{switch: spine{}}}\n", i, i + 1);
    roots += fmt::format("{}an{}", roots.empty() ? "" : ", ", i);
  }
  for (std::size_t i = 0; i < leaves; ++i) {
    text += fmt::format("  - leaf{}\n", i + 1);
    nodes += fmt::format("  an{}: {{switch: leaf{}}}\n", spines + i, i + 1);
  }
  text += "links:\n";
  for (std::size_t i = 0; i < leaves; ++i)
    for (std::size_t j = 0; j < spines; ++j) text += fmt::format("  - {{a: leaf{}, b: spine{}}}\n", i + 1, j + 1);
  text += "hosts:\n";
  for (std::size_t i = 0; i < hosts; ++i) text += fmt::format("  h{}: {{leaf: leaf{}}}\n", i, i * leaves / hosts + 1);
  return text + "nodes:\n" + nodes + fmt::format("root: [{}]\ntrees: {}\n", roots, trees);
}

Fleet::Fleet(std::string endpoint, std::size_t hosts, std::size_t nodes, std::uint32_t trees)
    : endpoint_(std::move(endpoint)),
      trees_(trees),
      wake_(control::WakeEvent::make().value()),
      host_streams_(endpoint_, control::start_host_stream, wake_),
      node_streams_(endpoint_, control::start_node_stream, wake_),
      hosts_(hosts) {
  last_life_ = control::draw_life() >> 1;
  for (std::size_t i = 0; i < nodes; ++i)
    nodes_.push_back(Node{.name = fmt::format("an{}", i), .life = ++last_life_ << 20});
  for (std::size_t i = 0; i < hosts; ++i) make_host(i);
}

void Fleet::make_host(std::size_t i) {
  hosts_[i].uplink.emplace(hostd::UplinkRules{
      .host = fmt::format("h{}", i), .manager = endpoint_, .life = ++last_life_, .timeout = Seconds(60)});
  schedule(i);
}

void Fleet::schedule(std::size_t i) {
  auto& host = hosts_[i];
  const Time due = host.uplink->next_deadline();
  if (due == host.due) return;
  due_.erase({host.due, i});
  host.due = due;
  if (due != kNever) due_.emplace(due, i);
}

bool Fleet::run_until(const std::function<bool()>& done, Duration patience) {
  for (const Time give_up = deadline_after(monotonic_now(), patience);;) {
    const Time now = monotonic_now();
    while (!due_.empty() && due_.begin()->first <= now) {
      const auto i = due_.begin()->second;
      act(i, hosts_[i].uplink->tick(now));
    }
    take_hosts(now);
    take_nodes(now);
    if (done()) return true;
    if (now >= give_up) return false;
    Time next = give_up;
    if (!due_.empty()) next = std::min(next, due_.begin()->first);
    for (const auto& node : nodes_)
      if (!node.open) next = std::min(next, node.retry_at);
    pollfd wait{wake_.fd(), POLLIN, 0};
    const auto left = std::chrono::ceil<Millis>(next - monotonic_now()).count();
    ::poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    wake_.clear();
  }
}

void Fleet::take_hosts(Time now) {
  if (!host_streams_.pending()) return;
  for (auto& answer : host_streams_.take()) {
    const auto found = host_of_stream_.find(answer.ticket);
    if (found == host_of_stream_.end()) continue;
    const auto i = found->second;
    if (answer.over) host_of_stream_.erase(found);
    if (hosts_[i].stream != answer.ticket) continue;  // A stream of a former life.
    ++messages_;
    act(i, answer.over ? hosts_[i].uplink->stream_over(answer.why, now) : hosts_[i].uplink->heard(answer.down, now));
  }
}

void Fleet::act(std::size_t i, hostd::UplinkActions actions) {
  for (auto& action : actions)
    std::visit(overloaded{
                   [&](hostd::OpenStream& open) {
                     hosts_[i].stream = ++last_stream_;
                     host_of_stream_[last_stream_] = i;
                     host_streams_.open(last_stream_, std::move(open.first));
                   },
                   [&](hostd::SendUp& send) { host_streams_.send(hosts_[i].stream, std::move(send.message)); },
                   [&](hostd::Answer& answer) { answered(answer); },
                   [](hostd::TellMembers&) {},
                   [](hostd::TellTrees&) {},
                   [](hostd::Note&) {},
               },
               action);
  schedule(i);
}

void Fleet::answered(const hostd::Answer& answer) {
  const auto found = job_of_ticket_.find(answer.ticket);
  if (found == job_of_ticket_.end()) return;
  auto& job = jobs_.at(found->second);
  const Time now = monotonic_now();
  if (!answer.lost && answer.down.has_granted()) {
    job.state = SimJob::State::held;
    job.granted_at = now;
    return;
  }
  if (job.state == SimJob::State::held)
    violated(fmt::format("job {} ran and was ended: {}", job.id, answer.why.context));
  if (job.state == SimJob::State::asked) job.refused = answer.lost ? answer.why.context : answer.down.refused().text();
  job.state = SimJob::State::over;
  job.over_at = now;
  job_of_ticket_.erase(found);
}

void Fleet::take_nodes(Time now) {
  for (auto& node : nodes_) {
    if (node.open || now < node.retry_at) continue;
    control::v1::NodeUp up;
    auto* who = up.mutable_register_();
    who->set_version(control::kControlVersion);
    who->set_name(node.name);
    for (std::uint32_t tree = 0; tree < trees_; ++tree) {  // The node reports its trees before it is asked.
      auto* listening = who->add_trees();
      listening->set_tree(tree);
      listening->set_address("tcp:127.0.0.1:9");
    }
    who->set_osts(kOsts);
    who->set_groups(kGroups);
    who->set_payload_max(1024);
    who->set_life(node.life);
    node.open = true;
    node.stream = ++last_stream_;
    node_streams_.open(node.stream, std::move(up));
  }
  if (!node_streams_.pending()) return;
  for (auto& answer : node_streams_.take())
    for (auto& node : nodes_) {
      if (node.stream != answer.ticket) continue;
      if (answer.over) {
        node.open = node.registered = false;
        node.retry_at = now + kNodeRetry;
      } else {
        heard(node, answer.down);
      }
    }
}

void Fleet::heard(Node& node, const control::v1::NodeDown& down) {
  if (down.has_registered()) {
    node.registered = true;
    node.grants.clear();
    for (const auto& tree : down.registered().trees())
      for (const auto& grant : tree.grants()) node.grants[{tree.tree(), grant.job_id()}] = grant;
    check_sum(node);
    for (std::uint32_t tree = 0; tree < trees_; ++tree) link_up(node, tree);
  }
  if (down.has_tree()) {
    const auto tree = down.tree().tree();
    std::erase_if(node.grants, [&](const auto& one) { return one.first.first == tree; });
    for (const auto& grant : down.tree().grants()) node.grants[{tree, grant.job_id()}] = grant;
    check_sum(node);
  }
  if (down.has_parent()) link_up(node, down.parent().tree());
  if (down.has_grant()) {
    node.grants[{down.grant().tree(), down.grant().job_id()}] = down.grant();
    check_sum(node);
  }
  if (down.has_revoke()) node.grants.erase({down.revoke().tree(), down.revoke().job_id()});
  control::v1::NodeUp up;
  up.mutable_ack()->set_sequence(down.sequence());
  node_streams_.send(node.stream, std::move(up));
}

void Fleet::check_sum(const Node& node) {
  std::vector<std::uint64_t> osts(trees_), groups(trees_);
  for (const auto& [key, grant] : node.grants) {
    osts.at(key.first) += grant.quota().osts();
    groups.at(key.first) += grant.quota().max_groups();
  }
  for (std::uint32_t tree = 0; tree < trees_; ++tree)
    if (osts[tree] > kOsts || groups[tree] > kGroups)
      violated(fmt::format("node {}: {} OSTs and {} groups are granted, it has {} and {}", node.name, osts[tree],
                           groups[tree], kOsts, kGroups));
}

void Fleet::link_up(const Node& node, std::uint32_t tree) {
  control::v1::NodeUp up;
  up.mutable_link()->set_up(true);
  up.mutable_link()->set_tree(tree);
  node_streams_.send(node.stream, std::move(up));
}

bool Fleet::all_connected() const {
  return std::ranges::all_of(nodes_, [](const Node& node) { return node.registered; }) &&
         std::ranges::all_of(hosts_, [](const Host& host) { return host.uplink->registered(); });
}

SimJob& Fleet::begin(std::size_t host, std::size_t host_count, std::uint32_t osts, std::uint32_t groups,
                     std::uint32_t uid) {
  SimJob job;
  job.id = ++last_job_;
  job.host = host;
  job.ticket = ++last_ticket_;
  control::v1::JobBegin request;
  request.set_job_id(job.id);
  request.set_world_size(static_cast<std::uint32_t>(host_count));
  for (std::size_t i = 0; i < host_count; ++i) request.add_hosts(fmt::format("h{}", (host + i) % hosts_.size()));
  request.mutable_quota()->set_osts(osts);
  request.mutable_quota()->set_max_groups(groups);
  request.mutable_quota()->set_num_trees(trees_ == 1 ? 0 : 1 + static_cast<std::uint32_t>(last_job_) % trees_);
  request.set_uid(uid);
  request.set_holder(fmt::format("h{} pid 1 uid {}", host, uid));
  job.asked_at = monotonic_now();
  job_of_ticket_[job.ticket] = job.id;
  auto& kept = jobs_[job.id] = job;
  act(host, hosts_[host].uplink->begin(job.ticket, std::move(request), job.asked_at));
  return kept;
}

void Fleet::end(SimJob& job) {
  job.state = SimJob::State::ending;
  act(job.host, hosts_[job.host].uplink->end(job.ticket, monotonic_now()));
}

void Fleet::kill_host(std::size_t i) {
  host_streams_.cancel(hosts_[i].stream);
  hosts_[i].stream = 0;
  for (auto& [id, job] : jobs_)
    if (job.host == i && job.state != SimJob::State::over) {
      job.state = SimJob::State::over;
      job.over_at = monotonic_now();
      job_of_ticket_.erase(job.ticket);
    }
  make_host(i);
}

std::set<std::uint64_t> Fleet::in_state(SimJob::State state) const {
  std::set<std::uint64_t> ids;
  for (const auto& [id, job] : jobs_)
    if (job.state == state) ids.insert(id);
  return ids;
}

bool Fleet::at_a_node(std::uint64_t id) const {
  return std::ranges::any_of(nodes_, [&](const Node& node) {
    return std::ranges::any_of(node.grants, [&](const auto& one) { return one.first.second == id; });
  });
}

std::set<std::uint64_t> Fleet::at_nodes() const {
  std::set<std::uint64_t> ids;
  for (const auto& node : nodes_)
    for (const auto& [key, grant] : node.grants) ids.insert(key.second);
  return ids;
}

void Fleet::forget_over() {
  std::erase_if(jobs_, [](const auto& entry) { return entry.second.state == SimJob::State::over; });
}

}  // namespace sumac::bench
