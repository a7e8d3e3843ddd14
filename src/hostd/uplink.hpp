#pragma once
// sharpd's conversation with the manager, without its socket: one stream, which may break and come back while jobs run.
//
// A job that is held stays held while the manager is away: sharpd renews its lease as soon as it is back. What was asked and not
// answered is asked again with the same ticket, which the manager takes for the same begin. What ended meanwhile is told by not
// being named when the stream registers again.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "control/control.pb.h"
#include "hostd/session.hpp"

namespace sumac::hostd {

/// Differs from that of the process before, and is told to nobody but the manager: who knows it speaks for the jobs of this process.
std::uint64_t draw_life();

struct UplinkRules {
  std::string host;
  std::string manager;                 ///< For people: where it is.
  std::uint64_t life = 0;              ///< Drawn at the start of this process.
  Duration timeout = Seconds(15);      ///< A manager silent for so long about one job is given up.
  Duration retry = Millis(500);        ///< Between attempts to reach it.
  Duration deaths_kept = Seconds(30);  ///< For a manager that comes back.
  Duration away_max = Seconds(5);  ///< A manager that was there may be restarting: a new begin waits so long for it.
};

/// Opens the stream with its first message; an older one is over.
struct OpenStream {
  control::v1::HostUp first;
};
struct SendUp {
  control::v1::HostUp message;
};
/// To the session that holds the ticket: `lost` without an answer (then `why`), or the manager's `down`.
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
using UplinkAction = std::variant<OpenStream, SendUp, Answer, Note>;
using UplinkActions = std::vector<UplinkAction>;

class Uplink {
 public:
  explicit Uplink(UplinkRules rules) : rules_(std::move(rules)) {}

  void set_timeout(Duration timeout) { rules_.timeout = timeout; }

  /// Before anything else: a job that the former process of this life holds. The manager is told of it with the first message.
  void adopt(Ticket ticket, std::uint64_t job_id);
  UplinkActions begin(Ticket ticket, control::v1::JobBegin begin, Time now);
  /// The owner ended it: the answer comes, from the manager or, while that is away, at once.
  UplinkActions end(Ticket ticket, Time now);
  /// The owner is gone: no answer is wanted.
  UplinkActions drop(Ticket ticket, const std::string& why, Time now);

  /// A rank's process ended without leaving its job. Said again to a manager that was away meanwhile: twice is as good as once.
  UplinkActions rank_died(control::v1::RankDied word, Time now);

  UplinkActions heard(const control::v1::HostDown& down, Time now);
  UplinkActions stream_over(const Error& why, Time now);
  UplinkActions tick(Time now);
  Time next_deadline() const;

  bool registered() const noexcept { return state_ == State::up; }
  std::size_t jobs() const noexcept { return jobs_.size(); }

 private:
  enum class State { closed, opening, up };
  enum class Phase { asked, held, ending };
  struct Job {
    control::v1::JobBegin begin;
    Phase phase = Phase::asked;
    bool sent = false;  ///< The manager may know of it.
    Time deadline{};    ///< Of asked and ending.
  };

  UplinkActions open();
  UplinkActions registered(const control::v1::HostRegistered& who, Time now);
  void send_begin(UplinkActions& out, Job& job);
  void send_end(UplinkActions& out, Ticket ticket, const Job& job, const std::string& why);
  static Answer ended(Ticket ticket);
  std::string silent() const;

  UplinkRules rules_;
  State state_ = State::closed;
  bool told_ = false;      ///< This absence was told.
  bool impostor_ = false;  ///< That somebody else listens in the manager's place was told too.
  Time retry_at_{};        ///< At once.
  Time away_until_{};      ///< New begins wait for a manager that was there.
  Duration renew_every_ = Seconds(2);
  Time renew_at_ = kNever;
  std::map<Ticket, Job> jobs_;
  struct Death {
    Time when{};
    control::v1::RankDied word;
  };
  std::deque<Death> deaths_;  ///< The last ones.
};

}  // namespace sumac::hostd
