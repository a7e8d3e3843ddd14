#include "node/control_link.hpp"

#include <unistd.h>

#include <algorithm>

#include "control/absence.hpp"
#include "control/command_line.hpp"
#include "control/life.hpp"
#include "control/quota.hpp"
#include "node/statistics.hpp"

namespace sumac::node {

using control::v1::NodeDown;
using control::v1::NodeUp;

namespace {

Result<proto::JobGrant> grant_of(const control::v1::Grant& message) {
  proto::JobGrant grant;
  grant.job_id = JobId{message.job_id()};
  grant.quota = control::quota_of(message.quota());
  grant.uid = message.uid();
  grant.links_percent = message.links_percent();
  auto key = control::key_of(message.job_key());
  if (!key) return tl::unexpected(key.error());
  grant.job_key = *key;
  grant.numbers = control::ranges_of(message.numbers());
  if (grant.numbers.empty())
    return fail(Errc::unsupported, "the manager sends no group numbers: install the same version everywhere");
  grant.below = proto::JobGrant::Below{.nodes = {}, .ranks = message.ranks_here()};
  for (const auto child : message.below()) grant.below->nodes.push_back(NodeId{child});
  return grant;
}

}  // namespace

ControlLink::ControlLink(ControlConfig config, control::WakeEvent& wake, std::unique_ptr<Shard> first,
                         MakeShard make_shard, const proto::NodeLimits& limits, Logger& log)
    : config_(std::move(config)),
      limits_(limits),
      log_(log),
      make_shard_(std::move(make_shard)),
      streams_(config_.manager, control::start_node_stream, wake, config_.tls),
      inspect_(wake),
      life_(control::draw_life()),
      spare_(std::move(first)) {}

Result<> ControlLink::progress(Time now) {
  if (!open_ && now >= retry_at_) open_stream();
  if (streams_.pending())
    for (auto& answer : streams_.take()) {
      if (answer.ticket != ticket_) continue;
      if (answer.over) {
        if (auto over = stream_over(answer.why, now); !over) return over;
      } else if (auto done = heard(answer.down, now); !done) {
        return done;
      }
    }
  for (auto& call : inspect_.take()) call->answer(inspected(*call));
  if (now >= tell_hop_at_) {
    tell_hop();
    tell_hop_at_ = now + hop_every_;
  }
  for (auto& [index, tree] : trees_) {
    if (auto change = tree.shard->take_parent_change()) {
      tree.parent = *std::move(change);
      if (!tree.root) tell_link(index, tree.parent);
    }
    for (const auto& state : tree.shard->take_neighbours()) tell_neighbour(index, state);
    const auto ended = tree.shard->take_ended();
    for (const auto job_id : ended)
      std::erase_if(tree.leaving, [&](const Leaving& one) {
        if (one.job_id != job_id) return false;
        acknowledge(one.sequence);
        return true;
      });
    if (!ended.empty()) retry_waiting(index, tree);
  }
  return {};
}

Time ControlLink::next_due() const noexcept { return open_ ? tell_hop_at_ : retry_at_; }

void ControlLink::open_stream() {
  NodeUp up;
  auto* who = up.mutable_register_();
  who->set_version(control::kControlVersion);
  who->set_release(std::string(control::version_text()));
  who->set_name(config_.name);
  for (const auto& [index, tree] : trees_) {
    auto* listening = who->add_trees();
    listening->set_tree(index);
    listening->set_address(tree.shard->address());
    tree.shard->call([&](DataPath& data) {
      if (data.node() == nullptr) return;
      for (const auto& job : data.node()->jobs()) control::add_ranges(*listening->mutable_held(), job.grant.numbers);
    });
  }
  who->set_osts(limits_.osts);
  who->set_groups(limits_.groups);
  who->set_payload_max(limits_.payload_max);
  who->set_pid(static_cast<std::uint32_t>(::getpid()));
  who->set_life(life_);
  open_ = true;
  streams_.open(++ticket_, std::move(up));
}

Result<> ControlLink::stream_over(const Error& why, Time now) {
  open_ = false;
  tell_hop_at_ = kNever;
  for (auto& [index, tree] : trees_) {  // Sequence numbers have a meaning within one stream only.
    tree.waiting.clear();
    tree.leaving.clear();
  }
  retry_at_ = now + config_.retry;
  switch (why.code) {
    case Errc::ok:
    case Errc::lost:
    case Errc::timeout:
    // Either the manager has not yet noticed the end of our former process, or a second process uses our name.
    case Errc::exists: {
      const auto text = why.context.empty() ? "the manager ended the stream" : why.context;
      if (control::is_news(told_, text))
        SUMAC_WARN(log_, "{}{}; trying again", text, registered_ ? ": the data path goes on" : "");
      return {};
    }
    default: return within(fmt::format("the manager at {} refuses node {}", config_.manager, config_.name), why);
  }
}

Result<> ControlLink::heard(const NodeDown& down, Time now) {
  switch (down.what_case()) {
    case NodeDown::kRegistered:
      if (auto applied = apply(down.registered(), now); !applied) return applied;
      acknowledge(down.sequence());
      be_inspectable();
      return {};
    case NodeDown::kTree:
      if (!registered_) break;
      if (auto entered = enter(down.tree(), now); !entered) return entered;
      acknowledge(down.sequence());
      return {};
    case NodeDown::kParent: {
      if (!registered_) break;
      auto key = control::key_of(down.parent().key());
      if (!key) return tl::unexpected(key.error());
      const proto::ParentInfo parent{NodeId{down.parent().node_id()}, *key, down.parent().address(),
                                     down.parent().name()};
      // Null: this node could not listen for that tree, which the manager knows.
      if (Tree* tree = standing(down.parent().tree()); tree != nullptr)
        tree->shard->call([&](DataPath& data) { data.set_parent(parent, now); });
      acknowledge(down.sequence());
      return {};
    }
    case NodeDown::kGrant: {
      if (!registered_) break;
      auto grant = grant_of(down.grant());
      if (!grant) return tl::unexpected(grant.error());
      Tree* tree = standing(down.grant().tree());
      if (tree == nullptr) {
        defer(down.sequence(), fmt::format("it does not listen for tree {}: see its log", down.grant().tree() + 1));
        return {};
      }
      try_grant(down.grant().tree(), *tree, down.sequence(), *grant);
      return {};
    }
    case NodeDown::kRevoke: {
      if (!registered_) break;
      const JobId job_id{down.revoke().job_id()};
      if (Tree* tree = standing(down.revoke().tree()); tree != nullptr) {
        std::erase_if(tree->waiting, [&](const DeferredGrant& w) { return w.grant.job_id == job_id; });
        const bool known =
            tree->shard->call([&](DataPath& data) { return data.revoke(job_id, now, down.revoke().why()); });
        SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} revoked: {:.200}", job_id, down.revoke().why());
        if (known) {
          // The Revoke is acknowledged when the job's members have left.
          tree->leaving.push_back({down.sequence(), job_id});
          return {};
        }
      }
      acknowledge(down.sequence());
      return {};
    }
    case NodeDown::kRankDied: {
      if (!registered_) break;
      if (Tree* tree = standing(down.rank_died().tree()); tree != nullptr)
        tree->shard->call([word = down.rank_died(), now](DataPath& data) {
          data.rank_died(JobId{word.job_id()}, WorldRank{word.world_rank()}, word.host(), now);
        });
      acknowledge(down.sequence());
      return {};
    }
    case NodeDown::WHAT_NOT_SET:
      return fail(Errc::unsupported,
                  "the manager sent a message that this node does not know: install the same version everywhere");
  }
  return fail(Errc::invalid, "the manager at {} sent a message before it registered this node", config_.manager);
}

