#pragma once
// Keeps the events of the last hour for people: in memory only, bounded, and pure. Events of the fabric and of jobs have
// a list each, so that a user who begins thousands of jobs does not push out the death of a node.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace sumac::page {

enum class EventKind : std::uint8_t {
  job_granted,
  job_refused,
  job_ended,
  job_released,
  rank_died,
  node_registered,
  node_lost,
  link_up,
  link_down,
  tree_lost,
  tree_changed,
  host_registered,
  host_lost,
  fabric_changed,
};
std::string_view to_string(EventKind kind) noexcept;

struct Event {
  std::uint64_t id = 0;  ///< Rises with time.
  Time at{};
  EventKind kind = EventKind::job_granted;
  std::string subject;                   ///< "node an-1", "job 7".
  std::string text;                      ///< Says the fate of the subject: "is down".
  std::uint32_t count = 1;               ///< Subjects of which the same was said at once; `subject` is the first.
  std::optional<std::uint32_t> owner{};  ///< The user of a job: nobody else but operators may see it.
  JobId job{};

  bool is_of_job() const noexcept { return owner.has_value(); }
};
using Events = std::vector<std::shared_ptr<const Event>>;

class EventLog {
 public:
  static constexpr std::size_t kKept = 2000;  ///< Events of jobs, and as many of the fabric.
  static constexpr Duration kHour = Seconds(3600);

  void add(Event event, Time now);
  /// Returns the events of the last hour, the newest last.
  Events recent(Time now) const;
  /// Counts events younger than an hour that had to make room.
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// Changes with each event, and is never 0.
  std::uint64_t version() const noexcept { return last_id_ + 1; }

 private:
  using List = std::deque<std::shared_ptr<const Event>>;
  List::iterator oldest_of_the_busiest();
  void forget(List& list, List::iterator at);

  List jobs_, fabric_;
  std::unordered_map<std::uint32_t, std::size_t> of_owner_;  ///< Events in jobs_.
  std::uint64_t last_id_ = 0, dropped_ = 0;
};

}  // namespace sumac::page
