#include "bindings/python/torch/work.hpp"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <algorithm>
#include <cstring>

#include "bindings/python/torch/completer.hpp"

namespace sumac::torch_backend {

std::exception_ptr exception_of(const Error& why) {
  const c10::SourceLocation here{__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)};
  const std::string text = python::printable(why.context);
  if (why.code == Errc::invalid) return std::make_exception_ptr(c10::ValueError(here, text));
  return std::make_exception_ptr(c10::DistBackendError(here, text));
}

const char* without_prefix(const char* title) {
  const char* const colon = std::strchr(title, ':');
  return colon == nullptr ? title : colon + 1;
}

void raise_interrupt() {
  if (Py_IsInitialized() == 0) return;
  const pybind11::gil_scoped_acquire gil;
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
}

void raise(const Error& why) {
  if (why.code == Errc::interrupted) raise_interrupt();
  std::rethrow_exception(exception_of(why));
}

void Ending::run_last() {
  if (!divide && !last && !stage) return;
  const at::NoGradGuard no_grad;
  const c10::OptionalStreamGuard on_stage(stream());
  if (divide) divide();
  if (last) last();
  divide = last = nullptr;
  if (stage) stage->mark();
}

void Ending::end(const Error* why) {
  std::exception_ptr exception = why != nullptr ? exception_of(*why) : nullptr;
  try {
    if (!exception) run_last();
  } catch (...) {
    exception = std::current_exception();
  }
  if (profiled) profiled();
  c10::intrusive_ptr<c10::ivalue::Future> asked;
  {
    const std::lock_guard guard(lock_);
    has_ended_ = true;
    exception_ = exception;
    asked = future_;
  }
  if (!asked) return;
  Completer::own().post(level_, title, rank, [self = shared_from_this(), asked] { self->complete(*asked); });
}

std::exception_ptr Ending::exception() const {
  const std::lock_guard guard(lock_);
  return exception_;
}

void Ending::complete(c10::ivalue::Future& future) {
  if (exception_) {
    future.setError(exception_);
    return;
  }
  const c10::OptionalStreamGuard on_stage(stream());
  if (lists == 1) return future.markCompleted(c10::IValue(outputs));
  const auto step = static_cast<std::ptrdiff_t>(outputs.size() / lists);
  std::vector<std::vector<at::Tensor>> parts;
  for (auto at = outputs.begin(); at != outputs.end(); at += step) parts.emplace_back(at, at + step);
  future.markCompleted(c10::IValue(parts));
}

c10::intrusive_ptr<c10::ivalue::Future> Ending::future() {
  bool has_ended = false;
  {
    const std::lock_guard guard(lock_);
    if (future_) return future_;
    std::vector<c10::Device> devices;
    if (stage && !stage->device().is_cpu()) devices.push_back(stage->device());
    c10::TypePtr type = c10::ListType::create(c10::TensorType::get());
    if (lists > 1) type = c10::ListType::create(type);
    future_ = c10::make_intrusive<c10::ivalue::Future>(type, devices);
    level_ = Completer::level();
    has_ended = has_ended_;
  }
  if (has_ended) complete(*future_);
  return future_;
}

void Ending::await_future() const {
  // A callback may wait for an operation whose future comes behind its own.
  if (Completer::level() > 0) return;
  c10::intrusive_ptr<c10::ivalue::Future> asked;
  {
    const std::lock_guard guard(lock_);
    asked = future_;
  }
  if (asked) asked->wait();
}

TeamWork::TeamWork(std::shared_ptr<python::Team> team, std::shared_ptr<Ending> ending, c10d::OpType type,
                   const char* title, c10::ArrayRef<at::Tensor> shown)
    : Work(team->rank(), type, at::hasCallbacks() ? title : nullptr,
           at::hasCallbacks() ? std::optional(shown.vec()) : std::nullopt),
      team_(std::move(team)),
      ending_(std::move(ending)) {
  ending_->title = title;
  ending_->rank = team_->rank();
  if (recordFunctionEndCallback_) ending_->profiled = std::move(recordFunctionEndCallback_);
}

bool TeamWork::is_done() const {
  if (!promised_) return !ticket_ || ticket_->is_done();
  const auto there = promised_->get();
  return there && there->is_done();
}

std::exception_ptr TeamWork::exception() const { return is_done() ? ending_->exception() : nullptr; }

int TeamWork::sourceRank() const {
  TORCH_CHECK(message && isSuccess(), "sourceRank() is of a receive that has succeeded");
  return message->peer;
}

bool TeamWork::wait(std::chrono::milliseconds timeout) {
  Duration limit = timeout == kNoTimeout ? Duration::max() : Duration(timeout);
  auto there = ticket_;
  if (promised_) {
    const Time began = monotonic_now();
    there = promised_->wait(limit);
    if (!there)
      raise({Errc::timeout, fmt::format("rank {}: wait() timed out after {} ms: the device has not come to it",
                                        team_->rank(), timeout.count())});
    if (limit != Duration::max()) limit = std::max(Duration{0}, limit - (monotonic_now() - began));
  }
  if (!there) return true;
  auto waited = team_->wait(*there, limit);
  if (there->is_done()) ending_->await_future();
  if (!waited) raise(waited.error());
  if (const auto failed = ending_->exception()) std::rethrow_exception(failed);
  if (ending_->stage) ending_->stage->precede_current();
  return true;
}

void TeamWork::abort() {
  if (message) team_->withdraw(message);
}

bool Works::isCompleted() {
  return std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one->isCompleted(); });
}

bool Works::isSuccess() const {
  return std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one->isSuccess(); });
}

std::exception_ptr Works::exception() const {
  for (const auto& one : all_)
    if (auto found = one->exception()) return found;
  return nullptr;
}

std::vector<at::Tensor> Works::result() {
  std::vector<at::Tensor> found;
  for (const auto& one : all_)
    for (const auto& tensor : one->result()) found.push_back(tensor);
  return found;
}

bool Works::wait(std::chrono::milliseconds timeout) {
  for (const auto& one : all_) one->wait(timeout);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> Works::getFuture() {
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> parts(
      c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
  for (const auto& one : all_) parts.push_back(one->getFuture());
  const auto type = c10::ListType::create(c10::TensorType::get());
  return c10::collectAll(parts)->then(
      [](c10::ivalue::Future& all) {
        std::vector<at::Tensor> found;
        for (const c10::IValue& one : all.value().toListRef())
          for (const at::Tensor& tensor : one.toFuture()->value().toTensorVector()) found.push_back(tensor);
        return c10::IValue(found);
      },
      type);
}

}  // namespace sumac::torch_backend
