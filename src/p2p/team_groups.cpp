#include "p2p/team_groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace sumac::p2p {
namespace {

/// A group's exchange by the team's. Every rank of the team takes part, also one that is no member.
Result<std::vector<std::byte>> exchanged(const TeamConfig& team, const std::vector<int>& members,
                                         std::span<const std::byte> mine) {
  auto all = team.exchange(mine);
  if (!all) return tl::unexpected(all.error());
  std::vector<std::byte> blobs;
  for (const int rank : members) {
    const auto& one = (*all)[static_cast<std::size_t>(rank)];
    blobs.insert(blobs.end(), one.begin(), one.end());
  }
  return blobs;
}

Result<std::unique_ptr<Group>> group_of(const TeamConfig& team, const std::vector<int>& ranks) {
  const auto own = std::find(ranks.begin(), ranks.end(), team.ranks.rank);
  if (own == ranks.end()) {
    if (auto done = exchanged(team, {}, {}); !done) return tl::unexpected(done.error());
    return std::unique_ptr<Group>();
  }
  GroupConfig config;
  config.rank = static_cast<std::uint32_t>(own - ranks.begin());
  config.size = static_cast<std::uint32_t>(ranks.size());
  config.exchange = [&](std::span<const std::byte> mine) { return exchanged(team, ranks, mine); };
  config.reproducible = team.reproducible;
  config.connect_within = std::min(config.connect_within, team.connect_within);
  config.check = team.check;
  if (static_cast<int>(ranks.size()) == team.ranks.size()) config.messages = team.messages;
  config.host_name = team.host_name;
  // A rank that computes for an hour is not dead; whoever waits for it has a limit, and the kernel notices a dead machine.
  config.silent_after = std::chrono::hours(24 * 365);
  // The same variable as everywhere: on a machine with several networks the first one need not lead to the others.
  if (const char* device = std::getenv("SUMAC_NET_DEVICE")) config.transport.device = device;
  // `auto` takes what the tree's node offers, and here is none.
  const char* const transport = std::getenv("SUMAC_TRANSPORT");
  if (transport != nullptr && *transport != '\0' && std::string_view(transport) != "auto")
    config.transport.backend = transport;
  for (const int rank : ranks) config.names.push_back(team.ranks.name(rank));
  return Group::make(std::move(config));
}

}  // namespace

Result<std::unique_ptr<TeamGroups>> TeamGroups::make(const TeamConfig& team) {
  std::unique_ptr<TeamGroups> made(new TeamGroups);
  auto among_leaders = group_of(team, team.leaders);
  if (!among_leaders) return tl::unexpected(among_leaders.error());
  made->leaders_ = std::move(*among_leaders);
  if (static_cast<int>(team.leaders.size()) == team.ranks.size()) return made;
  std::vector<int> everyone(static_cast<std::size_t>(team.ranks.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  auto among_all = group_of(team, everyone);
  if (!among_all) return tl::unexpected(among_all.error());
  made->all_ = std::move(*among_all);
  return made;
}

/// Only the group of all ranks is moved by several threads.
std::unique_lock<std::mutex> TeamGroups::hold(const Group& group) const {
  return &group == &everyone() ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
}

bool TeamGroups::takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept {
  return everyone().takes(kind, bytes, fold);
}

std::string TeamGroups::why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return everyone().why_not(kind, bytes, fold);
}

std::string_view TeamGroups::algorithm(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return leaders_ ? leaders_->algorithm(kind, bytes, fold) : std::string_view();
}

bool TeamGroups::adds_canonically(coll::Kind kind) const noexcept { return everyone().adds_canonically(kind); }

coll::Across::Progress TeamGroups::noted(Group& group, Progress progress, void* request) {
  if (progress == Progress::pending) under_way_.emplace(request, &group);
  return progress;
}

coll::Across::Progress TeamGroups::start(const coll::Operation& operation, void*& request) {
  const auto held = hold(*leaders_);
  const Progress progress = leaders_->start(operation, request);
  return noted(*leaders_, progress, request);
}

coll::Across::Progress TeamGroups::start_direct(const coll::Operation& operation, void*& request) {
  const auto held = hold(everyone());
  const Progress progress = everyone().start_direct(operation, request);
  return noted(everyone(), progress, request);
}

coll::Across::Progress TeamGroups::ask(void* request, Progress (Group::*how)(void*)) {
  const auto found = under_way_.find(request);
  const auto held = hold(*found->second);
  const Progress progress = (found->second->*how)(request);
  if (progress != Progress::pending) under_way_.erase(found);
  return progress;
}

coll::Across::Progress TeamGroups::test(void* request) { return ask(request, &Group::test); }
/// The two groups have connections of their own, and an operation of either may have been looked at before.
coll::Across::Progress TeamGroups::peek(void* request) {
  return under_way_.find(request)->second == leaders_.get() ? ask(request, &Group::peek) : test(request);
}

void TeamGroups::let_go(void* request) {
  const auto found = under_way_.find(request);
  const auto held = hold(*found->second);
  found->second->let_go(request);
  under_way_.erase(found);
}

void TeamGroups::give_up(std::string_view why, int) {
  const std::lock_guard guard(lock_);
  break_because({Errc::lost, std::string(why)});
}

/// Blocks between two ranks, in the group of all, are never many at once.
void TeamGroups::cork() {
  if (!leaders_) return;
  const auto held = hold(*leaders_);
  leaders_->cork();
}

void TeamGroups::uncork() {
  if (!leaders_) return;
  const auto held = hold(*leaders_);
  leaders_->uncork();
}

/// It can sleep on one group only, so where both have something under way it does not sleep long.
coll::Across::Sleep TeamGroups::sleep(int us) {
  if (under_way_.empty()) return Sleep::impossible;
  Group* const group = under_way_.begin()->second;
  const bool is_alone =
      std::all_of(under_way_.begin(), under_way_.end(), [&](const auto& one) { return one.second == group; });
  const auto held = hold(*group);
  return group->sleep(is_alone ? us : std::min(us, 100));
}

void TeamGroups::break_because(const Error& why) {
  if (leaders_) leaders_->break_because(why);
  everyone().break_because(why);
}

bool TeamGroups::begin_to_leave() {
  if (!under_way_.empty()) return false;
  if (leaders_) leaders_->begin_to_leave();
  const std::lock_guard guard(lock_);
  if (everyone().messages() != nullptr) everyone().messages()->close();
  everyone().begin_to_leave();
  return true;
}

std::vector<int> TeamGroups::staying() {
  const std::lock_guard guard(lock_);
  const auto peers = everyone().staying();
  return {peers.begin(), peers.end()};
}

std::string_view TeamGroups::error() const noexcept {
  if (leaders_ && !leaders_->error().empty()) return leaders_->error();
  return everyone().error();
}

}  // namespace sumac::p2p
