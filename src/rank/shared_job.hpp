#pragma once
// The tree's job of this process, which its teams share: begun by the first team whose ranks ask for the tree, ended with
// the last one. HCOLL_ENABLE_SHARP says whether they ask; unset, they do where every host has a sharpd already.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "p2p/team_groups.hpp"
#include "rank/exchange.hpp"
#include "rank/local_job.hpp"
#include "rank/members.hpp"
#include "rank/settings.h"
#include "team/team.h"

namespace sumac::rank {

class Job {
 public:
  struct Found {
    std::shared_ptr<Job> job;
    std::string why_not{};  ///< If there is none: the reason, as a clause for people.
  };
  /// Collective over the team; all ranks get a job or none does. Errc::invalid: the ranks ask for different things, or
  /// must have a tree (HCOLL_ENABLE_SHARP=2 and more) and there is none; others: the store.
  static Result<Found> find(Exchange& exchange, const Members& members, const sumac_team_options_t* options);

  /// Takes down the daemons that were started for it. If others need them, or this rank has begun the job for all, it first
  /// waits until the groups of its teams have been left by their other members too, but not for ever.
  ~Job();
  Job(const Job&) = delete;

  /// A team is over here. What connects its ranks is kept until it is over elsewhere, for the names of those that the end
  /// waits for.
  void keep(std::shared_ptr<p2p::TeamGroups> hosts, const Members& members);

  /// A caller who can be told of Ctrl-C ends a team: it ends the wait of ~Job() too.
  void end_at_ctrl_c() noexcept { ends_at_ctrl_c_.store(true, std::memory_order_relaxed); }

  const hcoll_settings& settings() const noexcept { return settings_; }

 private:
  explicit Job(const hcoll_settings& settings);
  Result<std::string> begin(Exchange& exchange, const Members& members, const sumac_team_options_t* options);

  /// A team that is over here.
  struct Left {
    std::shared_ptr<p2p::TeamGroups> hosts;
    Members members;
  };
  void say_who_stays();
  bool is_given_up() const;

  hcoll_settings settings_;
  LocalJob daemons_;
  std::string own_name_;
  unsigned long mark_;  ///< It marks the process that made the job.
  std::atomic<bool> ends_at_ctrl_c_{false};
  std::mutex lock_;
  std::vector<Left> left_;  ///< Guarded by the lock.
};

}  // namespace sumac::rank
