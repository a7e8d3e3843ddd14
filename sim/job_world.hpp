#pragma once
// The world of one seed of a job: the group of recovery_lasting_world.hpp, whose trees and news of deaths come from the machines of a
// manager and of sharpds. job_control.cpp has their processes and those of nodes, job_world.cpp what they mean for the members.
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "hostd/uplink.hpp"
#include "manager/manager.hpp"
#include "manager/test_journal.hpp"
#include "sim/job_plan.hpp"
#include "sim/recovery_lasting_world.hpp"

namespace sumac::sim {

/// A base class, so that the plan is there before the world that refers to it.
struct OwnJobPlan {
  JobPlan job;  ///< The manager's grant changes the group's quota and key.
};

class JobWorld final : OwnJobPlan, public LastingWorld {
 public:
  JobWorld(const JobPlan& plan, int verbose) : OwnJobPlan{plan}, LastingWorld(job.group, verbose) {}

 private:
  using StreamId = manager::StreamId;
  static constexpr hostd::Ticket kTicket = 1;
  /// A stream of gRPC: it keeps the order in each direction.
  struct Stream {
    StreamId id = 0;  ///< 0: there is none.
    Time last_up{}, last_down{};
  };
  /// A node's process has one for each tree of the fabric.
  struct Part {
    TreeId id{};
    bool is_root = false, is_linked = false;  ///< The manager was told that it is linked to its parent.
    std::string address;
    std::optional<EndId> end;  ///< Its machine is there. None: the tree has no id yet.
    std::optional<proto::ParentInfo> parent;
    std::vector<std::pair<std::uint64_t, JobId>> leaving;            ///< Revokes that are not acknowledged.
    std::vector<std::pair<std::uint64_t, proto::JobGrant>> waiting;  ///< Grants that did not fit.
  };
  struct NodeProcess {
    std::string name;
    bool is_alive = false;
    std::uint64_t life = 0;
    Stream stream;
    NodeId id{};
    Secret key{};
    std::map<std::uint32_t, Part> parts;
  };
  struct Sharpd {
    std::string host;
    std::optional<hostd::Uplink> uplink;  ///< None: it is dead.
    Stream stream;
    std::set<std::uint32_t> entered{};  ///< The ranks that this process knows.
    bool has_lost_holder = false;       ///< Rank 0 died while it was dead.
  };

  // ---- what the processes mean for the group (job_world.cpp)
  void build_trees() override;
  void do_derived(std::uint32_t which, Time now) override;
  Duration time_limit() const override { return Seconds(40); }
  std::uint32_t tree_of(const LastingMember& member, TreeId id) const override;
  void tell_of_death(const LastingMember& dead) override;
  void act_on_drops(EndId node) override;
  void end_job() override;
  bool may_be_refused() const override { return false; }
  bool is_released() const override { return has_ended_job_; }
  void tick_processes(Time now);
  void begin_kills(Time now);
  void kill(const Kill& what, Time now);
  void take_grant(const control::v1::JobGranted& granted);
  void take_trees(std::uint32_t host, const control::v1::JobTrees& word, Time now);
  Generation generation_of(const control::v1::GrantedTree& tree) const;
  bool is_over(std::string& what) const;

  // ---- the processes (job_control.cpp)
  topo::Fabric fabric() const;
  void start_manager(Time now);
  void kill_manager(Time now);
  void start_node(std::uint32_t node);
  void kill_process(std::uint32_t node);
  void start_sharpd(std::uint32_t host, Time now);
  void kill_sharpd(std::uint32_t host);
  /// A rank enters its job at its sharpd, again where it is another process.
  void enter_job(std::uint32_t rank, Time now);
  void tell_rank(std::uint32_t rank, const control::v1::RankDied& word);
  void notice_refusals(std::uint32_t dead);
  /// With rank 0 goes the job's begin.
  void lose_holder(std::uint32_t host, Time now);
  void carry_out(const std::vector<manager::Action>& actions);
  void act(std::uint32_t host, hostd::UplinkActions actions, Time now);
  void open_node(std::uint32_t node);
  void say(std::uint32_t node, manager::FromNode word);
  void hear(std::uint32_t node, const manager::SendToNode& word, Time now);
  void enter(std::uint32_t node, const manager::NodeTree& told, Time now);
  void leave(NodeProcess& process, std::uint32_t tree, Time now);
  void try_grant(std::uint32_t node, Part& part, std::uint64_t sequence, const proto::JobGrant& grant);
  void link(std::uint32_t node, std::uint32_t tree, Part& part);
  void tick_node(std::uint32_t node);
  /// Calls `what` a little later, behind what was called so before.
  void later(Time& last, std::function<void(Time)> what);
  void after(Duration time, std::function<void(Time)> what);

  manager::TestJournal journal_;
  std::optional<manager::Manager> manager_;
  std::vector<NodeProcess> processes_;
  std::vector<Sharpd> sharpds_;
  std::map<std::string, EndId> end_of_address_;
  std::vector<std::string> hosts_;  ///< Those of the job, in its order.
  std::deque<std::function<void(Time)>> calls_;
  StreamId last_stream_ = 0;
  std::uint64_t last_life_ = 0;
  EndId next_end_ = 0;
  bool has_ended_job_ = false, kills_have_begun_ = false;
  Time asked_for_trees_{};
};

}  // namespace sumac::sim
