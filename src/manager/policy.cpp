#include "manager/policy.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.hpp"

namespace sumac::manager {
namespace {

constexpr std::string_view kSpace = " \t\r";

/// Removes the next word from the front and returns it; empty at the end.
std::string_view next_word(std::string_view& text) {
  text = trimmed(text);
  const auto word = text.substr(0, text.find_first_of(kSpace));
  text.remove_prefix(word.size());
  return word;
}

Result<> within_share(const char* what, const char* variable, std::uint32_t uid, const UserLimits& limits,
                      std::uint32_t capacity, std::uint32_t held, std::uint32_t asked) {
  const auto bound = static_cast<std::uint32_t>(std::uint64_t{capacity} * limits.share_max_percent / 100);
  if (std::uint64_t{held} + asked <= bound) return {};
  return fail(Errc::exhausted,
              "{} {} asked, user {} holds {} and may hold {} ({} % of {}): wait for a job of that user to end, set {} "
              "lower, or have SUMAC_AM_USER_SHARE_MAX_PERCENT raised at sharp_am",
              asked, what, uid, held, bound, limits.share_max_percent, capacity, variable);
}

}  // namespace

Result<> check_user(const UserLimits& limits, const Capacity& capacity, const UserUsage& held, std::uint32_t uid,
                    const wire::Quota& grant) {
  if (limits.jobs_max != 0 && held.jobs >= limits.jobs_max)
    return fail(Errc::exhausted,
                "user {} runs {} jobs, the limit is {}: wait for one to end, or have SUMAC_AM_USER_JOBS_MAX raised at "
                "sharp_am",
                uid, held.jobs, limits.jobs_max);
  if (auto osts = within_share("OSTs", "SHARP_COLL_JOB_QUOTA_OSTS", uid, limits, capacity.osts, held.osts, grant.osts);
      !osts)
    return osts;
  return within_share("groups", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS", uid, limits, capacity.groups, held.groups,
                      grant.max_groups);
}

Result<Reservations> Reservations::parse(std::string_view text) {
  Reservations all;
  all.on_ = true;
  std::map<std::string, std::string, std::less<>> taken;  // Maps a host to its reservation.
  for (unsigned number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos)
      return fail(Errc::invalid, "line {}: no colon: write NAME [uid=N]: HOST HOST ...", number);
    auto head = line.substr(0, colon), hosts = line.substr(colon + 1);
    Reservation one;
    one.name = next_word(head);
    if (one.name.empty()) return fail(Errc::invalid, "line {}: no name in front of the colon", number);
    for (const auto& other : all.all_)
      if (other.name == one.name)
        return fail(Errc::invalid, "line {}: a reservation {} is there already", number, one.name);
    if (auto option = next_word(head); !option.empty()) {
      const auto value = option.starts_with("uid=") ? option.substr(4) : std::string_view{};
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), one.uid);
      if (value.empty() || error != std::errc{} || end != value.data() + value.size() || one.uid < 0 ||
          one.uid > 0xFFFFFFFFLL || !trimmed(head).empty())
        return fail(Errc::invalid, "line {}: only uid=N may follow a reservation's name, not '{:.40}'", number, option);
    }
    while (true) {
      const auto host = next_word(hosts);
      if (host.empty()) break;
      if (const auto [other, fresh] = taken.emplace(host, one.name); !fresh)
        return fail(Errc::invalid, "line {}: host {:.64} is named twice (reservation {})", number, host, other->second);
      one.hosts.emplace(host);
    }
    if (one.hosts.empty()) return fail(Errc::invalid, "line {}: reservation {} names no host", number, one.name);
    all.all_.push_back(std::move(one));
  }
  return all;
}

Result<std::string> Reservations::covering(const std::vector<std::string>& hosts, std::uint32_t uid) const {
  if (!on_ || hosts.empty()) return std::string{};
  const Reservation* first = nullptr;
  for (const auto& one : all_)
    if (one.hosts.contains(hosts.front())) first = &one;
  if (first == nullptr)
    return fail(Errc::denied,
                "No reservation: no reservation names host {:.64}: have it added to the reservations file of sharp_am",
                hosts.front());
  for (const auto& host : hosts)
    if (!first->hosts.contains(host))
      return fail(Errc::denied,
                  "No reservation: host {:.64} is not in reservation {}, which has the job's first host: run on its "
                  "hosts only, or have the host added to the reservations file of sharp_am",
                  host, first->name);
  if (first->uid >= 0 && first->uid != std::int64_t{uid})
    return fail(Errc::denied, "No reservation: reservation {} belongs to user {}, the job to user {}", first->name,
                first->uid, uid);
  return first->name;
}

}  // namespace sumac::manager
