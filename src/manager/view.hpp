#pragma once
// The manager as the page shows it: the events of the last hour, and snapshots of the facts. A part that the page has already is
// not copied again.
#include <memory>
#include <vector>

#include "manager/facts.hpp"
#include "page/events.hpp"
#include "page/snapshot.hpp"

namespace sumac::manager {

class View {
 public:
  void add(const Happened& event, Time now);
  /// The caller sets version.state.
  page::Snapshot snapshot(const Facts& facts, const page::Known& known, Time now);

 private:
  std::shared_ptr<const page::JobView> view_of(const JobFacts& job);

  page::EventLog events_;
  std::vector<std::shared_ptr<const page::JobView>> jobs_;  ///< Those of the last snapshot, sorted by id.
};

}  // namespace sumac::manager
