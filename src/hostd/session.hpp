#pragma once
// The conversation with one client of sharpd, without its socket: messages and the manager's answers in, actions out.
// A client may hold several jobs (one per context); each is known here by a ticket, so that an answer that comes late, for a job
// of the same id begun since, is not taken for its own.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/secret.hpp"
#include "control/control.pb.h"
#include "wire/host.hpp"
#include "wire/host_codec.hpp"

namespace sumac::hostd {

inline constexpr std::size_t kJobsPerClientMax = 64;

/// As the kernel says it.
struct Peer {
  int pid = 0;
  unsigned uid = 0, gid = 0;
};

using Ticket = std::uint64_t;  ///< One begin of a job; never used again.

struct ToClient {
  wire::HostMessage message;
};
struct BeginJob {
  Ticket ticket = 0;
  control::v1::JobBegin begin;
};
struct EndJob {
  Ticket ticket = 0;
};
/// The client broke the rules: close its connection (what it holds is released as if it had died).
struct Offence {
  std::string why;
};
/// This process is a rank of a job. Its death without leave is news for the other ranks.
struct Membership {
  std::uint64_t job_id = 0;
  std::uint32_t world_rank = 0;
  Secret key{};
};
using Action = std::variant<ToClient, BeginJob, EndJob, Offence>;
using Actions = std::vector<Action>;

class Session {
 public:
  /// `next_ticket`: shared by all sessions of the process. `devices`: what programs of this host use that name no port.
  Session(Peer peer, std::string host, std::function<Ticket()> next_ticket, std::string devices = {});

  /// The process holds this job already: a former sharpd of this life began it for it.
  void adopt(std::uint64_t job_id, Ticket ticket);
  Actions received(const wire::HostMessage& message);
  /// The manager's answer to a ticket of this session; unknown tickets are ignored.
  Actions answered(Ticket ticket, const control::v1::HostDown& down);
  /// No answer will come, or the manager has ended a job that ran. Errc::lost, timeout: there was no manager to ask.
  Actions manager_lost(Ticket ticket, const Error& why);

  /// What must be released when the client is gone, answered or not.
  std::vector<Ticket> held() const;
  bool attached() const noexcept { return attached_; }
  /// Of which jobs the process is a rank, and has not left.
  const std::vector<Membership>& memberships() const noexcept { return memberships_; }
  const Peer& peer() const noexcept { return peer_; }
  std::string describe() const;

 private:
  enum class Phase { collecting, beginning, held, ending, orphaned };
  struct Job {
    Phase phase = Phase::collecting;
    Ticket ticket = 0;
    std::uint32_t hosts_expected = 0;
    control::v1::JobBegin begin;
  };
  using Jobs = std::map<std::uint64_t, Job>;

  Actions attach(const wire::HostMessage& message);
  Actions begin(const wire::HostMessage& message);
  Actions hosts(const wire::HostMessage& message);
  Actions end(const wire::HostMessage& message);
  Actions enter(const wire::HostMessage& message);
  Actions leave(const wire::HostMessage& message);
  Jobs::iterator find(Ticket ticket);

  Peer peer_;
  std::string host_;
  std::function<Ticket()> next_ticket_;
  const std::string devices_;
  bool attached_ = false;
  std::uint32_t world_rank_ = 0;
  Jobs jobs_;
  std::vector<Membership> memberships_;
};

}  // namespace sumac::hostd
