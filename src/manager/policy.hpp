#pragma once
// Who may have a job at all: limits of one user, and reservations of hosts. Pure; each refusal names the limit and what to do.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "manager/quota.hpp"

namespace sumac::manager {

/// What one user's jobs may hold together; uid 0 is bound by it like anybody.
struct UserLimits {
  std::uint32_t jobs_max = 0;             ///< 0: no limit.
  std::uint32_t share_max_percent = 100;  ///< Of OSTs and of groups.
};

struct UserUsage {
  std::uint32_t jobs = 0, osts = 0, groups = 0;
};

/// May this user have `grant` beside what he holds? Errc::exhausted.
Result<> check_user(const UserLimits& limits, const Capacity& capacity, const UserUsage& held, std::uint32_t uid,
                    const Allocation& grant);

/// Hosts set aside under a name. With reservation mode on, a job runs only inside one reservation.
class Reservations {
 public:
  Reservations() = default;  ///< Mode off: anybody anywhere.

  /// Mode on. One reservation a line, `#` starts a comment:  NAME [uid=N]: HOST HOST ...
  /// Errc::invalid with the line: no name, no host, a host that is named twice, a name that is there already.
  static Result<Reservations> parse(std::string_view text);

  bool on() const noexcept { return on_; }
  std::size_t count() const noexcept { return all_.size(); }
  /// The name of the reservation that covers these hosts for this user; empty with the mode off. Errc::denied.
  Result<std::string> covering(const std::vector<std::string>& hosts, std::uint32_t uid) const;

 private:
  struct Reservation {
    std::string name;
    std::set<std::string, std::less<>> hosts;
    std::int64_t uid = -1;  ///< -1: anybody.
  };
  bool on_ = false;
  std::vector<Reservation> all_;
};

}  // namespace sumac::manager
