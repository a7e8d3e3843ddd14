#pragma once
// The manager as a function from events to actions: no socket, no clock, no thread, no message of gRPC. The service turns messages
// into events and actions into messages. Three machines do the work, and data flow one way: Ledger (jobs) asks Forest (trees), which
// asks Cluster (who is there). This class has what concerns more than one of them: it brings each event to them in order.
#include <vector>

#include "manager/ledger.hpp"

namespace sumac::manager {

class Manager {
 public:
  /// The fabric must have been validated; its trees and radix are computed by topo. `journal` must outlive the manager.
  Manager(topo::Fabric fabric, Rules rules, Journal& journal);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// Returns Errc::exhausted or not_found with the reason if this fabric has no trees.
  Result<> check() const { return forest_.check(); }
  /// Takes over the journal of a former life. Call it at most once, before anything else.
  std::vector<Action> restore(const SavedState& saved, Time now);
  /// May be called at any time; running jobs go on.
  void set_reservations(Reservations reservations) { reservations_ = std::move(reservations); }
  /// The same; leases stay as they were announced to the sharpds.
  void set_rules(const Rules& rules);
  /// Keeps OSTs for jobs to come, or releases them. With the reservations of a file on there are no others.
  Result<> reserve(const KeptOsts& osts);
  Result<std::vector<Action>> release(const std::string& name, Time now);
  /// Applies a changed description of the fabric: trees follow it, and jobs whose part did not change go on.
  std::vector<Action> fabric_changes(const topo::Fabric& described, Time now);

  std::vector<Action> node_says(StreamId stream, const FromNode& word, Time now);
  std::vector<Action> node_stream_ended(StreamId stream, Time now);
  std::vector<Action> host_says(StreamId stream, const FromHost& word, Time now);
  std::vector<Action> host_stream_ended(StreamId stream, Time now);
  std::vector<Action> tick(Time now);
  Time next_deadline() const { return ledger_.next_deadline(); }
  /// Valid until the next event.
  Facts facts() const;

 private:
  // ---- nodes (manager_nodes.cpp)
  void node_registers(Step& step, StreamId stream, const NodeRegister& who);
  void node_acks(Step& step, StreamId stream, std::size_t node, std::uint64_t sequence);
  NodeTree part_of(std::uint32_t tree, std::size_t node) const;
  void send_part(Step& step, std::uint32_t tree, std::size_t node);
  void note_root(Step& step, std::uint32_t tree);
  void judge(Step& step, std::size_t node);
  void hear_again(Step& step, std::size_t node);

  void host_registers(Step& step, StreamId stream, const HostRegister& who);
  void job_daemons(Step& step, StreamId stream, const Sharpd& sharpd, const JobDaemonsAsked& asked) const;
  void begin(Step& step, const Sharpd& sharpd, const HeldBegin& held);
  void retry_held(Step& step, bool is_tick = false);
  /// Adapts the trees to a changed fabric and informs all nodes and jobs that have a part in them.
  void follow(Step& step, const std::string& why);
  /// Builds the best possible trees once the last job of patched ones has ended and left.
  void build_if_nobody_runs(Step& step);
  void give_up_absent(Step& step);

  Rules rules_;
  Reservations reservations_;
  Cluster cluster_;
  Forest forest_;
  Holdings holdings_;
  Kept kept_;
  Ledger ledger_;
};

}  // namespace sumac::manager
