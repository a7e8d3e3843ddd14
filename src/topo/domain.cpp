#include "topo/domain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sumac::topo {
namespace {

using Ranks = std::vector<std::size_t>;

/// The ranks of each host, in the order of the hosts' lowest ranks.
std::vector<Ranks> ranks_by_host(std::span<const Place> places) {
  std::vector<Ranks> hosts;
  std::map<std::int32_t, std::size_t> numbers;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    auto number = hosts.size();
    if (places[rank].host != kUnknown) number = numbers.emplace(places[rank].host, number).first->second;
    if (number == hosts.size()) hosts.emplace_back();
    hosts[number].push_back(rank);
  }
  return hosts;
}

template <auto Member>
bool all_known(std::span<const Place> places, const Ranks& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](std::size_t rank) { return places[rank].*Member != kUnknown; });
}

/// Are there more nodes than sockets, each on one socket?
bool nodes_divide_sockets(std::span<const Place> places, const Ranks& ranks) {
  std::map<std::int32_t, std::int32_t> socket_of;  // [node]
  std::set<std::int32_t> sockets;
  for (const std::size_t rank : ranks) {
    const Place& place = places[rank];
    sockets.insert(place.socket);
    if (socket_of.emplace(place.numa, place.socket).first->second != place.socket) return false;
  }
  return socket_of.size() > sockets.size();
}

DomainKind kind_of(std::span<const Place> places, const Ranks& ranks) {
  const bool has_nodes = all_known<&Place::numa>(places, ranks);
  if (!all_known<&Place::socket>(places, ranks)) return has_nodes ? DomainKind::numa : DomainKind::host;
  return has_nodes && nodes_divide_sockets(places, ranks) ? DomainKind::numa : DomainKind::socket;
}

/// The number of domains of one host.
std::size_t count_of(const Domains& domains, const Ranks& ranks) {
  std::int32_t last = 0;  // They are numbered from 0 without gaps.
  for (const std::size_t rank : ranks) last = std::max(last, domains.of[rank]);
  return static_cast<std::size_t>(last) + 1;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The reason why no host of the team is cut.
std::string why_not_cut(const Domains& domains, std::span<const Place> places, std::size_t hosts) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (domains.kind[rank] == DomainKind::host && places[rank].socket == kUnknown)
      return fmt::format("rank {} is bound to no socket{}", rank,
                         places[rank].numa == kUnknown ? " and no NUMA node" : "");
  return fmt::format("{} are on one {}", hosts == 1 ? "all ranks" : "the ranks of each host",
                     domains.kind.front() == DomainKind::numa ? "NUMA node" : "socket");
}

}  // namespace

Domains find_domains(std::span<const Place> places) {
  Domains domains{std::vector<std::int32_t>(places.size(), 0), std::vector(places.size(), DomainKind::host)};
  for (const Ranks& ranks : ranks_by_host(places)) {
    const DomainKind kind = kind_of(places, ranks);
    const auto own_number = [&](std::size_t rank) {
      return kind == DomainKind::host ? 0 : kind == DomainKind::numa ? places[rank].numa : places[rank].socket;
    };
    std::map<std::int32_t, std::int32_t> numbers;
    for (const std::size_t rank : ranks) numbers[own_number(rank)] = 0;
    std::int32_t next = 0;
    for (auto& [own, number] : numbers) number = next++;
    for (const std::size_t rank : ranks) {
      domains.of[rank] = numbers[own_number(rank)];
      domains.kind[rank] = kind;
    }
  }
  return domains;
}

int count(const Domains& domains, std::span<const Place> places) {
  std::size_t all = 0;
  for (const Ranks& ranks : ranks_by_host(places)) all += count_of(domains, ranks);
  return static_cast<int>(all);
}

std::string describe(const Domains& domains, std::span<const Place> places) {
  const auto hosts = ranks_by_host(places);
  std::size_t uncut = 0;
  std::map<DomainKind, std::pair<std::size_t, std::size_t>> cut;  // [kind]: hosts and domains
  for (const Ranks& ranks : hosts) {
    const std::size_t parts = count_of(domains, ranks);
    if (parts == 1) {
      ++uncut;
      continue;
    }
    auto& [host_count, domain_count] = cut[domains.kind[ranks.front()]];
    ++host_count;
    domain_count += parts;
  }
  if (cut.empty()) return "not cut: " + why_not_cut(domains, places, hosts.size());
  std::string text = "cut";
  for (const auto& [kind, counts] : cut) {
    text += fmt::format("{} by {}: {}", text == "cut" ? "" : ";", kind == DomainKind::numa ? "NUMA node" : "socket",
                        counted(counts.second, "domain"));
    if (hosts.size() > 1) text += " on " + counted(counts.first, "host");
  }
  if (uncut > 0) text += "; not cut: " + counted(uncut, "host");
  return text;
}

}  // namespace sumac::topo
