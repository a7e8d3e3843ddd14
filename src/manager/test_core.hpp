#pragma once
// The manager for tests that speak control.proto: messages go in and come out, translated as the service does.
#include <memory>

#include "control/control.pb.h"
#include "control/quota.hpp"
#include "manager/manager.hpp"
#include "manager/status.hpp"
#include "manager/view.hpp"
#include "manager/words.hpp"

namespace sumac::manager {

struct ToNode {
  StreamId stream = 0;
  control::v1::NodeDown message;
};
struct ToHost {
  StreamId stream = 0;
  control::v1::HostDown message;
};
using Actions = std::vector<std::variant<ToNode, ToHost, Refuse, Say>>;

class Core {
 public:
  Core(topo::Fabric fabric, Rules rules, Journal& journal)
      : manager_(std::make_unique<Manager>(std::move(fabric), std::move(rules), journal)) {}

  Actions restore(const SavedState& saved, Time now) { return written_all(manager_->restore(saved, now), now); }
  Result<> check() const { return manager_->check(); }
  void set_reservations(Reservations reservations) { manager_->set_reservations(std::move(reservations)); }
  Result<> reserve(const KeptOsts& osts) { return manager_->reserve(osts); }
  Result<Actions> release(const std::string& name, Time now) {
    auto actions = manager_->release(name, now);
    if (!actions) return tl::unexpected(actions.error());
    return written_all(*actions, now);
  }
  void set_rules(const Rules& rules) { manager_->set_rules(rules); }
  Actions fabric_changes(const topo::Fabric& fabric, Time now) {
    return written_all(manager_->fabric_changes(fabric, now), now);
  }

  Actions node_registers(StreamId stream, const control::v1::Register& who, Time now) {
    return from_node(stream, now, [&](auto& up) { *up.mutable_register_() = who; });
  }
  Actions node_acks(StreamId stream, std::uint64_t sequence, Time now) {
    return from_node(stream, now, [&](auto& up) { up.mutable_ack()->set_sequence(sequence); });
  }
  Actions node_defers(StreamId stream, const control::v1::Deferred& deferred, Time now = {}) {
    return from_node(stream, now, [&](auto& up) { *up.mutable_deferred() = deferred; });
  }
  Actions node_link(StreamId stream, const control::v1::Link& link, Time now) {
    return from_node(stream, now, [&](auto& up) { *up.mutable_link() = link; });
  }
  Actions node_neighbour(StreamId stream, const control::v1::Neighbour& word, Time now) {
    return from_node(stream, now, [&](auto& up) { *up.mutable_neighbour() = word; });
  }
  Actions node_listens(StreamId stream, const control::v1::Listening& listening, Time now) {
    return from_node(stream, now, [&](auto& up) { *up.mutable_listening() = listening; });
  }
  void node_inspectable(StreamId stream, const std::string& address) {
    from_node(stream, {}, [&](auto& up) { up.mutable_inspectable()->set_address(address); });
  }
  void node_hop(StreamId stream, std::uint32_t tree, const control::HopTotals& totals) {
    from_node(stream, {}, [&](auto& up) {
      up.mutable_hop()->set_tree(tree);
      control::set_hop_totals(*up.mutable_hop(), totals);
    });
  }
  Actions node_stream_ended(StreamId stream, Time now) {
    return written_all(manager_->node_stream_ended(stream, now), now);
  }

  Actions host_registers(StreamId stream, const control::v1::HostRegister& who, Time now) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_register_() = who; });
  }
  Actions host_renews(StreamId stream, const control::v1::Renew& renew, Time now) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_renew() = renew; });
  }
  Actions job_begins(StreamId stream, const control::v1::JobBegin& begin, Time now) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_begin() = begin; });
  }
  Actions job_ends(StreamId stream, const control::v1::JobEnd& end, Time now) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_end() = end; });
  }
  Actions rank_died(StreamId stream, const control::v1::RankDied& word, Time now = {}) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_rank_died() = word; });
  }
  void host_inspectable(StreamId stream, const std::string& address) {
    from_host(stream, {}, [&](auto& up) { up.mutable_inspectable()->set_address(address); });
  }
  Actions trees_wanted(StreamId stream, const control::v1::TreesWanted& word, Time now) {
    return from_host(stream, now, [&](auto& up) { *up.mutable_trees_wanted() = word; });
  }
  Actions job_daemons(StreamId stream, const control::v1::JobDaemonsAsked& asked) {
    return from_host(stream, {}, [&](auto& up) { *up.mutable_job_daemons() = asked; });
  }
  Actions host_stream_ended(StreamId stream, Time now) {
    return written_all(manager_->host_stream_ended(stream, now), now);
  }

  Actions tick(Time now) { return written_all(manager_->tick(now), now); }
  Time next_deadline() const { return manager_->next_deadline(); }
  Facts facts() const { return manager_->facts(); }
  std::string status_json(Time now, std::uint64_t heard = 0, const page::Viewer& viewer = {}) const {
    return manager::status_json(manager_->facts(), now, heard, viewer);
  }
  page::Snapshot snapshot(const page::Known& known, Time now) { return view_.snapshot(manager_->facts(), known, now); }

 private:
  template <class Fill>
  Actions from_node(StreamId stream, Time now, Fill fill) {
    control::v1::NodeUp up;
    fill(up);
    return written_all(manager_->node_says(stream, *read(up), now), now);
  }
  template <class Fill>
  Actions from_host(StreamId stream, Time now, Fill fill) {
    control::v1::HostUp up;
    fill(up);
    return written_all(manager_->host_says(stream, *read(up), now), now);
  }
  Actions written_all(const std::vector<Action>& actions, Time now) {
    Actions all;
    for (const auto& action : actions)
      std::visit(overloaded{
                     [&](const SendToNode& to) {
                       all.emplace_back(ToNode{to.stream, written(to)});
                     },
                     [&](const SendToHost& to) {
                       all.emplace_back(ToHost{to.stream, written(to)});
                     },
                     [&](const Happened& event) { view_.add(event, now); },
                     [&](const auto& other) { all.emplace_back(other); },
                 },
                 action);
    return all;
  }

  std::unique_ptr<Manager> manager_;
  View view_;
};

}  // namespace sumac::manager
