// A communicator whose group outlives its tree: what comes for it from other members, from sharpd, and from its tree.
#include "client/comm.hpp"

#include <algorithm>

#include "client/recovery/recovery.hpp"

namespace sumac::client {

using proto::recovery::root_of;

namespace {

/// The most that a process keeps of its communicators' streams, and the most that the chunks of one group take at the root of an epoch.
constexpr std::size_t kStreamsKeptMost = std::size_t{16} << 20, kStreamsGatheredMost = std::size_t{64} << 20;

}  // namespace

std::size_t Comm::streams_kept() const noexcept {
  if (channels_.empty() || lasting() == nullptr) return 0;
  const auto& config = channels_.front().group.config();
  return config.stream_window == 0
             ? 0
             : proto::recovery::Group::streams_kept_most(config.stream_window, config.chunk_bytes);
}

std::uint32_t Comm::window_that_lasts(const Context& context, std::uint32_t members, const Comm* self) noexcept {
  const auto& job = context.job();
  std::uint32_t window = job.stream_window();
  const std::size_t chunk_bytes = job.granted.quota.chunk_bytes;
  if (window == 0 || chunk_bytes == 0) return 0;
  window = static_cast<std::uint32_t>(std::min<std::size_t>(window, kStreamsGatheredMost / (chunk_bytes * members)));
  if (window == 0) return 0;
  std::size_t kept = proto::recovery::Group::streams_kept_most(window, job.granted.quota.chunk_bytes);
  for (const Comm* each : context.comms())
    if (each != self) kept += each->streams_kept();
  return kept <= kStreamsKeptMost ? window : 0;
}

bool Comm::would_last(const Context& context, std::uint32_t members) noexcept {
  if (context.recovery() == nullptr || context.job().settings.takes_lock()) return false;
  // A quarter of the window is still the product of rate and round trip of most fabrics.
  return context.config().recovery == Recovers::asked ||
         4 * window_that_lasts(context, members, nullptr) >= context.job().stream_window();
}

bool Comm::is_group(proto::recovery::GroupKey group) const noexcept {
  return lasting() != nullptr && lasting()->is_group(group);
}

bool Comm::is_without_tree() const noexcept {
  const auto* group = lasting();
  return group != nullptr && !group->has_tree() && !group->current().has_left();
}

bool Comm::has_left_for_good(proto::recovery::GroupKey group) const noexcept {
  return lasting() != nullptr && lasting()->has_left(group);
}

std::optional<std::uint32_t> Comm::rank_of(WorldRank member) const noexcept {
  const auto found = std::ranges::find(world_ranks_, member);
  if (lasting() == nullptr || found == world_ranks_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - world_ranks_.begin());
}

// Peers: the group's messages for other members.

void Comm::send(std::uint32_t to, std::span<const std::byte> head, const Payload& data) {
  context_.recovery()->links().send(world_ranks_[to], head, data.bytes);
}

void Comm::drop(std::uint32_t peer, const Error& why) { context_.recovery()->links().drop(world_ranks_[peer], why); }

// The events that come from other members and from sharpd.

void Comm::hear_member(WorldRank from, std::span<const std::byte> frame, Time now) {
  if (const auto rank = rank_of(from)) lasting()->on_message(*rank, frame, now);
}

void Comm::lost_member(WorldRank peer, Time now) {
  if (const auto rank = rank_of(peer)) lasting()->on_link_lost(*rank, now);
}

void Comm::member_departed(proto::recovery::GroupKey group, WorldRank member, Time now) {
  if (const auto rank = rank_of(member)) lasting()->departed(group, *rank, now);
}

void Comm::member_died(WorldRank dead, Time now) {
  const auto rank = rank_of(dead);
  if (!rank || std::ranges::count(deaths_, *rank) != 0) return;
  deaths_.push_back(*rank);
  lasting()->dead(*rank, now);
  context_.watch(*this);
}

/// Another member's sharpd may not see a death that this one has been told of. The root of the epoch needs to know.
void Comm::tell_root_of_deaths() {
  const auto epoch = lasting()->epoch();
  if (epoch == 0 || (told_epoch_ == epoch && told_deaths_ == deaths_.size())) return;
  const std::size_t from = told_epoch_ == epoch ? told_deaths_ : 0;
  told_epoch_ = epoch;
  told_deaths_ = deaths_.size();
  const auto root = root_of(epoch, size_);
  if (root == rank_) return;
  for (std::size_t i = from; i < deaths_.size(); ++i)
    context_.recovery()->links().note(world_ranks_[root], MemberWord::died, number_of(world_ranks_[deaths_[i]]));
}

void Comm::run_group(Time now) {
  auto* group = lasting();
  if (group == nullptr) return;
  group->run(now);
  note_return();
  seek_tree(now);
  // The tree's verdict is not believed, but the death that it names is the manager's word.
  if (const auto& verdict = group->on_tree().verdict();
      verdict && verdict->body.reason == wire::TroubleReason::dead_rank && verdict->body.culprit < size_)
    member_died(world_ranks_[verdict->body.culprit], now);
  if (group->epoch() != 0 && !std::exchange(has_lost_tree_, true)) {
    // Queued messages read the users' buffers, and results under way are received there.
    context_.forget_borrowed();
    context_.listeners().remove(group->on_tree());
    const auto& link = link_of(channels_.front());
    const std::string why = link.closed() ? link.describe() : " (" + group->on_tree().why(names_by_host()) + ")";
    const bool is_news = rank_ == 0 && !(has_lost_links_ && group->is_changing());
    SUMAC_LOG(context_.log(), is_news ? LogLevel::warn : LogLevel::debug,
              "group {:x} has lost its tree{}: its {} members go on among themselves, more slowly",
              group->on_tree().config().group_id, why == " ()" ? "" : why, size_);
    context_.watch(*this);
  }
  if (group->epoch() == 0 && !group->has_tree() && !std::exchange(has_lost_links_, true))
    SUMAC_LOG(
        context_.log(), rank_ == 0 ? LogLevel::info : LogLevel::debug,
        "group {:x}: a node of its tree is gone, and the kernels go on: small operations notice nothing, and others "
        "wait for another tree",
        group->on_tree().config().group_id);
  tell_root_of_deaths();
}

}  // namespace sumac::client
