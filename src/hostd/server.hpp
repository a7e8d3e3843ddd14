#pragma once
// The loop of sharpd: it serves clients on a unix socket, watches their processes by pidfd, and takes the manager's
// answers. One thread runs it, and nothing in it blocks.
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "control/client_streams.hpp"
#include "control/signals.hpp"
#include "hostd/held_file.hpp"
#include "hostd/inspections.hpp"
#include "hostd/session.hpp"
#include "hostd/uplink.hpp"
#include "net/unix_seqpacket.hpp"

namespace sumac::hostd {

struct ServerConfig {
  std::string host;
  std::string manager;
  Duration manager_timeout = Seconds(15);  ///< A manager that does not answer about a job for this long is given up.
  /// The life of this process: from control::draw_life(), or that of its predecessor (held_file.hpp).
  std::uint64_t life = 0;
  std::shared_ptr<control::Tls> tls{};
  /// The file where the next process finds the jobs held here; empty means no file.
  std::string held_file{};
  std::string devices{};  ///< Ports for programs that name none themselves.
  /// A client is closed that has not attached, or has not named the last host of a job that it begins, for so long.
  Duration attach_within = Seconds(5);
};

/// Counts events since the start, and what this sharpd holds now.
struct ServerNumbers {
  std::uint64_t jobs_begun = 0;    ///< Begins that were sent to the manager.
  std::uint64_t jobs_refused = 0;  ///< Begins that the manager refused.
  std::uint64_t jobs_lost = 0;     ///< Jobs that the manager ended, and requests that no manager answered.
  std::uint64_t deaths = 0;        ///< Ranks that died without leaving their jobs.
  std::uint64_t offences = 0;      ///< Clients that broke a rule, or did not attach in time.
  std::uint64_t turned_away = 0, crowded_out = 0;  ///< Clients refused: no room, or too many of one user.
  std::size_t clients = 0, jobs = 0, orphans = 0, departed = 0;
  bool registered = false;
};

class Server final : private net::HostServerEvents {
 public:
  Server(ServerConfig config, net::HostServer sockets, control::WakeEvent& wake, UniqueFd epoll, Logger& log);

  static Result<UniqueFd> make_epoll();

  /// Takes over the jobs of the former process of this life whose holders still run. Returns their number.
  std::size_t take_over(const Held& held);
  /// Sets the time limit for jobs that are asked for from now on.
  void set_manager_timeout(Duration timeout) { uplink_.set_timeout(timeout); }
  void set_clients_max(std::size_t count, std::size_t of_user) noexcept { sockets_.set_clients_max(count, of_user); }
  ServerNumbers numbers() const;
  /// Answers `sumac explain` at a socket beside the clients'. Other hosts are answered once the manager is reached, since
  /// only the way to it says by which address they reach this host.
  Result<> answer_inspections();
  /// Waits until there is work, at most until `deadline`, and does it. `extra` is a further descriptor (signals) that
  /// ends the wait.
  Result<> run_once(int extra, Time deadline = kNever);

 private:
  struct Client {
    Session session;
    UniqueFd pidfd;
    ProcessMark mark;
    UniqueFd page{};        ///< Its page (src/recorder), as it says.
    std::size_t names = 0;  ///< The part of names_ that is this client's.
    Time naming_until{};    ///< The time by which it must have named the last host of the job that it begins.
  };
  /// A process that holds a job of the former sharpd and has not connected since.
  struct Orphan {
    HeldJob job;
    UniqueFd pidfd;
  };
  /// A process that closed its socket without leaving its jobs: by a mistake, by closing all descriptors, or because it
  /// is ending. It is still watched.
  struct Departed {
    Peer peer;
    std::string who;
    std::vector<Membership> memberships;
    UniqueFd pidfd, page;
  };
  struct Begun {
    net::HostClientId client;
    JobId job_id{};
  };
  void on_client(net::HostClientId client, const net::PeerIdentity& who) override;
  void on_message(net::HostClientId client, const wire::HostMessage& message) override;
  void on_descriptor(net::HostClientId client, UniqueFd handed) override;
  void on_closed(net::HostClientId client, const Error& why) override;
  Result<InspectedJob> inspected(const control::InspectCall& call) const;
  void be_inspectable();
  void keep_daemons(JobId id);
  void client_died(net::HostClientId client);
  void orphan_died(Ticket ticket);
  void adopt_for(net::HostClientId client);
  void keep(Ticket ticket, const HeldJob& job);
  void forget(Ticket ticket);
  void save();
  void release(net::HostClientId client, std::string_view why, bool is_dead = false);
  std::size_t departed_of(unsigned person) const;
  void tell_members(const control::v1::RankDied& dead, std::optional<net::HostClientId> only = {});
  void enter(net::HostClientId client, const Membership& member);
  void tell_trees(const control::v1::JobTrees& word, std::optional<net::HostClientId> only = {});
  void tell_deaths(const Peer& peer, const std::string& who, const std::vector<Membership>& memberships,
                   const UniqueFd& page);
  void run(net::HostClientId client, Actions actions);
  void run(UplinkActions actions);
  void take_answers();
  void warn_of(const Session& session, std::string_view what, std::string_view why);
  void close_silent(Time now);
  void close_unfinished(Time now);
  void offend(net::HostClientId client, const std::string& why);
  void count_names(unsigned person, std::size_t before, std::size_t now);
  void tell_full();

  ServerConfig config_;
  net::HostServer sockets_;
  control::WakeEvent& wake_;
  Logger& log_;
  UniqueFd epoll_;
  control::HostStreams manager_;
  control::Ticket stream_ = 0;
  Uplink uplink_;
  Inspections inspections_;
  std::string inspectable_;  ///< The endpoint that the manager was told.
  Ticket last_ticket_ = 0;
  std::map<net::HostClientId, Client> clients_;
  /// The time by which each client must have attached; the oldest comes first.
  std::deque<std::pair<Time, net::HostClientId>> silent_;
  /// The clients that began to name hosts, with their time limits; the oldest comes first.
  std::deque<std::pair<Time, net::HostClientId>> naming_;
  std::unordered_map<unsigned, std::size_t> names_of_;  ///< Names of hosts kept for jobs without an answer, by person.
  std::size_t names_ = 0, names_most_ = 0;              ///< The sum of these, and its maximum since it was 0.
  std::map<net::HostClientId, Departed> departed_;
  std::unordered_map<Ticket, Begun> begun_;
  std::map<Ticket, Orphan> orphans_;
  std::map<Ticket, HeldJob> held_;  ///< The jobs of the file for the next process.
  bool save_failed_ = false;
  ServerNumbers done_;             ///< Only what is counted here; numbers() adds the rest.
  std::uint64_t unwatched_ = 0;    ///< Clients refused because there was no descriptor to watch them.
  std::uint64_t turned_away_ = 0;  ///< The number of rejected clients that the log has reported.
  std::uint64_t crowd_ = 0;        ///< The same for users with too many clients.
  Time tell_full_at_{};
  std::set<unsigned> refused_;  ///< The persons whose last begin was refused.
  LogLimit said_;               ///< Limits the log lines about clients that break the rules.
};

}  // namespace sumac::hostd
