#include "bindings/python/torch/staging.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/thread.hpp"
#include "bindings/python/core/worker.hpp"

namespace sumac::torch_backend {
namespace {

/// Held while a stager begins an operation, so that park() returns between two of them.
std::mutex parking;
bool is_parked = false;

}  // namespace

Stage::Stage(c10::Device device) : device_(device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  stream_ = guard.getStreamFromGlobalPool(device);
  event_.emplace(device.type());
  event_->record(guard.getStream(device));
  event_->block(*stream_);
}

at::Tensor Stage::host(std::int64_t bytes) const {
  return at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(!device_.is_cpu()));
}

void Stage::hold(const at::Tensor& tensor) const {
  if (stream_) c10::impl::VirtualGuardImpl(device_.type()).recordDataPtrOnStream(tensor.storage().data_ptr(), *stream_);
}

void Stage::mark() {
  if (stream_) event_->record(*stream_);
}

void Stage::await() const {
  if (stream_) event_->synchronize();
}

void Stage::precede_current() const {
  if (stream_) event_->block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

void Promised::set(std::shared_ptr<Ticket> ticket) {
  {
    const std::lock_guard guard(lock_);
    ticket_ = std::move(ticket);
  }
  is_set_.notify_all();
}

std::shared_ptr<Ticket> Promised::get() const {
  const std::lock_guard guard(lock_);
  return ticket_;
}

std::shared_ptr<Ticket> Promised::wait(Duration limit) const {
  std::unique_lock guard(lock_);
  const auto is_there = [&] { return ticket_ != nullptr; };
  if (limit == Duration::max())
    is_set_.wait(guard, is_there);
  else
    is_set_.wait_for(guard, limit, is_there);
  return ticket_;
}

Stager::Stager() : state_(std::make_shared<State>()), forks_(python::forks()) {}

bool Stager::is_of_parent() const { return forks_ != python::forks(); }

Stager::~Stager() {
  if (is_of_parent()) return;
  {
    const std::lock_guard guard(state_->lock);
    state_->is_over = true;
  }
  state_->changed.notify_all();
}

void Stager::post(std::shared_ptr<Stage> stage, std::function<void(const Error*)> then) {
  // The team refuses it, with words for people.
  if (is_of_parent()) return then(nullptr);
  {
    const std::lock_guard guard(state_->lock);
    state_->jobs.push_back({std::move(stage), std::move(then)});
    if (!has_thread_) {
      // Nobody joins it: a thread that ends a group may hold Python's lock, and a job may need that.
      sumac::start_thread([state = state_] { loop(state); }).detach();
      has_thread_ = true;
    }
  }
  state_->changed.notify_all();
}

void Stager::drain() {
  if (!has_thread_ || is_of_parent()) return;
  std::unique_lock guard(state_->lock);
  state_->changed.wait(guard, [&] { return state_->jobs.empty(); });
}

void Stager::park() {
  const std::lock_guard guard(parking);
  is_parked = true;
}

void Stager::loop(const std::shared_ptr<State>& state) {
  while (true) {
    Job job;
    {
      std::unique_lock guard(state->lock);
      state->changed.wait(guard, [&] { return !state->jobs.empty() || state->is_over; });
      if (state->jobs.empty()) return;
      job = state->jobs.front();
    }
    std::optional<Error> why;
    try {
      job.stage->await();
    } catch (const std::exception& error) {
      why = Error{Errc::lost, std::string("the copy from the device: ") + error.what()};
    }
    {
      const std::lock_guard guard(parking);
      if (is_parked) return;
      job.then(why ? &*why : nullptr);
    }
    job = {};  // It holds the caller's memory.
    {
      const std::lock_guard guard(state->lock);
      state->jobs.pop_front();
    }
    state->changed.notify_all();
  }
}

}  // namespace sumac::torch_backend
