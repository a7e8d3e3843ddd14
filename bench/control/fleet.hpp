#pragma once
// One process simulates the nodes and sharpds of a cluster. It acknowledges and counts the manager's messages and
// checks them against a node's capacity; if the manager revokes a resource of a running job, that is a violation. All
// runs in the caller's thread.
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "control/client_streams.hpp"
#include "hostd/uplink.hpp"

namespace sumac::bench {

/// Makes `hosts` hosts on `nodes` - 1 leaf switches; the first node is the root.
std::string fabric_text(std::size_t hosts, std::size_t nodes);
/// Makes `hosts` hosts on `leaves` leaf switches, each joined to all of `spines` switches. Every switch has a node, the
/// spines' first: an0 to an(leaves + spines - 1).
std::string spine_text(std::size_t hosts, std::size_t leaves, std::size_t spines, std::uint32_t trees);

struct SimJob {
  enum class State { asked, held, ending, over };
  std::uint64_t id = 0;
  std::size_t host = 0;
  hostd::Ticket ticket = 0;
  State state = State::asked;
  Time asked_at{}, granted_at{}, over_at{};
  std::string refused;
};

class Fleet {
 public:
  Fleet(std::string endpoint, std::size_t hosts, std::size_t nodes, std::uint32_t trees = 1);

  /// Runs until `done` returns true or the time is over; returns whether it is done.
  bool run_until(const std::function<bool()>& done, Duration patience);

  bool all_connected() const;
  SimJob& begin(std::size_t host, std::size_t host_count, std::uint32_t osts, std::uint32_t groups,
                std::uint32_t uid = 0);
  void end(SimJob& job);
  /// Simulates a kill -9 of one sharpd, with a new process instead of it. Its jobs are over as soon as no node holds
  /// them.
  void kill_host(std::size_t host);

  SimJob& job(std::uint64_t id) { return jobs_.at(id); }
  std::map<std::uint64_t, SimJob>& jobs() { return jobs_; }
  std::set<std::uint64_t> in_state(SimJob::State state) const;
  /// Does a node still hold it?
  bool at_a_node(std::uint64_t id) const;
  std::set<std::uint64_t> at_nodes() const;
  void forget_over();

  const std::vector<std::string>& violations() const { return violations_; }
  void violated(std::string what) { violations_.push_back(std::move(what)); }
  std::uint64_t messages() const { return messages_; }

 private:
  struct Host {
    std::optional<hostd::Uplink> uplink;
    control::Ticket stream = 0;
    Time due = kNever;  ///< As in due_.
  };
  struct Node {
    std::string name;
    std::uint64_t life = 0;
    control::Ticket stream = 0;
    bool open = false, registered = false;
    Time retry_at{};
    std::map<std::pair<std::uint32_t, std::uint64_t>, control::v1::Grant> grants;  ///< Keyed by tree and job.
  };
  void act(std::size_t host, hostd::UplinkActions actions);
  void answered(const hostd::Answer& answer);
  void schedule(std::size_t host);
  void take_hosts(Time now);
  void take_nodes(Time now);
  void heard(Node& node, const control::v1::NodeDown& down);
  void check_sum(const Node& node);
  void link_up(const Node& node, std::uint32_t tree);
  void make_host(std::size_t host);

  std::string endpoint_;
  std::uint32_t trees_;
  control::WakeEvent wake_;
  control::HostStreams host_streams_;
  control::NodeStreams node_streams_;
  std::vector<Host> hosts_;
  std::vector<Node> nodes_;
  std::set<std::pair<Time, std::size_t>> due_;
  std::unordered_map<control::Ticket, std::size_t> host_of_stream_;
  std::map<std::uint64_t, SimJob> jobs_;
  std::unordered_map<hostd::Ticket, std::uint64_t> job_of_ticket_;
  std::vector<std::string> violations_;
  control::Ticket last_stream_ = 0;
  hostd::Ticket last_ticket_ = 0;
  std::uint64_t last_job_ = 0, last_life_ = 0, messages_ = 0;
};

}  // namespace sumac::bench
