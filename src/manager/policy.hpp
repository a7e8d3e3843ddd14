#pragma once
// Decides whether a user may have a job at all: limits of one user, and reservations of hosts. It is pure; each refusal
// names the limit and the remedy.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

/// The limits for all jobs of one user together; they bind uid 0 as well.
struct UserLimits {
  std::uint32_t jobs_max = 0;  ///< The most jobs at once; 0 means no limit.
  /// The most that one user may hold, as a percentage of the OSTs and of the groups.
  std::uint32_t share_max_percent = 100;
};

struct UserUsage {
  std::uint32_t jobs = 0, osts = 0, groups = 0;
};

/// Returns Errc::exhausted if this user may not have `grant` in addition to `held`.
Result<> check_user(const UserLimits& limits, const Capacity& capacity, const UserUsage& held, std::uint32_t uid,
                    const wire::Quota& grant);

/// Hosts set aside under a name. With reservation mode on, a job runs only inside one reservation.
class Reservations {
 public:
  Reservations() = default;  ///< Turns the mode off: any user may run on any host.

  /// Turns the mode on. The text has one reservation per line, and `#` starts a comment:  NAME [uid=N]: HOST HOST ...
  /// Returns Errc::invalid with the line if a name or the hosts are missing, a host appears twice, or a name is taken.
  static Result<Reservations> parse(std::string_view text);

  bool on() const noexcept { return on_; }
  std::size_t count() const noexcept { return all_.size(); }
  /// Returns the name of the reservation that covers these hosts for this user; empty with the mode off. Returns
  /// Errc::denied if none does.
  Result<std::string> covering(const std::vector<std::string>& hosts, std::uint32_t uid) const;

 private:
  struct Reservation {
    std::string name;
    std::set<std::string, std::less<>> hosts;
    std::int64_t uid = -1;  ///< The only user who may run there; -1 means any user.
  };
  bool on_ = false;
  std::vector<Reservation> all_;
};

}  // namespace sumac::manager
