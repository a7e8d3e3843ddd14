#pragma once
// Streams to the manager for a main loop that must not block: gRPC's threads put each message into a queue and set an
// event, and the loop takes it. The caller names each stream by a ticket. Each stream has a connection of its own, so a
// new stream tries the network at once and does not inherit the backoff time of a connection that failed earlier.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "control/signals.hpp"

namespace sumac::control {

using Ticket = std::uint64_t;  ///< Identifies one stream; never used again.

inline std::string no_manager(const std::string& endpoint, const Error& why) {
  if (why.code == Errc::denied) return fmt::format("{}{}: {}", kNotTheManager, endpoint, why.context);
  return fmt::format("no manager at {} ({}): start sharp_am, or mend --manager", endpoint, why.context);
}

template <class Up, class Down>
class ClientStreams {
 public:
  using Reactor = grpc::ClientBidiReactor<Up, Down>;
  using Method = void (*)(v1::Manager::Stub& stub, grpc::ClientContext* context, Reactor* reactor);

  struct Answer {
    Ticket ticket = 0;
    /// True: the stream has ended, and `why` is the reason (Errc::ok for an orderly end). False: `down` was received.
    bool over = false;
    Down down;
    Error why;
  };

  /// `method` starts the call, for example `stub.async()->Job(context, reactor)`. `wake` is set whenever take() has
  /// something to return.
  ClientStreams(std::string endpoint, Method method, WakeEvent& wake, std::shared_ptr<Tls> tls = {})
      : endpoint_(std::move(endpoint)),
        method_(method),
        tls_(std::move(tls)),
        shared_(std::make_shared<Shared>(wake)) {}

  /// Cancels every stream and waits until gRPC has released all of them.
  ~ClientStreams() {
    std::unique_lock lock(shared_->mutex);
    for (auto& [ticket, stream] : shared_->streams) stream->cancel();
    shared_->none_open.wait(lock, [&] { return shared_->streams.empty(); });
    auto retired = std::move(shared_->retired);
    lock.unlock();
  }
  ClientStreams(const ClientStreams&) = delete;
  ClientStreams& operator=(const ClientStreams&) = delete;

  void open(Ticket ticket, Up first) {
    auto channel = make_channel(endpoint_, tls_.get());
    const std::lock_guard lock(shared_->mutex);
    if (!channel) {
      Answer answer;
      answer.ticket = ticket;
      answer.over = true;
      answer.why = {Errc::lost, no_manager(endpoint_, channel.error())};
      shared_->add(std::move(answer));
      return;
    }
    auto* stream = new Stream(shared_, ticket, endpoint_, *std::move(channel));
    shared_->streams[ticket] = stream;
    stream->start(method_, std::move(first));
  }

  /// Does nothing if the stream has ended.
  void send(Ticket ticket, Up up) {
    const std::lock_guard lock(shared_->mutex);
    if (const auto found = shared_->streams.find(ticket); found != shared_->streams.end())
      found->second->send(std::move(up));
  }

  /// The stream ends soon after, with Errc::lost.
  void cancel(Ticket ticket) {
    const std::lock_guard lock(shared_->mutex);
    if (const auto found = shared_->streams.find(ticket); found != shared_->streams.end()) found->second->cancel();
  }

  /// Costs one atomic load, so a loop that spins may call it.
  bool pending() const noexcept { return shared_->pending.load(std::memory_order_acquire); }

  std::vector<Answer> take() {
    std::vector<std::unique_ptr<Stream>> retired;  // These streams are destroyed after the lock is released.
    const std::lock_guard lock(shared_->mutex);
    retired.swap(shared_->retired);
    // The lock orders this store with the access to the answers.
    shared_->pending.store(false, std::memory_order_relaxed);
    return std::exchange(shared_->answers, {});
  }

 private:
  class Stream;
  struct Shared {
    explicit Shared(WakeEvent& event) : wake(event) {}
    std::mutex mutex;
    std::condition_variable none_open;
    std::unordered_map<Ticket, Stream*> streams;
    std::vector<std::unique_ptr<Stream>> retired;
    std::vector<Answer> answers;
    std::atomic<bool> pending = false;
    WakeEvent& wake;

