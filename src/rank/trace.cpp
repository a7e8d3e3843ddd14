// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU describes the format: "X" is an event
// with a beginning and a duration, both in microseconds, and "M" gives a process or a thread its name. `pid` is the rank, so that
// the files of several ranks can be joined.
#include "rank/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "rank/profile.h"

namespace sumac::rank {
namespace {

/// Names are bytes in no known encoding: all but ASCII is escaped, so that the file is always legal.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\u{:04x}", byte);
    else
      out += c;
  }
  return out + '"';
}

/// Microseconds with the nanoseconds behind the point.
std::string us(std::int64_t ns) {
  const auto size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

}  // namespace

std::uint16_t Trace::name(std::string_view name) {
  if (name.empty()) name = "without a name";
  // The newest first: they are in use.
  const auto known = std::find(names_.rbegin(), names_.rend(), name);
  if (known != names_.rend()) return static_cast<std::uint16_t>(names_.rend() - known - 1);
  if (names_.size() == kNamesMax) return kNamesMax;
  names_.emplace_back(name);
  return static_cast<std::uint16_t>(names_.size() - 1);
}

// Once memory is refused, what is there becomes the ring.
void Trace::add(const TraceEvent& event) {
  if (events_.size() < events_max_) try {
      events_.push_back(event);
      ++added_;
      return;
    } catch (const std::bad_alloc&) {
      events_max_ = events_.size();
    }
  if (events_max_ > 0) events_[added_ % events_max_] = event;
  ++added_;
}

std::string Trace::event_text(const TraceProcess& process, const TraceEvent& event) const {
  char name[40];
  sumac_profile_name(event.coll, event.form, name);
  return fmt::format(
      ",\n{{\"ph\":\"X\",\"cat\":\"collective\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
      "\"args\":{{\"bytes\":{},\"way\":\"{}\",\"communicator\":{}}}}}",
      name, process.rank, event.thread, us(event.start_ns - process.zero_ns), us(event.ns), event.bytes,
      sumac_profile_way_name(event.way, process.next),
      in_quotes(event.communicator < names_.size() ? names_[event.communicator] : "another communicator"));
}

void Trace::write(const TraceProcess& process, const std::function<void(std::string_view)>& put) {
  std::sort(events_.begin(), events_.end(), [](auto& a, auto& b) { return a.start_ns < b.start_ns; });
  unsigned threads = 1;
  for (const TraceEvent& event : events_) threads = std::max(threads, event.thread + 1u);
  put(
      fmt::format("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\"rank\":{},\"process\":{},\"host\":{},\"events\":{},"
                  "\"dropped_events\":{},\"finalize_us\":{}}},\n\"traceEvents\":[\n",
                  process.rank, process.pid, in_quotes(process.host), events_.size(), dropped(),
                  us(process.wall_end_ns - process.zero_ns)));
  put(fmt::format(
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":0,\"args\":{{\"name\":{1}}}}},\n"
      "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"tid\":0,\"args\":{{\"sort_index\":{0}}}}}",
      process.rank, in_quotes(fmt::format("rank {} on {}", process.rank, process.host))));
  for (unsigned thread = 0; thread < threads; ++thread)
    put(fmt::format(
        ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"thread {}\"}}}}",
        process.rank, thread, thread));
  for (const TraceEvent& event : events_) put(event_text(process, event));
  put("\n]}\n");
}

}  // namespace sumac::rank
