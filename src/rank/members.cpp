// Two ranks are on one host if they can share memory (machine/memory_host.hpp).
#include "rank/members.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/c_text.hpp"
#include "base/host_name.hpp"
#include "base/listed.hpp"
#include "base/text.hpp"
#include "machine/discover.hpp"
#include "machine/memory_host.hpp"
#include "rank/words.hpp"

namespace sumac::rank {
namespace {

/// The first bytes are the version, and stay so in every version: a rank can name a version that it does not know.
struct Greeting {
  char version[32];
  char host[64];
  std::uint64_t host_hash;
  shm::ProcessName process;
  sumac_place_t place;
};
static_assert(std::is_trivially_copyable_v<Greeting>);

Greeting own_greeting() {
  Greeting own;
  std::memset(static_cast<void*>(&own), 0, sizeof own);
  copy_text(SUMAC_PACKAGE_VERSION, own.version, sizeof own.version);
  copy_text(host_name(), own.host, sizeof own.host);
  own.host_hash = machine::memory_host();
  own.process = shm::this_process();
  own.place = {-1, -1, -1, -1};
  // A machine that cannot be read counts as one on which all ranks are close to each other.
  if (const auto machine = machine::discover(machine::Reader::sysfs, machine::own_affinity())) {
    const auto place = machine::own_place(*machine, 0, 0);
    own.place = {-1, place.socket, place.numa, place.core};
  }
  return own;
}

/// Distinguishes a greeting of another version from bytes that are none.
bool is_version(std::string_view text) {
  const auto may_be = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '+'; };
  return !text.empty() && text.front() >= '0' && text.front() <= '9' && std::ranges::all_of(text, may_be);
}

}  // namespace

int Members::index_here() const noexcept {
  return static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());
}

std::string Members::named(const std::vector<int>& ranks) const {
  std::vector<std::string> found;
  for (const int which : ranks) found.push_back(name(which));
  return listed(found);
}

Result<Members> meet(Exchange& exchange, std::string_view product) {
  const Greeting own = own_greeting();
  auto greetings = exchange.allgather(bytes_of(own));
  if (!greetings) return tl::unexpected(greetings.error());
  Members members;
  members.rank = exchange.rank();
  std::map<std::uint64_t, int> hosts;
  for (int rank = 0; rank < exchange.size(); ++rank) {
    const Bytes& bytes = (*greetings)[static_cast<std::size_t>(rank)];
    Greeting greeting;
    std::memset(static_cast<void*>(&greeting), 0, sizeof greeting);
    std::memcpy(static_cast<void*>(&greeting), bytes.data(), std::min(bytes.size(), sizeof greeting));
    greeting.version[sizeof greeting.version - 1] = greeting.host[sizeof greeting.host - 1] = '\0';
    if (!is_version(greeting.version))
      return fail(Errc::invalid, "rank {} sent no greeting; {}", rank, exchange.other_job());
    if (bytes.size() != sizeof greeting || std::strcmp(greeting.version, own.version) != 0)
      return fail(Errc::invalid, "rank {} has {} {} and rank {} has {}: install the same version on every host", rank,
                  product, greeting.version, members.rank, own.version);
    const auto at = hosts.try_emplace(greeting.host_hash, static_cast<int>(hosts.size())).first;
    greeting.place.host = at->second;
    members.all.push_back({printable(greeting.host), greeting.process, greeting.place});
    members.names.push_back(fmt::format("rank {} (host {})", rank, members.all.back().host));
    if (greeting.host_hash == own.host_hash) members.here.push_back(rank);
  }
  members.hosts = static_cast<int>(hosts.size());
  return members;
}

Members subset(const Members& all, const std::vector<int>& ranks, int rank) {
  Members some;
  some.rank = rank;
  std::map<int, int> hosts;
  const int own_host = all.all[static_cast<std::size_t>(ranks[static_cast<std::size_t>(rank)])].place.host;
  for (const int one : ranks) {
    Member member = all.all[static_cast<std::size_t>(one)];
    const int index = static_cast<int>(some.all.size());
    if (member.place.host == own_host) some.here.push_back(index);
    member.place.host = hosts.try_emplace(member.place.host, static_cast<int>(hosts.size())).first->second;
    some.names.push_back(fmt::format("rank {} (host {})", index, member.host));
    some.all.push_back(std::move(member));
  }
  some.hosts = static_cast<int>(hosts.size());
  return some;
}

}  // namespace sumac::rank
