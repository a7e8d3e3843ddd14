#pragma once
// The trace of one rank: its last collective calls, written as a file of the Chrome trace event format, which Perfetto
// opens. It knows no MPI and no clock.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sumac::rank {

struct TraceEvent {
  std::int64_t start_ns, ns;
  std::uint64_t bytes;
  std::uint16_t communicator;  ///< Trace::name().
  std::uint16_t thread;        ///< 0: the process's first thread that called.
  std::uint8_t coll, form, way;
};

/// The process that a trace belongs to.
struct TraceProcess {
  int rank, pid;
  const char* host;
  const char* next;          ///< The name of the software that does the calls which are passed on.
  std::int64_t zero_ns;      ///< The time that is 0 in the file.
  std::int64_t wall_end_ns;  ///< The end of the job.
};

/// One thread at a time.
class Trace {
 public:
  /// A rank keeps so many events, the last ones: 8 MiB.
  static constexpr std::size_t kEventsMax = std::size_t{1} << 18;
  /// The names of so many communicators; later ones share one more name.
  static constexpr std::size_t kNamesMax = 1024;

  Trace() = default;
  explicit Trace(std::size_t events_max) : events_max_(events_max) {}
  /// Returns the number of a communicator's name.
  std::uint16_t name(std::string_view name);
  /// Adds an event; if there is no more room, the oldest one is dropped.
  void add(const TraceEvent& event);
  std::uint64_t dropped() const { return added_ - events_.size(); }
  /// Hands the file's text to `put`, piece by piece, with the events in the order of their beginning.
  void write(const TraceProcess& process, const std::function<void(std::string_view)>& put);

 private:
  std::string event_text(const TraceProcess& process, const TraceEvent& event) const;

  std::size_t events_max_ = kEventsMax;
  std::vector<TraceEvent> events_;  ///< A ring once `events_max_` are there.
  std::uint64_t added_ = 0;         ///< Events since the beginning.
  std::vector<std::string> names_;
};

}  // namespace sumac::rank
