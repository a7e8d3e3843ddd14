#pragma once
// The switch itself: one thread, one packet socket that receives from and sends to the switch's ends of all device
// pairs, and the virtual fabric in between. Reads and writes go in batches; the thread sleeps whenever nothing is due.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/virtual_fabric.hpp"

namespace sumac::lab {

/// Counters of the switch; LinkCounters explains the memory order.
struct SwitchCounters {
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> wakeups{0};
  std::atomic<std::uint64_t> dropped_out{0};  ///< The kernel did not accept a frame from the switch.
  /// Frames to no port of the fabric (broadcast, some multicasts): these do not count as drops.
  std::atomic<std::uint64_t> ignored{0};
  std::atomic<std::uint64_t> late_max_ns{0};  ///< The longest time by which a frame left after it was due.
  std::atomic<std::uint64_t> late_sum_ns{0};
};

class PacketSwitch {
 public:
  /// Opens the socket in the network namespace of the calling thread, which holds `device_index[i]` for port i.
  static Result<std::unique_ptr<PacketSwitch>> open(const Plan& plan, const std::vector<unsigned>& device_index);
  ~PacketSwitch();
  PacketSwitch(const PacketSwitch&) = delete;
  PacketSwitch& operator=(const PacketSwitch&) = delete;

  /// Starts the thread.
  Result<> start();
  bool realtime() const { return realtime_; }

  const VirtualFabric& fabric() const { return fabric_; }
  /// The chance of a frame to vanish between two neighbours, in both directions; 1: cut; none: as the fabric file says.
  /// Errc::not_found: no link joins them.
  Result<> set_loss(const std::string& a, const std::string& b, std::optional<double> loss);
  const SwitchCounters& counters() const { return counters_; }
  /// Counts frames that found the kernel's queue before the switch full. The kernel resets its count on each read, so
  /// only one thread may ask.
  std::uint64_t dropped_in();
  std::uint64_t drops();       ///< Counts all drops that are not intended losses.
  double cpu_seconds() const;  ///< Time of the switch's thread so far.

 private:
  explicit PacketSwitch(const Plan& plan);
  void run();
  void read_all();
  /// Sets the frame's destination. Returns false when no port gets it.
  bool address(Frame& frame, std::size_t from, const std::uint8_t* mac) const;
  void write_due();
  void sleep();
  bool sleep_until(std::int64_t until_ns);

  Plan plan_;
  VirtualFabric fabric_;
  FramePool pool_;
  SwitchCounters counters_;
  UniqueFd socket_;
  UniqueFd stop_;
  std::vector<unsigned> device_index_;                     ///< [port]: index of its device.
  std::vector<std::int32_t> port_by_device_;               ///< [device index]: port; -1: none of ours.
  std::uint32_t receive_bytes_ = FramePool::kFullBytes;    ///< Memory that a receiving slot needs.
  std::uint32_t copy_bytes_max_ = FramePool::kSmallBytes;  ///< Up to this size a frame moves to memory of its own size.
  std::int64_t read_at_ns_ = 0;
  std::int64_t lead_ns_ = 0;  ///< Time to wake before it is needed: the recent wake-up time.
  std::int64_t wrote_at_ns_ = 0;
  std::int64_t window_at_ns_ = 0;  ///< The millisecond in which sent bytes are counted, to detect streaming.
  std::uint64_t window_bytes_ = 0;
  bool streaming_ = false;
  std::uint64_t dropped_in_ = 0;
  std::atomic<bool> stopping_{false};
  bool realtime_ = false;
  std::thread thread_;
  struct Batches;
  std::unique_ptr<Batches> batches_;
};

}  // namespace sumac::lab
