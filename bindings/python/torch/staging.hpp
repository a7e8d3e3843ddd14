#pragma once
// Tensors of a device (a GPU) travel through pinned host memory, since the ranks share the host's. They are copied on a stream
// beside the caller's, so that the caller goes on computing:
//
//   caller's stream   ... produces the tensors |                          | uses them ...
//   the stage's                                | to the host | ...        | back |
//   the team                                                 | collective |
//
// The stager's thread waits for the copy to the host, then posts the operation; the thread that ends the operation starts the
// copy back, and the stream of whoever waits for it waits for the copy. All of it goes by PyTorch's interfaces for any device.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.hpp"
#include "base/ticket.hpp"

namespace sumac::torch_backend {

/// One operation's way between a device and the host. For the CPU, which tests use as a device, it has no stream, and a copy is
/// over when it returns.
class Stage {
 public:
  /// Its stream begins behind what the caller's current stream holds.
  explicit Stage(c10::Device device);
  c10::Device device() const noexcept { return device_; }

  /// Host memory that the device can copy from and to.
  at::Tensor host(std::int64_t bytes) const;
  /// The stream on which it copies.
  std::optional<c10::Stream> stream() const noexcept { return stream_; }
  /// The memory of `tensor` is not given to others before the stage's stream is through with it.
  void hold(const at::Tensor& tensor) const;
  /// Puts a mark behind the copies so far.
  void mark();
  /// Blocks this thread until the copies before the mark are over.
  void await() const;
  /// Makes this thread's current stream wait for the copies before the mark.
  void precede_current() const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_;
  std::optional<c10::Event> event_;
};

/// The ticket of an operation that is not posted before its data have left a device.
class Promised {
 public:
  void set(std::shared_ptr<Ticket> ticket);
  /// nullptr: not yet.
  std::shared_ptr<Ticket> get() const;
  /// nullptr: not within `limit`.
  std::shared_ptr<Ticket> wait(Duration limit) const;

 private:
  mutable std::mutex lock_;
  mutable std::condition_variable is_set_;
  std::shared_ptr<Ticket> ticket_;
};

/// Begins the operations of a group in their order, each when its data are in host memory. It has a thread from its first one on.
class Stager {
 public:
  Stager();
  ~Stager();
  Stager(const Stager&) = delete;

  /// `then` is called in the stager's thread; `why`: the copy failed. It must not block.
  void post(std::shared_ptr<Stage> stage, std::function<void(const Error* why)> then);
  /// Blocks until all that was posted has begun: what the caller begins now comes behind it, as at the other ranks.
  void drain();
  /// From here on no stager begins anything: the interpreter ends.
  static void park();

 private:
  struct Job {
    std::shared_ptr<Stage> stage;
    std::function<void(const Error*)> then;
  };
  struct State {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<Job> jobs;  ///< The first one is under way.
    bool is_over = false;
  };
  bool is_of_parent() const;
  static void loop(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::atomic<bool> has_thread_{false};
  unsigned forks_;  ///< A child of a fork has no stager's thread, and its lock may stay locked for ever.
};

}  // namespace sumac::torch_backend
