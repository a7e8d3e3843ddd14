// The way back to a tree: the job has trees again, this process connects to its leaf there, and its communicators go on in
// groups on the new tree.
#include <algorithm>

#include "client/comm.hpp"
#include "client/recovery/recovery.hpp"

namespace sumac::client {
namespace {

constexpr Millis kSeekAgain{1000};
/// The manager gives other trees by itself when a node stays away (SUMAC_AM_NODE_AWAY, 3 s).
constexpr Millis kWantAfter{5000}, kWantPauseMax{128'000};

}  // namespace

/// Only jobs of one tree have groups that last. The former tree and its connection stay where they are as long as groups refer to
/// them; the last ones stay in any case, because their end may still be told.
void Context::take_trees(Grant grant, std::uint32_t generation) {
  if (links_.size() != 1 || grant.trees.size() != 1) return;
  generation_ = generation;
  const Time now = monotonic_now();
  for (Comm* comm : comms_) comm->lose_tree(now);
  TreeLink& old = *links_.front();
  if (!old.closed()) {
    transport_->close(old.conn(), true);
    old.on_closed(Error{Errc::lost, "the job has other trees"});
  }
  if (broken_.empty())
    std::erase_if(former_, [](const Former& each) { return each.link && !each.link->engine().is_held(); });
  Former& former = former_.emplace_back(Former{std::make_unique<JobTree>(std::move(job_.trees.front())), nullptr});
  SUMAC_DEBUG(log_, "the job has other trees; {} former ones are kept", former_.size());
  job_.trees.front() = std::move(grant.trees.front());
  job_.granted = grant.job;
  auto ports = ports_to_trees(job_, world_rank_, devices_, channel_);
  auto link = ports ? TreeLink::begin(job_, job_.trees.front(), world_rank_, session_->host(), *transport_, *this,
                                      ports->front().interface)
                    : tl::unexpected(ports.error());
  if (!link) {
    SUMAC_WARN(log_, "no way back to a tree: {}", link.error().text);
    return;
  }
  ports_ = *std::move(ports);
  former.link = std::move(links_.front());
  links_.front() = *std::move(link);
  is_link_new_ = true;
}

void Context::await_trees(std::uint32_t generation, const Patience& patience) {
  const auto stand = [&] {
    return generation_ >= generation && std::ranges::all_of(links_, [](const auto& link) { return link->settled(); });
  };
  (void)wait_until(stand, patience);  // The caller looks at what there is.
}

void Context::has_returned() noexcept {
  want_pause_ = kWantPause;
  for (const auto& former : former_)
    if (former.link) former.link->close_unused_datagrams();
}

void Context::watch_new_link() {
  if (!links_.front()->settled()) return;
  is_link_new_ = false;
  if (auto stands = links_.front()->check(*transport_, Millis{0}, std::min(config_.node_lost_after, kLeafSilentAfter));
      !stands)
    SUMAC_DEBUG(log_, "the way back to a tree has failed: {}", stands.error().text);
}

void Context::want_trees(Time since, Time now) {
  if (now - since < kWantAfter || now < want_from_) return;
  want_from_ = now + want_pause_;
  want_pause_ = std::min(2 * want_pause_, kWantPauseMax);
  SUMAC_DEBUG(log_, "the job's trees (time {}) are of no use to a group: asking for others", generation_);
  session_->want_trees(job_.id, generation_);
}

void Comm::lose_tree(Time now) {
  if (lasting() != nullptr && generation_ < context_.generation()) lasting()->lose_tree(now);
}

Result<std::unique_ptr<proto::recovery::Group>> Comm::join(TreeId tree, GroupId group, Time now) {
  TreeLink& link = *context_.links().front();
  // Its sharpd may still have to tell this process of the tree.
  if (generation_ == context_.generation() || link.tree().body.tree_id != tree) return nullptr;
  if (link.closed()) return fail(Errc::lost, "{}", link.why_closed());
  if (!link.settled()) return nullptr;  // The node takes nothing before the proof.
  auto config = config_of({0, group}, world_ranks_);
  if (!config) return fail(Errc::invalid, "{}", config.error().text);
  config->stream_window = std::min(shape_.stream_window, window_that_lasts(context_, size_, this));
  auto made = proto::recovery::Group::make(*config, link.engine(), context_, *this);
  if (made) (*made)->start(now);
  return made;
}

/// Rank 0 gets the id of a group from the new tree's root, and proposes it to the others.
void Comm::seek_tree(Time now) {
  if (rank_ != 0 || !is_without_tree() || lasting()->verdict()) return;
  if (std::exchange(seeks_in_, context_.generation() + 1) != context_.generation() + 1) seeks_since_ = now;
  context_.want_trees(seeks_since_, now);
  if (!lasting()->wants_tree() || generation_ == context_.generation() || now < seek_from_) return;
  TreeLink& link = *context_.links().front();
  if (link.closed() || !link.settled()) return;
  auto& engine = link.engine();
  if (asked_ == 0) engine.open(asked_ = context_.next_token(), size_, now);
  const auto outcome = engine.open_outcome(asked_);
  if (outcome.state == proto::OpenOutcome::State::pending) return;
  engine.forget_open(std::exchange(asked_, 0));
  seek_from_ = now + kSeekAgain;
  if (outcome.state == proto::OpenOutcome::State::opened)
    lasting()->propose(link.tree().body.tree_id, outcome.group_id, now);
}

void Comm::note_return() {
  if (lasting()->returns() == std::exchange(returns_, lasting()->returns())) return;
  generation_ = context_.generation();
  seeks_in_ = 0;
  context_.has_returned();
  has_lost_tree_ = has_lost_links_ = false;
  told_epoch_ = 0;
  told_deaths_ = 0;
  // One member may post an operation of the new group before this, another one behind it: all stream it, and cut it, as in the first group.
  const auto before = std::exchange(shape_, lasting()->shape());
  shape_.stream_window = before.stream_window;
  shape_.chunk_bytes = before.chunk_bytes;
  if (context_.config().enable_mcast) context_.listeners().add(lasting()->on_tree(), context_.links().front()->conn());
  SUMAC_LOG(context_.log(), rank_ == 0 ? LogLevel::info : LogLevel::debug,
            "group {:x} is on a tree again, as group {:x}", lasting()->lives_left().back().group,
            lasting()->current().config().group_id);
}

}  // namespace sumac::client
