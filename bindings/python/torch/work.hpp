#pragma once
// A c10d Work of an operation of ours. Its future is made when somebody asks for it.
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/python/core/team.hpp"
#include "bindings/python/torch/staging.hpp"

namespace sumac::torch_backend {

/// Throws what a PyTorch user expects: DistBackendError, ValueError for a call that cannot be right, or the exception of a
/// signal handler such as KeyboardInterrupt.
[[noreturn]] void raise(const Error& why);
std::exception_ptr exception_of(const Error& why);
/// Throws the exception that a signal handler has left behind, if one has.
void raise_interrupt();

/// "all_reduce" for the profiler's "sumac:all_reduce".
const char* without_prefix(const char* title);

/// The memory and the last step of an operation, which outlive its Work: the thread that ends it may be another one.
class Ending : public std::enable_shared_from_this<Ending> {
 public:
  const char* title = "";  ///< For people: "sumac:all_reduce".
  int rank = 0;
  std::vector<at::Tensor> outputs;
  std::size_t lists = 1;          ///< Several: the future's value has the outputs as so many lists of one length.
  std::vector<at::Tensor> keeps;  ///< Inputs and memory between.
  std::shared_ptr<Stage> stage;   ///< The way of tensors that are on a device; none: they are in host memory.
  std::optional<c10::Stream> stream() const { return stage ? stage->stream() : std::nullopt; }
  std::function<void()> divide;    ///< For AVG.
  std::function<void()> last;      ///< Copies into the outputs; none: they have the result already.
  std::function<void()> profiled;  ///< Ends the profiler's event.

  /// Runs the last steps unless the operation has failed, and keeps why it or they failed.
  void end(const Error* why);
  /// Why the operation or its last steps failed, once it is done; null: they did not.
  std::exception_ptr exception() const;
  c10::intrusive_ptr<c10::ivalue::Future> future();
  /// The operation is done: a caller outside the callbacks also waits until its future is.
  void await_future() const;

 private:
  void run_last();
  mutable std::mutex lock_;
  /// Ends the future, whose users' streams then wait for the stage's.
  void complete(c10::ivalue::Future& future);

  bool has_ended_ = false;
  std::exception_ptr exception_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  int level_ = 0;  ///< That of the thread that asked for the future.
};

class TeamWork final : public c10d::Work {
 public:
  /// `shown`: the tensors whose shapes a profiler notes.
  TeamWork(std::shared_ptr<python::Team> team, std::shared_ptr<Ending> ending, c10d::OpType type, const char* title,
           c10::ArrayRef<at::Tensor> shown);

  /// Its ticket calls `ending->end()`. None: it is done.
  void follow(std::shared_ptr<Ticket> ticket) { ticket_ = std::move(ticket); }
  void follow(std::shared_ptr<Promised> promised) { promised_ = std::move(promised); }
  std::shared_ptr<p2p::Message> message;  ///< Set for a message; that of a receive knows its sender.

  bool isCompleted() override { return is_done(); }
  bool isSuccess() const override { return is_done() && !ending_->exception(); }
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return ending_->outputs; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return ending_->future(); }

 private:
  bool is_done() const;

  std::shared_ptr<python::Team> team_;
  std::shared_ptr<Ending> ending_;
  std::shared_ptr<Ticket> ticket_;
  std::shared_ptr<Promised> promised_;
};

/// Several works as one.
class Works final : public c10d::Work {
 public:
  Works(std::vector<c10::intrusive_ptr<c10d::Work>> all, c10d::OpType type) : Work(-1, type), all_(std::move(all)) {}

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> all_;
};

}  // namespace sumac::torch_backend