Result<> ControlLink::apply(const control::v1::Registered& who, Time now) {
  auto key = control::key_of(who.node_key());
  if (!key) return tl::unexpected(key.error());
  node_key_ = *key;
  node_id_ = NodeId{who.node_id()};
  away_ = Millis(who.away_ms());
  hop_every_ = Millis(who.hop_totals_ms());
  tell_hop_at_ = hop_every_ > Millis(0) ? now : kNever;
  registered_ = true;
  told_.clear();
  SUMAC_INFO(log_, "registered as node id {}, in {} trees", node_id_, who.trees_size());
  for (auto& [index, tree] : trees_) {
    tree.shard->call([](DataPath& data) { data.forget_told_neighbours(); });
    tree.told = {};
  }
  std::set<std::uint32_t> named;
  for (const auto& told : who.trees()) {
    named.insert(told.tree());
    if (auto entered = enter(told, now); !entered) return entered;
  }
  for (auto at = trees_.begin(); at != trees_.end();) {
    const auto tree = at++;
    if (!named.contains(tree->first)) leave(tree);
  }
  return {};
}

ControlLink::Tree* ControlLink::make_tree(std::uint32_t index) {
  std::set<std::uint32_t> taken;
  for (const auto& [other, tree] : trees_) taken.insert(tree.k);
  std::uint32_t k = 0;
  while (taken.contains(k)) ++k;
  auto shard = k == 0 && spare_ ? Result<std::unique_ptr<Shard>>(std::move(spare_)) : make_shard_(k);
  if (!shard) {
    SUMAC_ERROR(log_, "tree {}: {}", index + 1, shard.error().context);
    tell_listening(index, {}, shard.error().context);
    return nullptr;
  }
  auto& tree = trees_[index];
  tree.shard = *std::move(shard);
  tree.k = k;
  SUMAC_INFO(log_, "tree {}: listens on {}", index + 1, tree.shard->address());
  tell_listening(index, tree.shard->address(), {});
  return &tree;
}

