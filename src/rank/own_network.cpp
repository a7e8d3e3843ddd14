#include "rank/own_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <span>
#include <string>

#include "base/host_name.hpp"
#include "rank/say.h"

namespace sumac::rank {
namespace {

using Blobs = std::vector<std::vector<std::byte>>;

/// Collects the blob of each rank. They differ in length, because a rank that is in no group has an empty one.
Result<Blobs> allgather(const sumac_communicator& team, std::span<const std::byte> mine) {
  std::int64_t shortest = -static_cast<std::int64_t>(mine.size());  // Its negative is the longest.
  if (team.min(team.context, &shortest, 1) != 0) return fail(Errc::io, "the MPI could not compare lengths");
  const std::uint64_t own_bytes = mine.size();
  const auto each = sizeof own_bytes + static_cast<std::size_t>(-shortest), size = static_cast<std::size_t>(team.size);
  if (each * size > INT_MAX) return fail(Errc::invalid, "{} ranks have more to say than an int counts", size);
  std::vector<std::byte> own(each), all(each * size);
  std::memcpy(own.data(), &own_bytes, sizeof own_bytes);
  std::copy(mine.begin(), mine.end(), own.begin() + sizeof own_bytes);
  if (team.gather(team.context, 0, own.data(), all.data(), static_cast<int>(each)) != 0 ||
      team.bcast(team.context, all.data(), static_cast<int>(all.size()), 0) != 0)
    return fail(Errc::io, "the MPI could not exchange addresses");
  Blobs blobs;
  for (auto at = all.cbegin(); at != all.cend(); at += static_cast<std::ptrdiff_t>(each)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, &*at, sizeof bytes);
    const auto begin = at + sizeof bytes;
    blobs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(bytes, each - sizeof bytes)));
  }
  return blobs;
}

Result<std::unique_ptr<p2p::TeamGroups>> connect(const sumac_communicator& team, const std::vector<int>& leaders,
                                                 bool reproducible) {
  const std::string host = host_name();
  // A rank that fails takes part in all exchanges: the others wait in them.
  const int exchanges = static_cast<int>(leaders.size()) == team.size ? 1 : 2;
  int done = 0;
  const auto exchange = [&](std::span<const std::byte> mine) {
    ++done;
    return allgather(team, mine);
  };
  auto hosts = allgather(team, std::as_bytes(std::span(host)));
  if (!hosts) return tl::unexpected(hosts.error());
  p2p::Ranks ranks{.rank = team.rank, .here = {}, .names = {}};
  for (const auto& name : *hosts)
    ranks.names.push_back(fmt::format("rank {} (host {})", ranks.names.size(),
                                      std::string_view(reinterpret_cast<const char*>(name.data()), name.size())));
  auto made = p2p::TeamGroups::make(
      {.ranks = ranks, .leaders = leaders, .host_name = host, .reproducible = reproducible, .exchange = exchange});
  while (done < exchanges)
    if (auto spared = exchange({}); !spared) return tl::unexpected(spared.error());
  return made;
}

}  // namespace

std::unique_ptr<p2p::TeamGroups> connect_ranks(const sumac_communicator& team, const std::vector<int>& leaders,
                                               bool reproducible) {
  auto made = connect(team, leaders, reproducible);
  std::int64_t all_have = made ? 1 : 0;
  if (team.min(team.context, &all_have, 1) != 0) all_have = 0;
  if (!made)
    SUMAC_SAY("SUMAC_ACROSS=p2p is left out for %s, the MPI carries its data between hosts: %s",
              team.name != nullptr ? team.name : "a communicator", made.error().context.c_str());
  return all_have != 0 ? *std::move(made) : nullptr;
}

}  // namespace sumac::rank
