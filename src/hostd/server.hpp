#pragma once
// sharpd's loop: clients on a unix socket, their processes by pidfd, the manager's answers. One thread, nothing in it blocks.
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "control/client_streams.hpp"
#include "control/signals.hpp"
#include "hostd/held_file.hpp"
#include "hostd/session.hpp"
#include "hostd/uplink.hpp"
#include "net/unix_seqpacket.hpp"

namespace sumac::hostd {

struct ServerConfig {
  std::string host;
  std::string manager;
  Duration manager_timeout = Seconds(15);  ///< A manager that says nothing of a job for so long is given up.
  std::uint64_t life = 0;                  ///< Of this process: draw_life(), or its forerunner's (held_file.hpp).
  std::shared_ptr<control::Tls> tls{};
  std::string held_file{};              ///< Where the next process finds what is held here; empty: nowhere.
  std::string devices{};                ///< Ports for programs that name none.
  Duration attach_within = Seconds(5);  ///< A client that has not said attach by then is closed.
};

class Server final : private net::HostServerEvents {
 public:
  Server(ServerConfig config, net::HostServer sockets, control::WakeEvent& wake, UniqueFd epoll, Logger& log);

  static Result<UniqueFd> make_epoll();

  /// What the former process of this life left: of holders that run, the jobs go on. Returns how many.
  std::size_t take_over(const Held& held);
  /// Of jobs that are asked for from now on.
  void set_manager_timeout(Duration timeout) { uplink_.set_timeout(timeout); }
  void set_clients_max(std::size_t count, std::size_t of_user) noexcept { sockets_.set_clients_max(count, of_user); }
  /// Waits for something to do, at most until `deadline`, and does it. `extra` beside it: a descriptor (signals) that ends the wait.
  Result<> run_once(int extra, Time deadline = kNever);
  std::size_t clients() const noexcept { return clients_.size(); }
  std::size_t open_jobs() const { return uplink_.jobs(); }

 private:
  struct Client {
    Session session;
    UniqueFd pidfd;
    ProcessMark mark;
  };
  /// Holds a job of the former process's, and has not called since.
  struct Orphan {
    HeldJob job;
    UniqueFd pidfd;
  };
  /// Closed its socket without leaving its jobs: by a slip or a close() of everything, or since it is ending. Its process is watched on.
  struct Departed {
    Peer peer;
    std::string who;
    std::vector<Membership> memberships;
    UniqueFd pidfd;
  };
  struct Begun {
    net::HostClientId client;
    std::uint64_t job_id = 0;
  };
  void on_client(net::HostClientId client, const net::PeerIdentity& who) override;
  void on_message(net::HostClientId client, const wire::HostMessage& message) override;
  void on_closed(net::HostClientId client, const Error& why) override;
  void client_died(net::HostClientId client);
  void orphan_died(Ticket ticket);
  void adopt_for(net::HostClientId client);
  void keep(Ticket ticket, const HeldJob& job);
  void forget(Ticket ticket);
  void save();
  void release(net::HostClientId client, std::string_view why, bool is_dead = false);
  void tell_deaths(const Peer& peer, const std::string& who, const std::vector<Membership>& memberships);
  void run(net::HostClientId client, Actions actions);
  void run(UplinkActions actions);
  void take_answers();
  void warn_of(const Session& session, std::string_view what, std::string_view why);
  void close_silent(Time now);
  void tell_full();

  ServerConfig config_;
  net::HostServer sockets_;
  control::WakeEvent& wake_;
  Logger& log_;
  UniqueFd epoll_;
  control::HostStreams manager_;
  control::Ticket stream_ = 0;
  Uplink uplink_;
  Ticket last_ticket_ = 0;
  std::map<net::HostClientId, Client> clients_;
  std::deque<std::pair<Time, net::HostClientId>> silent_;  ///< By when who must have said attach; the oldest first.
  std::map<net::HostClientId, Departed> departed_;
  std::unordered_map<Ticket, Begun> begun_;
  std::map<Ticket, Orphan> orphans_;
  std::map<Ticket, HeldJob> held_;  ///< As the next process is to find it.
  bool save_failed_ = false;
  std::uint64_t unwatched_ = 0;    ///< Clients refused for want of a descriptor to watch them by.
  std::uint64_t turned_away_ = 0;  ///< As far as it was told.
  std::uint64_t crowd_ = 0;        ///< Same, of users with too many clients.
  Time tell_full_at_{};
  LogLimit said_;  ///< Lines about clients that break the rules.
};

}  // namespace sumac::hostd
