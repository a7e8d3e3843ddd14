#pragma once
// Links between engines in virtual time. A message may be lost, doubled, overtaken or come again very late; a ghost of
// it, of the former group with that number and with other data, may come as well. Only hello, welcome and proof are sure to come, and first:
// they are part of connecting.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"
#include "proto/link.hpp"
#include "sim/event_queue.hpp"
#include "sim/plan.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::sim {

/// The number of an endpoint: nodes are 0 to N - 1, clients follow.
using EndId = std::uint32_t;

class Network {
 public:
  struct Handler {
    std::function<void(EndId to, proto::LinkId link, BufferRef frame, Time now)> message;
    std::function<void(std::uint64_t what, Time now)> alarm;
    /// A frame of the datagram way, sent between the ends of a link.
    std::function<void(EndId to, proto::LinkId link, BufferRef frame, Time now)> frame = {};
  };

  Network(const Faults& faults, std::uint64_t seed, Handler handler);

  /// The same number names the link at both ends.
  proto::LinkId connect(EndId child, EndId parent);
  /// Closes the link: nothing on it arrives any more.
  void close(proto::LinkId link);
  bool open(proto::LinkId link) const { return links_[link.value].open; }
  EndId other_end(proto::LinkId link, EndId end) const;

  void send(EndId from, proto::LinkId link, const wire::AggHeader& header, std::span<const std::byte> body,
            bool surely = false);
  /// Sends beside all links: on arrival, if there is one, `link` is none.
  void send_datagram(EndId from, EndId to, const wire::AggHeader& header, std::span<const std::byte> body);
  /// Sends a frame of the datagram way to the other end of a link, whether that is still open or not.
  void send_frame(EndId from, proto::LinkId link, std::span<const std::byte> bytes);
  /// Sends bytes that need not be a message, without faults.
  void send_raw(EndId from, proto::LinkId link, std::span<const std::byte> bytes);
  /// Sends bytes that are no message of the tree, in order and without faults: they come late only.
  void send_ordered(EndId from, proto::LinkId link, std::span<const std::byte> head, std::span<const std::byte> data);
  void alarm(Time at, std::uint64_t what);

  /// Delivers the next event. Returns false when there is none.
  bool step();
  Time now() const { return queue_.now(); }
  std::uint64_t deliveries() const { return deliveries_; }
  std::size_t in_flight() const { return messages_under_way_; }
  std::size_t buffers_in_use() const { return pool_.stats().buffers_in_use; }
  std::string last_events(std::size_t count) const;
  void note(std::string text);  ///< Writes a line into the log of events.
  void print_events() { print_ = true; }
  void log_frames() { logs_frames_ = true; }  ///< Frames go into the log as well.

 private:
  struct Event {
    std::uint64_t what = 0;   // an alarm's value
    std::uint32_t frame = 0;  // index of the frame + 1; 0: the event is an alarm
    std::uint32_t link = 0;
    EndId to = 0;
    bool is_datagram = false;
  };
  struct Link {
    EndId child = 0, parent = 0;
    bool open = true;
    Time last_arrival[2]{};
    Duration delay{0};
  };
  struct Logged {
    Time at;
    char what = ' ';
    EndId from = 0, to = 0;
    wire::AggHeader header;
    std::string text;
  };

  void push(Time at, EndId to, std::uint32_t link, BufferRef frame, bool is_datagram = false);
  BufferRef frame_of(const wire::AggHeader& header, std::span<const std::byte> body);
  BufferRef frame_of(std::span<const std::byte> bytes);
  void log(char what, EndId from, EndId to, const wire::AggHeader& header);
  static std::string line(const Logged& entry);

  Faults faults_;
  Random random_, datagram_random_;
  Handler handler_;
  BufferPool pool_{std::size_t{1} << 30};
  std::vector<Link> links_{1};
  EventQueue<Event> queue_;
  std::vector<BufferRef> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::uint64_t deliveries_ = 0;
  std::size_t messages_under_way_ = 0;
  std::vector<Logged> log_;
  std::size_t log_at_ = 0;
  bool print_ = false, logs_frames_ = false;
};

}  // namespace sumac::sim
