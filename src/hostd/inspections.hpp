#pragma once
// The answers to `sumac explain` about running jobs: sharpd looks twice at the pages that its clients have handed over, and, for a
// person, asks the job's other daemons. It copies pages unread; the tool checks them.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/secret.hpp"
#include "control/inspect.hpp"

namespace sumac::hostd {

/// The ranks of one job on this host.
struct InspectedJob {
  struct Rank {
    int pid = 0;
    unsigned uid = 0;
    int page = -1;  ///< A descriptor of the client; -1: it has handed over none.
  };
  std::vector<Rank> ranks;
  std::vector<control::v1::DeathView> deaths;
  Secret key{};
  std::optional<std::vector<control::v1::JobDaemon>> daemons;  ///< Nothing: the manager has not answered.
};

class Inspections {
 public:
  /// Returns the job that the call may see, or why it may not.
  using Find = std::function<Result<InspectedJob>(const control::InspectCall& call)>;

  Inspections(std::string host, const control::WakeEvent& wake, std::shared_ptr<control::Tls> tls, Find find);

  Result<std::string> listen(const std::string& endpoint, const control::Server::Options& options) {
    return server_.listen(endpoint, options);
  }
  void progress(Time now);
  Time next_due() const;

 private:
  struct Seen {
    control::v1::RankView view;
    UniqueFd page;
  };
  struct Open {
    std::unique_ptr<control::InspectCall> call;
    control::v1::InspectReply reply;
    std::vector<Seen> ranks;
    std::vector<control::v1::DeathView> deaths;
    Time second_look_at = kNever;  ///< kNever: both were taken.
    std::size_t asked = 0;         ///< Daemons that have not answered.
  };

  void begin(std::unique_ptr<control::InspectCall> call, Time now);
  void ask_others(std::uint64_t ticket, Open& open, const InspectedJob& job, Time now);
  void look_again(Open& open) const;
  void take_answers();

  std::string host_;
  Find find_;
  control::InspectServer server_;
  control::InspectClients clients_;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Open> open_;  // After server_, which waits for their answers.
};

}  // namespace sumac::hostd
