#pragma once
// sharpd's protocol with the manager, without its socket: one stream, which may break and be opened again while jobs
// run.
//
// A job stays held while the manager is away: sharpd renews its lease as soon as the manager is back. A request without
// an answer is sent again with the same ticket, which the manager treats as the same begin. A job that ended meanwhile
// is missing from the next registration, and so the manager learns of its end.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "control/control.pb.h"
#include "hostd/session.hpp"

namespace sumac::hostd {

struct UplinkRules {
  std::string host;
  std::string manager;                 ///< The manager's address, for people.
  std::uint64_t life = 0;              ///< The number that this process drew at its start.
  Duration timeout = Seconds(15);      ///< A manager that is silent about one job for this long is given up.
  Duration retry = Millis(500);        ///< The pause between attempts to reach the manager.
  Duration deaths_told = Seconds(30);  ///< A manager that comes back later is not told of a death.
  /// A manager that was reachable may be restarting: a new begin waits this long for it.
  Duration away_max = Seconds(5);
};

/// Opens the stream with its first message and replaces an older stream.
struct OpenStream {
  control::v1::HostUp first;
};
struct SendUp {
  control::v1::HostUp message;
};
/// An answer to the session that holds the ticket: either `lost`, with the reason in `why`, or the manager's message
/// `down`.
struct Answer {
  Ticket ticket = 0;
  bool lost = false;
  control::v1::HostDown down;
  Error why;
};
struct Note {
  bool warn = false;
  std::string text;
};
/// The manager says that a rank of a job with ranks on this host has died.
struct TellMembers {
  control::v1::RankDied word;
};
/// A job, which may have ranks on this host, has outlived its trees and has others.
struct TellTrees {
  control::v1::JobTrees word;
};
using UplinkAction = std::variant<OpenStream, SendUp, Answer, Note, TellMembers, TellTrees>;
using UplinkActions = std::vector<UplinkAction>;

class Uplink {
 public:
  explicit Uplink(UplinkRules rules) : rules_(std::move(rules)) {}

  void set_timeout(Duration timeout) { rules_.timeout = timeout; }

  /// Call it before anything else, for a job that the former process of this life holds. The first message to the
  /// manager names the job.
  void adopt(Ticket ticket, JobId job_id);
  UplinkActions begin(Ticket ticket, control::v1::JobBegin begin, Time now);
  /// The owner ended the job. The answer comes from the manager, or at once while the manager is away.
  UplinkActions end(Ticket ticket, Time now);
  /// Gives up a job whose owner is gone, so that no answer is needed.
  UplinkActions drop(Ticket ticket, const std::string& why, Time now);

  /// A rank's process ended without leaving its job. The report is sent again to a manager that was away meanwhile; a
  /// duplicate does no harm.
  /// `page`: what it did at last (src/recorder), packed; empty: nothing is known.
  UplinkActions rank_died(control::v1::RankDied word, Time now, std::string page = {});
  struct Death {
    Time when{};
    control::v1::RankDied word;
    std::string page;  ///< The latest deaths alone have one.
  };
  const std::deque<Death>& deaths() const noexcept { return deaths_; }
  /// Those of the job's ranks on this host and on others, for a rank that comes later.
  std::vector<control::v1::RankDied> deaths_of(JobId job_id) const;

  /// The manager learns the address at which this sharpd answers Inspect, now and at each registration.
  UplinkActions inspectable(std::string address);
  /// A process of this host is a rank of the job. The manager is asked where the job's other daemons are, until it
  /// answers: later it may be dead.
  UplinkActions joined(JobId job_id, const Secret& key);
  void left(JobId job_id);
  /// The daemons that the manager named; null: no process here is a rank of the job, or the manager has not answered.
  const std::vector<control::v1::JobDaemon>* daemons_of(JobId job_id) const;

  /// A rank cannot use the job's trees. A manager that is away is not told: the rank asks again.
  UplinkActions want_trees(JobId job_id, const Secret& key, std::uint32_t times_again) const;
  /// The trees that the manager has given again to the job, for a rank that comes later; null: none.
  const control::v1::JobTrees* trees_of(JobId job_id) const;

  UplinkActions heard(const control::v1::HostDown& down, Time now);
  UplinkActions stream_over(const Error& why, Time now);
  UplinkActions tick(Time now);
  Time next_deadline() const;

  /// True while the manager knows this sharpd and has its host in the fabric.
  bool registered() const noexcept { return state_ == State::up && in_fabric_; }
  std::size_t jobs() const noexcept { return jobs_.size(); }

 private:
  enum class State { closed, opening, up };
  enum class Phase { asked, held, ending };
  struct Job {
    control::v1::JobBegin begin;
    Phase phase = Phase::asked;
    bool sent = false;  ///< True if the manager may know of the job.
    Time deadline{};    ///< The time limit in the phases asked and ending.
  };

  /// A job with ranks on this host.
  struct Joined {
    Secret key{};
    std::size_t ranks = 0;
    std::optional<std::vector<control::v1::JobDaemon>> daemons;
  };

  void ask_for_daemons(UplinkActions& out, JobId job_id, const Joined& job) const;
  UplinkActions open();
  UplinkActions registered(const control::v1::HostRegistered& who, Time now);
  void send_begin(UplinkActions& out, Job& job, Time now);
  void send_end(UplinkActions& out, Ticket ticket, const Job& job, const std::string& why);
  static Answer ended(Ticket ticket);
  std::string silent() const;

  UplinkRules rules_;
  State state_ = State::closed;
  bool in_fabric_ = true;
  std::set<std::string> told_;  ///< The reasons of this absence of the manager that the log has.
  Time retry_at_{};             ///< The time of the next attempt to connect; the first one is due at once.
  Time away_until_{};           ///< Until then, new begins wait for a manager that was reachable before.
  Duration renew_every_ = Seconds(2);
  Time renew_at_ = kNever;
  std::map<Ticket, Job> jobs_;
  std::string inspectable_;
  std::map<JobId, Joined> joined_;
  std::deque<Death> deaths_;  ///< The most recent deaths of this host's ranks.
  /// The manager's word of deaths on other hosts, or before this process began.
  std::deque<control::v1::RankDied> elsewhere_;
  std::deque<control::v1::JobTrees> trees_;  ///< The latest of each job.
};

}  // namespace sumac::hostd
