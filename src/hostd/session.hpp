#pragma once
// The protocol with one client of sharpd, without its socket: messages and the manager's answers go in, actions come
// out. A client may hold several jobs (one per context). Each is identified here by a ticket, so that a late answer is
// not mistaken for the answer to a newer job with the same id.
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
/// The names of hosts, of jobs that have no answer yet, which sharpd keeps: of one person (two jobs of the largest
/// size), and of all. A name takes about 130 bytes.
inline constexpr std::size_t kNamesOfPersonMax = 2 * wire::kListMax, kNamesMax = 8 * kNamesOfPersonMax;

/// The identity of a client's process, as the kernel reports it.
struct Peer {
  int pid = 0;
  unsigned uid = 0, gid = 0;
  unsigned person = uid;    ///< The user whose shares and quotas count: `uid` may be one of his further ids.
  std::string batch_job{};  ///< The words of batch_job.hpp, for people; empty: not known.
};

using Ticket = std::uint64_t;  ///< Identifies one begin of a job; never used again.

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
/// The client broke the rules: its connection must be closed, and what it holds is released as if it had died.
struct Offence {
  std::string why;
};
/// This process is a rank of a job. If it dies without leaving the job, the other ranks must be informed.
struct Membership {
  JobId job_id{};
  WorldRank world_rank{};
  Secret job_key{};
  /// It is told of the deaths of the job's other ranks, and of trees that the job has again.
  bool hears_deaths = false;
};
/// The job's trees are of no use to one of its groups.
struct WantTrees {
  JobId job_id{};
  Secret job_key{};
  std::uint32_t times_again = 0;
};
using Action = std::variant<ToClient, BeginJob, EndJob, Offence, WantTrees>;
using Actions = std::vector<Action>;

/// The messages of a grant for a client. Returns nothing if the manager's grant does not fit them.
std::optional<Actions> granted_messages(JobId job_id, const control::v1::JobGranted& granted,
                                        std::uint32_t times_again = 0);

class Session {
 public:
  /// `next_ticket` is shared by all sessions of the process. `devices` holds the ports for programs of this host that
  /// name none.
  Session(Peer peer, std::string host, std::function<Ticket()> next_ticket, std::string devices = {});

  /// Records a job that the process already holds: a former sharpd of this life began it.
  void adopt(JobId job_id, Ticket ticket);
  Actions received(const wire::HostMessage& message);
  /// Handles the manager's answer to a ticket of this session; unknown tickets are ignored.
  Actions answered(Ticket ticket, const control::v1::HostDown& down);
  /// Called when no answer will come, or when the manager has ended a running job. Errc::lost or Errc::timeout means
  /// that no manager could be asked.
  Actions manager_lost(Ticket ticket, const Error& why);

  /// Returns the tickets that must be released when the client is gone, whether they were answered or not.
  std::vector<Ticket> held() const;
  bool attached() const noexcept { return attached_; }
  /// True while a job is begun whose last host is not named yet.
  bool is_naming() const noexcept { return naming_; }
  /// Counts the names of hosts that are kept for jobs without an answer.
  std::size_t names() const noexcept { return names_; }
  /// Returns the jobs of which the process is a rank and which it has not left.
  const std::vector<Membership>& memberships() const noexcept { return memberships_; }
  const Peer& peer() const noexcept { return peer_; }
  std::string describe() const;

 private:
  enum class Phase { collecting, beginning, held, ending, orphaned };
  struct Job {
    Phase phase = Phase::collecting;
    Ticket ticket = 0;
    std::uint32_t hosts_expected = 0;
    control::v1::JobBegin begin;  ///< Until the last host is named.
  };
  using Jobs = std::map<JobId, Job>;

  Actions attach(const wire::HostMessage& message);
  Actions begin(const wire::HostMessage& message);
  Actions hosts(const wire::HostMessage& message);
  Actions end(const wire::HostMessage& message);
  Actions enter(const wire::HostMessage& message);
  Actions leave(const wire::HostMessage& message);
  Actions want_trees(const wire::HostMessage& message) const;
  Jobs::iterator find(Ticket ticket);

  Peer peer_;
  std::string host_;
  std::function<Ticket()> next_ticket_;
  const std::string devices_;
  bool attached_ = false;
  WorldRank world_rank_{};
  Jobs jobs_;
  bool naming_ = false;
  std::size_t names_ = 0;
  std::vector<Membership> memberships_;
};

}  // namespace sumac::hostd
