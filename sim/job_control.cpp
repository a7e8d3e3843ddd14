// The processes of a job's daemons, in virtual time: a manager, sharpds, and what a node does with the manager's messages
// (src/node/control_link.cpp does that in the product, around a thread for each tree).
#include "control/command_line.hpp"
#include "manager/words.hpp"
#include "sim/job_world.hpp"

namespace sumac::sim {
namespace {

constexpr Duration kRetry = Millis(30);
constexpr std::uint32_t kOsts = 512, kGroups = 512, kJobPayload = 128;

proto::JobGrant grant_of(const manager::Grant& from) {
  return {.job_id = from.job_id,
          .quota = from.quota,
          .uid = from.uid,
          .links_percent = from.links_percent,
          .job_key = from.job_key,
          .numbers = from.numbers,
          .below = proto::JobGrant::Below{.nodes = from.below, .ranks = from.ranks_here}};
}

}  // namespace

void JobWorld::later(Time& last, std::function<void(Time)> what) {
  last = std::max(last, soon(Micros(300)));
  calls_.push_back(std::move(what));
  network_.alarm(last, code(derived, calls_.size() - 1));
}

void JobWorld::after(Duration time, std::function<void(Time)> what) {
  calls_.push_back(std::move(what));
  network_.alarm(network_.now() + time, code(derived, calls_.size() - 1));
}

topo::Fabric JobWorld::fabric() const {
  topo::Fabric made;
  made.name = "seed";
  made.switches = {"root"};
  made.nodes = {{"an-root", {"root", ""}, {}}};
  for (std::uint32_t leaf = 1; leaf <= job.leaves; ++leaf) {
    const auto name = fmt::format("leaf{}", leaf);
    made.switches.push_back({name});
    made.links.push_back({name, "root", {}});
    made.nodes.push_back({"an-" + name, {name, ""}, {}});
    for (std::uint32_t i = 0; i < job.hosts_per_leaf; ++i) {
      topo::Host host;
      host.name = fmt::format("h{}", made.hosts.size() + 1);
      host.leaf = name;
      made.hosts.push_back(host);
    }
  }
  return made;
}

// ---- the manager

void JobWorld::start_manager(Time now) {
  manager::Rules rules;
  const auto& quota = plan_.base.grant.quota;
  rules.quota.payload_default = rules.quota.payload_min = rules.quota.payload_max = kJobPayload;
  rules.quota.stream_window = quota.stream_window;
  rules.quota.chunk_bytes = quota.chunk_bytes;
  rules.node_away = job.node_away;
  rules.leave_after_end = Seconds(2);
  rules.draw_secret = [this]() -> sumac::Result<Secret> { return key_of_seed(random_.next()); };
  manager_.emplace(fabric(), rules, journal_);
  note("the manager starts");
  if (auto sound = manager_->check(); !sound) return fail(sound.error().context);
  carry_out(manager_->restore(journal_.state, now));
}

void JobWorld::kill_manager(Time now) {
  note("the manager dies");
  manager_.reset();
  // The next one knows of no job that has ended.
  for (const auto& each : members_)
    if (each->dies && has_ended_job_) notice_refusals(each->rank);
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    if (processes_[i].is_alive && std::exchange(processes_[i].stream.id, 0) != 0) {
      for (auto& [tree, part] : processes_[i].parts) part.waiting.clear(), part.leaving.clear();
      after(kRetry, [this, i](Time) { open_node(i); });
    }
  for (std::uint32_t i = 0; i < sharpds_.size(); ++i)
    if (std::exchange(sharpds_[i].stream.id, 0) != 0)
      act(i, sharpds_[i].uplink->stream_over({Errc::lost, "reset"}, now), now);
}

void JobWorld::carry_out(const std::vector<manager::Action>& actions) {
  for (const auto& action : actions)
    std::visit(overloaded{
                   [&](const manager::SendToNode& to) {
                     for (std::uint32_t i = 0; i < processes_.size(); ++i)
                       if (processes_[i].stream.id == to.stream)
                         later(processes_[i].stream.last_down, [this, i, to](Time now) {
                           if (processes_[i].is_alive && processes_[i].stream.id == to.stream) hear(i, to, now);
                         });
                   },
                   [&](const manager::SendToHost& to) {
                     for (std::uint32_t i = 0; i < sharpds_.size(); ++i)
                       if (sharpds_[i].stream.id == to.stream)
                         later(sharpds_[i].stream.last_down, [this, i, to](Time now) {
                           if (sharpds_[i].uplink && sharpds_[i].stream.id == to.stream)
                             act(i, sharpds_[i].uplink->heard(manager::written(to), now), now);
                         });
                   },
                   [&](const manager::Refuse& refused) {
                     note("the manager refuses: " + refused.why.context);
                     for (std::uint32_t i = 0; i < processes_.size(); ++i)
                       if (processes_[i].stream.id == refused.stream) {
                         processes_[i].stream.id = 0;
                         after(kRetry, [this, i](Time) { open_node(i); });
                       }
                     for (std::uint32_t i = 0; i < sharpds_.size(); ++i)
                       if (sharpds_[i].stream.id == refused.stream) {
                         sharpds_[i].stream.id = 0;
                         act(i, sharpds_[i].uplink->stream_over(refused.why, network_.now()), network_.now());
                       }
                   },
                   [&](const manager::Say& say) { note("manager: " + say.text); },
                   [](const manager::Happened&) {},
               },
               action);
}

// ---- sharpds

void JobWorld::start_sharpd(std::uint32_t host, Time now) {
  Sharpd& sharpd = sharpds_[host];
  // The next process takes over the life of the former one, as held_file lets it.
  sharpd.uplink.emplace(hostd::UplinkRules{
      .host = sharpd.host, .manager = "am", .life = host + 1, .timeout = Seconds(15), .retry = kRetry});
  note("sharpd of " + sharpd.host + " starts");
  if (generations_.empty()) return;
  const auto& grant = plan_.base.grant;
  if (host == job.host[0] && !has_ended_job_) sharpd.uplink->adopt(kTicket, grant.job_id);
  if (std::exchange(sharpd.has_lost_holder, false)) lose_holder(host, now);
  // Its ranks find it again in their own time.
  for (std::uint32_t rank = 0; rank < job.host.size(); ++rank)
    if (job.host[rank] == host) after(kRetry * random_.below(8), [this, rank](Time then) { enter_job(rank, then); });
}

void JobWorld::kill_sharpd(std::uint32_t host) {
  Sharpd& sharpd = sharpds_[host];
  note("sharpd of " + sharpd.host + " dies");
  for (const auto& death : sharpd.uplink->deaths()) notice_refusals(death.word.world_rank());
  sharpd.uplink.reset();
  sharpd.entered.clear();
  if (const StreamId stream = std::exchange(sharpd.stream.id, 0); stream != 0)
    later(sharpd.stream.last_up, [this, stream](Time now) {
      if (manager_) carry_out(manager_->host_stream_ended(stream, now));
    });
}

void JobWorld::act(std::uint32_t host, hostd::UplinkActions actions, Time now) {
  Sharpd& sharpd = sharpds_[host];
  const auto say_up = [&](const control::v1::HostUp& up) {
    later(sharpd.stream.last_up, [this, stream = sharpd.stream.id, up](Time then) {
      if (manager_) carry_out(manager_->host_says(stream, *manager::read(up), then));
    });
  };
  for (auto& action : actions)
    std::visit(overloaded{
                   [&](hostd::OpenStream& open) {
                     if (!manager_) return act(host, sharpd.uplink->stream_over({Errc::lost, "refused"}, now), now);
                     sharpd.stream.id = ++last_stream_;
                     say_up(open.first);
                   },
                   [&](hostd::SendUp& send) {
                     if (sharpd.stream.id != 0) say_up(send.message);
                   },
                   [&](hostd::Answer& answer) {
                     if (answer.lost) return fail("the job's owner was told: " + answer.why.context);
                     if (answer.down.has_granted()) return take_grant(answer.down.granted());
                     if (answer.down.has_refused()) return fail("refused: " + answer.down.refused().text());
                     if (!has_ended_job_) fail("the job was ended: " + answer.down.ended().why());
                   },
                   [&](hostd::TellMembers& told) {
                     for (const std::uint32_t rank : sharpd.entered) tell_rank(rank, told.word);
                   },
                   [&](hostd::TellTrees& told) { take_trees(host, told.word, now); },
                   [](hostd::Note&) {},
               },
               action);
}

// ---- nodes

void JobWorld::start_node(std::uint32_t node) {
  NodeProcess& process = processes_[node];
  process = {.name = process.name, .is_alive = true, .life = ++last_life_ << 40};
  note("node " + process.name + " starts");
  open_node(node);
}

void JobWorld::kill_process(std::uint32_t node) {
  NodeProcess& process = processes_[node];
  note("the process of node " + process.name + " dies");
  process.is_alive = false;
  for (auto& [tree, part] : process.parts)
    if (part.end) kill_node(*nodes_[*part.end]);
  if (const StreamId stream = std::exchange(process.stream.id, 0); stream != 0)
    later(process.stream.last_up, [this, stream](Time now) {
      if (manager_) carry_out(manager_->node_stream_ended(stream, now));
    });
}

void JobWorld::open_node(std::uint32_t node) {
  NodeProcess& process = processes_[node];
  if (!process.is_alive || process.stream.id != 0) return;
  if (!manager_) return after(kRetry, [this, node](Time) { open_node(node); });
  process.stream = {.id = ++last_stream_};
  manager::NodeRegister who{.version = control::kControlVersion,
                            .name = process.name,
                            .trees = {},
                            .osts = kOsts,
                            .groups = kGroups,
                            .payload_max = kJobPayload,
                            .pid = node + 1,
                            .life = process.life,
                            .release = {}};
  for (const auto& [tree, part] : process.parts) {
    manager::Listening& listening = who.trees.emplace_back(manager::Listening{tree, part.address, {}, {}});
    if (!part.end) continue;
    for (const auto& held : nodes_[*part.end]->engine->jobs())
      listening.held.insert(listening.held.end(), held.grant.numbers.begin(), held.grant.numbers.end());
  }
  say(node, std::move(who));
}

void JobWorld::say(std::uint32_t node, manager::FromNode word) {
  NodeProcess& process = processes_[node];
  if (process.stream.id == 0) return;
  later(process.stream.last_up, [this, stream = process.stream.id, word = std::move(word)](Time now) {
    if (manager_) carry_out(manager_->node_says(stream, word, now));
  });
}

void JobWorld::hear(std::uint32_t node, const manager::SendToNode& word, Time now) {
  NodeProcess& process = processes_[node];
  const auto acknowledge = [&] { say(node, manager::Ack{word.sequence}); };
  const auto standing = [&](std::uint32_t tree) -> Part* {
    const auto found = process.parts.find(tree);
    return found == process.parts.end() || !found->second.end ? nullptr : &found->second;
  };
  std::visit(overloaded{
                 [&](const manager::Registered& told) {
                   process.id = told.node_id;
                   process.key = told.node_key;
                   std::vector<std::uint32_t> left;
                   for (const auto& [tree, part] : process.parts)
                     if (std::ranges::none_of(told.trees, [&](const auto& each) { return each.tree == tree; }))
                       left.push_back(tree);
                   for (const std::uint32_t tree : left) leave(process, tree, now);
                   for (const auto& each : told.trees) enter(node, each, now);
                   acknowledge();
                 },
                 [&](const manager::NodeTree& told) {
                   enter(node, told, now);
                   acknowledge();
                 },
                 [&](const manager::Parent& told) {
                   if (const auto found = process.parts.find(told.tree); found != process.parts.end())
                     found->second.parent = proto::ParentInfo{told.node_id, told.key, told.address};
                   acknowledge();
                 },
                 [&](const manager::Grant& told) {
                   Part* const part = standing(told.tree);
                   if (part == nullptr) return say(node, manager::Deferred{word.sequence, "it does not listen"});
                   try_grant(node, *part, word.sequence, grant_of(told));
                 },
                 [&](const manager::Revoke& told) {
                   Part* const part = standing(told.tree);
                   if (part == nullptr) return acknowledge();
                   std::erase_if(part->waiting, [&](const auto& each) { return each.second.job_id == told.job_id; });
                   if (!nodes_[*part->end]->engine->revoke(told.job_id, now, told.why)) return acknowledge();
                   part->leaving.emplace_back(word.sequence, told.job_id);
                 },
                 [&](const manager::RankDeath& told) {
                   if (Part* const part = standing(told.tree); part != nullptr) {
                     auto& engine = *nodes_[*part->end]->engine;
                     for (const auto link : engine.links_of(told.job_id, WorldRank{told.world_rank}, told.host))
                       engine.rank_died(link, now);
                     act_on_drops(*part->end);
                   }
                   acknowledge();
                 },
             },
             word.message);
}

void JobWorld::enter(std::uint32_t node, const manager::NodeTree& told, Time now) {
  NodeProcess& process = processes_[node];
  if (told.over) return leave(process, told.tree, now);
  const auto [found, is_new] = process.parts.try_emplace(told.tree);
  Part& part = found->second;
  if (is_new) {
    part.address = fmt::format("tcp:{}:{}:{}", process.name, process.life >> 40, told.tree);
    say(node, manager::Listening{told.tree, part.address, {}, {}});
  }
  part.is_root = told.is_root;
  if (!part.is_root) say(node, manager::Link{told.tree, part.is_linked, ""});
  if (told.tree_id == TreeId{}) return;
  if (part.id != told.tree_id) {
    if (part.end) kill_node(*nodes_[*part.end]);
    part.waiting.clear();
    part.leaving.clear();
    if (next_end_ == nodes_.size()) return fail("too many nodes");
    part.id = told.tree_id;
    part.end = next_end_++;
    part.is_linked = false;
    end_of_address_[part.address] = *part.end;
    proto::NodeLimits limits = plan_.base.limits;
    limits.osts = kOsts;
    limits.groups = kGroups;
    limits.leave_after_end = Seconds(2);
    make_engine(*nodes_[*part.end], {.node_id = process.id,
                                     .tree_id = part.id,
                                     .root = part.is_root,
                                     .limits = limits,
                                     .node_key = process.key,
                                     .address = part.address,
                                     .name = process.name,
                                     .multicast_to_one_level = true});
  }
  auto& engine = *nodes_[*part.end]->engine;
  engine.set_node_key(process.key);
  for (const auto& held : engine.jobs())
    if (!held.revoked &&
        std::ranges::none_of(told.grants, [&](const auto& each) { return each.job_id == held.grant.job_id; }))
      engine.revoke(held.grant.job_id, now, "the manager does not know it any more");
  for (const auto& grant : told.grants) try_grant(node, part, 0, grant_of(grant));
}

void JobWorld::leave(NodeProcess& process, std::uint32_t tree, Time now) {
  const auto found = process.parts.find(tree);
  if (found == process.parts.end()) return;
  if (found->second.end) {
    nodes_[*found->second.end]->engine->leave_tree(now);
    kill_node(*nodes_[*found->second.end]);
  }
  process.parts.erase(found);
}

void JobWorld::try_grant(std::uint32_t node, Part& part, std::uint64_t sequence, const proto::JobGrant& grant) {
  if (const auto done = nodes_[*part.end]->engine->grant(grant, network_.now()); !done) {
    part.waiting.emplace_back(sequence, grant);
    if (sequence != 0) say(node, manager::Deferred{sequence, done.error().context});
    return;
  }
  std::erase_if(part.leaving, [&](const auto& each) { return each.second == grant.job_id; });
  if (sequence != 0) say(node, manager::Ack{sequence});
}

/// Connects a part to its parent where there is no connection, and the parent is there.
void JobWorld::link(std::uint32_t node, std::uint32_t tree, Part& part) {
  LastingNode& own = *nodes_[*part.end];
  const bool is_linked = own.engine->has_parent();
  if (is_linked != part.is_linked) {
    part.is_linked = is_linked;
    say(node, manager::Link{tree, is_linked, is_linked ? "" : "connection lost"});
  }
  if (is_linked || !part.parent || (own.parent && network_.open(own.parent))) return;
  const auto found = end_of_address_.find(part.parent->address);
  if (found == end_of_address_.end() || nodes_[found->second]->is_dead) return;
  connect_nodes(*part.end, found->second, *part.parent);
}

void JobWorld::tick_node(std::uint32_t node) {
  for (auto& [tree, part] : processes_[node].parts) {
    if (!part.end) continue;
    if (!part.is_root) link(node, tree, part);
    auto& engine = *nodes_[*part.end]->engine;
    const auto forgotten = engine.take_forgotten();
    for (const JobId over : forgotten)
      std::erase_if(part.leaving, [&, node = node](const auto& each) {
        if (each.second != over) return false;
        say(node, manager::Ack{each.first});
        return true;
      });
    if (forgotten.empty()) continue;
    for (const auto& [sequence, grant] : std::exchange(part.waiting, {})) try_grant(node, part, sequence, grant);
  }
}

}  // namespace sumac::sim