    void add(Answer answer) {
      answers.push_back(std::move(answer));
      // A thread that reads true takes the mutex next, which orders the rest.
      pending.store(true, std::memory_order_release);
      wake.set();
    }
  };

  // OnDone does not destroy the stream, though it is gRPC's last callback: destroying the last channel of a process on
  // one of gRPC's own threads would make that thread join itself (gRPC 1.51 then aborts one start in three with
  // "assertion failed: prior > 0"). The loop's thread destroys it.
  class Stream final : public Reactor {
   public:
    Stream(std::shared_ptr<Shared> shared, Ticket ticket, const std::string& endpoint,
           const std::shared_ptr<grpc::Channel>& channel)
        : shared_(std::move(shared)), ticket_(ticket), endpoint_(endpoint), stub_(v1::Manager::NewStub(channel)) {}

    void start(Method method, Up first) {
      queue_.push_back(std::move(first));
      method(*stub_, &context_, this);
      this->AddHold();  // A hold keeps OnDone away while the loop may still start a write.
      held_ = true;
      write();
      this->StartRead(&down_);
      this->StartCall();
    }

    // The caller of send() and cancel() holds the mutex.
    void send(Up up) {
      if (broken_) return;
      queue_.push_back(std::move(up));
      if (!writing_) write();
    }
    void cancel() { context_.TryCancel(); }

    void OnWriteDone(bool ok) override {
      const std::lock_guard lock(shared_->mutex);
      writing_ = false;
      queue_.pop_front();
      if (!ok) broken_ = true;
      if (!broken_ && !queue_.empty()) write();
    }

    void OnReadDone(bool ok) override {
      const std::lock_guard lock(shared_->mutex);
      if (ok) {
        Answer answer;
        answer.ticket = ticket_;
        answer.down.Swap(&down_);
        shared_->add(std::move(answer));
        this->StartRead(&down_);
        return;
      }
      broken_ = true;
      if (std::exchange(held_, false)) this->RemoveHold();
    }

    void OnDone(const grpc::Status& status) override {
      const auto shared = shared_;
      const std::lock_guard lock(shared->mutex);
      Answer answer;
      answer.ticket = ticket_;
      answer.over = true;
      answer.why = from_status(status);
      if (answer.why.context.starts_with(kTlsFailure))
        answer.why.context = fmt::format("the manager at {}: {}", endpoint_, answer.why.context);
      else if (answer.why.code == Errc::lost)
        answer.why.context = no_manager(endpoint_, answer.why);
      shared->streams.erase(ticket_);
      shared->retired.emplace_back(this);
      shared->add(std::move(answer));
      shared->none_open.notify_all();
    }

   private:
    void write() {
      writing_ = true;
      this->StartWrite(&queue_.front());
    }

    std::shared_ptr<Shared> shared_;
    Ticket ticket_;
    std::string endpoint_;
    std::unique_ptr<v1::Manager::Stub> stub_;
    grpc::ClientContext context_;
    std::deque<Up> queue_;
    Down down_;
    bool writing_ = false, broken_ = false, held_ = false;
  };

  std::string endpoint_;
  Method method_;
  std::shared_ptr<Tls> tls_;
  std::shared_ptr<Shared> shared_;
};

/// The stream type of sharpd, which has one open at a time.
using HostStreams = ClientStreams<v1::HostUp, v1::HostDown>;
inline void start_host_stream(v1::Manager::Stub& stub, grpc::ClientContext* context, HostStreams::Reactor* reactor) {
  stub.async()->Host(context, reactor);
}

/// The stream type of a node, which has one open at a time.
using NodeStreams = ClientStreams<v1::NodeUp, v1::NodeDown>;
inline void start_node_stream(v1::Manager::Stub& stub, grpc::ClientContext* context, NodeStreams::Reactor* reactor) {
  stub.async()->Node(context, reactor);
}

}  // namespace sumac::control