/// Returns the tree with this index, or null if the node does not yet know its part in it.
ControlLink::Tree* ControlLink::standing(std::uint32_t index) {
  const auto found = trees_.find(index);
  return found == trees_.end() || found->second.id == TreeId{} ? nullptr : &found->second;
}

void ControlLink::leave(Trees::iterator at) {
  SUMAC_WARN(log_, "tree {}: this node has no part in it any more", at->first + 1);
  trees_.erase(at);  // Ends the shard's thread; children and members lose their links.
}

Result<> ControlLink::enter(const control::v1::NodeTree& told, Time now) {
  const auto index = told.tree();
  const auto found = trees_.find(index);
  if (told.over()) {
    if (found != trees_.end()) leave(found);
    return {};
  }
  Tree* tree = found != trees_.end() ? &found->second : make_tree(index);
  if (tree == nullptr) return {};
  const TreeId id{told.tree_id()};
  if (tree->id != id) {  // The tree was made anew: pending requests belong to the former one.
    tree->waiting.clear();
    tree->leaving.clear();
  }
  tree->root = told.is_root();
  if (!tree->root) tell_link(index, tree->parent);
  SUMAC_INFO(log_, "tree {}: id {:#x}{}", index + 1, id, tree->root ? ", this node is its root" : "");
  // The root has not registered yet; the manager sends this tree again when it has.
  if (id == TreeId{}) return {};
  tree->id = id;
  std::vector<JobId> over;
  tree->shard->call([&](DataPath& data) {
    data.set_node_key(node_key_);
    data.set_away(away_);
    data.identify(node_id_, tree->id, tree->root, now);
    // The list of grants is complete: a job that it does not name ended while the stream was down.
    for (const auto& job : data.node()->jobs()) {
      const auto known = [&](const auto& grant) { return JobId{grant.job_id()} == job.grant.job_id; };
      if (job.revoked || std::any_of(told.grants().begin(), told.grants().end(), known)) continue;
      over.push_back(job.grant.job_id);
      data.revoke(job.grant.job_id, now, "the manager does not know it any more");
    }
  });
  for (const auto job_id : over)
    SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "job {} is unknown to the manager: revoked", job_id);
  for (const auto& message : told.grants()) {
    auto grant = grant_of(message);
    if (!grant) return tl::unexpected(grant.error());
    try_grant(index, *tree, 0, *grant);
  }
  return {};
}

