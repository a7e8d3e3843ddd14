#include "bindings/python/core/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace sumac::python {
namespace {

using Blob = std::vector<std::byte>;

/// A group's exchange over the team's store. Every rank of the team takes part, also one that is no member.
Result<Blob> exchanged(Exchange& exchange, const std::vector<int>& members, std::span<const std::byte> mine) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(mine.data());
  auto all = exchange.allgather(Bytes(first, first + mine.size()));
  if (!all) return tl::unexpected(all.error());
  Blob blobs;
  for (const int rank : members) {
    const Bytes& one = (*all)[static_cast<std::size_t>(rank)];
    const auto* begin = reinterpret_cast<const std::byte*>(one.data());
    blobs.insert(blobs.end(), begin, begin + one.size());
  }
  return blobs;
}

Result<std::unique_ptr<p2p::Group>> group_of(Exchange& exchange, const Members& members, const std::vector<int>& ranks,
                                             bool is_reproducible, p2p::MessageEvents* messages) {
  const auto own = std::find(ranks.begin(), ranks.end(), members.rank);
  if (own == ranks.end()) {
    if (auto done = exchanged(exchange, {}, {}); !done) return tl::unexpected(done.error());
    return std::unique_ptr<p2p::Group>();
  }
  p2p::GroupConfig config;
  config.rank = static_cast<std::uint32_t>(own - ranks.begin());
  config.size = static_cast<std::uint32_t>(ranks.size());
  config.exchange = [&](std::span<const std::byte> mine) { return exchanged(exchange, ranks, mine); };
  config.reproducible = is_reproducible;
  config.connect_within = std::min(config.connect_within, std::chrono::ceil<Millis>(exchange.left()));
  config.check = [&exchange] { return exchange.check(); };
  if (ranks.size() == members.all.size()) config.messages = messages;
  config.host_name = members.all[static_cast<std::size_t>(members.rank)].host;
  // A rank that computes for an hour is not dead; whoever waits for it has a limit, and the kernel notices a dead machine.
  config.silent_after = std::chrono::hours(24 * 365);
  // The same variable as everywhere: on a machine with several networks the first one need not lead to the others.
  if (const char* device = std::getenv("SUMAC_NET_DEVICE")) config.transport.device = device;
  for (const int rank : ranks) config.names.push_back(members.name(rank));
  return p2p::Group::make(std::move(config));
}

}  // namespace

Result<std::unique_ptr<Hosts>> Hosts::make(Exchange& exchange, const Members& members, const std::vector<int>& leaders,
                                           bool is_reproducible, p2p::MessageEvents* messages) {
  std::unique_ptr<Hosts> made(new Hosts);
  auto among_leaders = group_of(exchange, members, leaders, is_reproducible, messages);
  if (!among_leaders) return tl::unexpected(among_leaders.error());
  made->leaders_ = std::move(*among_leaders);
  if (static_cast<int>(leaders.size()) == members.size()) return made;
  std::vector<int> everyone(static_cast<std::size_t>(members.size()));
  for (int rank = 0; rank < members.size(); ++rank) everyone[static_cast<std::size_t>(rank)] = rank;
  auto among_all = group_of(exchange, members, everyone, is_reproducible, messages);
  if (!among_all) return tl::unexpected(among_all.error());
  made->all_ = std::move(*among_all);
  return made;
}

/// Only the group of all ranks is moved by several threads.
std::unique_lock<std::mutex> Hosts::hold(const p2p::Group& group) const {
  return &group == &everyone() ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
}

bool Hosts::takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept {
  return everyone().takes(kind, bytes, fold);
}

std::string Hosts::why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return everyone().why_not(kind, bytes, fold);
}

std::string_view Hosts::algorithm(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return leaders_ ? leaders_->algorithm(kind, bytes, fold) : std::string_view();
}

bool Hosts::adds_canonically(coll::Kind kind) const noexcept { return everyone().adds_canonically(kind); }

coll::Across::Progress Hosts::noted(p2p::Group& group, Progress progress, void* request) {
  if (progress == Progress::pending) under_way_.emplace(request, &group);
  return progress;
}

coll::Across::Progress Hosts::start(const coll::Operation& operation, void*& request) {
  const auto held = hold(*leaders_);
  const Progress progress = leaders_->start(operation, request);
  return noted(*leaders_, progress, request);
}

coll::Across::Progress Hosts::start_direct(const coll::Operation& operation, void*& request) {
  const auto held = hold(everyone());
  const Progress progress = everyone().start_direct(operation, request);
  return noted(everyone(), progress, request);
}

coll::Across::Progress Hosts::ask(void* request, Progress (p2p::Group::*how)(void*)) {
  const auto found = under_way_.find(request);
  const auto held = hold(*found->second);
  const Progress progress = (found->second->*how)(request);
  if (progress != Progress::pending) under_way_.erase(found);
  return progress;
}

coll::Across::Progress Hosts::test(void* request) { return ask(request, &p2p::Group::test); }
/// The two groups have connections of their own, and an operation of either may have been looked at before.
coll::Across::Progress Hosts::peek(void* request) {
  return under_way_.find(request)->second == leaders_.get() ? ask(request, &p2p::Group::peek) : test(request);
}

void Hosts::let_go(void* request) {
  const auto found = under_way_.find(request);
  const auto held = hold(*found->second);
  found->second->let_go(request);
  under_way_.erase(found);
}

/// It can sleep on one group only, so where both have something under way it does not sleep long.
coll::Across::Sleep Hosts::sleep(int us) {
  if (under_way_.empty()) return Sleep::impossible;
  p2p::Group* const group = under_way_.begin()->second;
  const bool is_alone =
      std::all_of(under_way_.begin(), under_way_.end(), [&](const auto& one) { return one.second == group; });
  const auto held = hold(*group);
  return group->sleep(is_alone ? us : std::min(us, 100));
}

void Hosts::break_because(const Error& why) {
  if (leaders_) leaders_->break_because(why);
  everyone().break_because(why);
}

bool Hosts::begin_to_leave() {
  if (!under_way_.empty()) return false;
  if (leaders_) leaders_->begin_to_leave();
  const std::lock_guard guard(lock_);
  if (everyone().messages() != nullptr) everyone().messages()->close();
  everyone().begin_to_leave();
  return true;
}

std::vector<int> Hosts::staying() {
  const std::lock_guard guard(lock_);
  const auto peers = everyone().staying();
  return {peers.begin(), peers.end()};
}

std::string_view Hosts::error() const noexcept {
  if (leaders_ && !leaders_->error().empty()) return leaders_->error();
  return everyone().error();
}

}  // namespace sumac::python