void ControlLink::try_grant(std::uint32_t index, Tree& tree, std::uint64_t sequence, const proto::JobGrant& grant) {
  const auto done = tree.shard->call([&](DataPath& data) { return data.grant(grant); });
  if (done) {
    SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} granted: tree {} osts {} groups {} payload {} stream window {}",
                 grant.job_id, index + 1, grant.quota.osts, grant.quota.max_groups, grant.quota.payload_per_ost,
                 grant.quota.stream_window);
    // A job that was revoked goes on.
    std::erase_if(tree.leaving, [&](const Leaving& one) { return one.job_id == grant.job_id; });
    if (sequence != 0) acknowledge(sequence);
    return;
  }
  SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} must wait: {}", grant.job_id, done.error().context);
  tree.waiting.push_back({sequence, grant});
  if (sequence != 0) defer(sequence, done.error().context);
}

void ControlLink::defer(std::uint64_t sequence, const std::string& why) {
  NodeUp up;
  up.mutable_deferred()->set_sequence(sequence);
  up.mutable_deferred()->set_why(why.substr(0, 300));
  streams_.send(ticket_, std::move(up));
}

/// Called when resources of an ended job have become free: tries the waiting grants again.
void ControlLink::retry_waiting(std::uint32_t index, Tree& tree) {
  std::erase_if(tree.waiting, [&](const DeferredGrant& w) {
    if (!tree.shard->call([&](DataPath& data) { return data.grant(w.grant); })) return false;
    SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} granted in tree {} after a wait", w.grant.job_id, index + 1);
    if (w.sequence != 0) acknowledge(w.sequence);
    return true;
  });
}

void ControlLink::acknowledge(std::uint64_t sequence) {
  NodeUp up;
  up.mutable_ack()->set_sequence(sequence);
  streams_.send(ticket_, std::move(up));
}

void ControlLink::tell_listening(std::uint32_t index, const std::string& address, const std::string& why) {
  NodeUp up;
  up.mutable_listening()->set_tree(index);
  up.mutable_listening()->set_address(address);
  up.mutable_listening()->set_why(why.substr(0, 300));
  streams_.send(ticket_, std::move(up));
}

void ControlLink::tell_link(std::uint32_t index, const ParentState& state) {
  NodeUp up;
  up.mutable_link()->set_tree(index);
  up.mutable_link()->set_up(state.up);
  up.mutable_link()->set_why(state.why.substr(0, 300));
  streams_.send(ticket_, std::move(up));
}

void ControlLink::tell_neighbour(std::uint32_t index, const NeighbourState& state) {
  NodeUp up;
  up.mutable_neighbour()->set_tree(index);
  up.mutable_neighbour()->set_node_id(number_of(state.node_id));
  using Told = control::v1::Neighbour;
  switch (state.kind) {
    case NeighbourState::Kind::heard: up.mutable_neighbour()->set_state(Told::HEARD); break;
    case NeighbourState::Kind::silent: up.mutable_neighbour()->set_state(Told::SILENT); break;
    case NeighbourState::Kind::lost: up.mutable_neighbour()->set_state(Told::LOST); break;
  }
  up.mutable_neighbour()->set_silent_ms(static_cast<std::uint32_t>(state.silence.count()));
  streams_.send(ticket_, std::move(up));
}

void ControlLink::tell_hop() {
  for (auto& [index, tree] : trees_) {
    const auto now = tree.shard->call([](DataPath& data) { return data.numbers().datagrams; });
    if (now == tree.told) continue;
    NodeUp up;
    up.mutable_hop()->set_tree(index);
    control::set_hop_totals(*up.mutable_hop(), now);
    streams_.send(ticket_, std::move(up));
    tree.told = now;
  }
}

std::vector<TreeNumbers> ControlLink::numbers() {
  std::vector<TreeNumbers> all;
  for (auto& [index, tree] : trees_) {
    all.push_back(tree.shard->call([](DataPath& data) { return data.numbers(); }));
    all.back().index = index;
  }
  return all;
}

std::string ControlLink::statistics() {
  std::vector<TreeStatistics> all;
  for (auto& [index, tree] : trees_)
    all.push_back({index, tree.id, tree.shard->call([](DataPath& data) { return data.statistics_json(); })});
  return statistics_json(config_.name, all);
}

}  // namespace sumac::node
