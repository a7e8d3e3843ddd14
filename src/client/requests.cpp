#include "client/requests.hpp"

namespace sumac::client {

RequestTable& request_table() {
  static RequestTable table;
  return table;
}

Request* RequestTable::find(void* handle) const noexcept {
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  const auto number = static_cast<std::uint32_t>(word);
  if (number == 0 || number > kBatch * kBatches) return nullptr;
  // An acquire load: it pairs with the release in take_batch(), so that a slot that is found is a complete slot.
  Request* batch = batches_[(number - 1) / kBatch].load(std::memory_order_acquire);
  if (batch == nullptr) return nullptr;
  Request& request = batch[(number - 1) % kBatch];
  // Relaxed: a caller that tests a handle has it from the call that made it, and passed it to this thread with its own
  // synchronisation.
  if (request.generation.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(word >> 32)) return nullptr;
  return &request;
}

Request* RequestTable::take_batch(Context* owner) {
  const std::lock_guard lock(mutex_);
  Request* batch = nullptr;
  if (!idle_.empty()) {
    batch = idle_.back();
    idle_.pop_back();
  } else {
    if (made_ == kBatches) return nullptr;
    owned_.push_back(std::make_unique<Request[]>(kBatch));
    batch = owned_.back().get();
    for (std::uint32_t i = 0; i < kBatch; ++i) batch[i].index = made_ * kBatch + i;
    batches_[made_++].store(batch, std::memory_order_release);
  }
  for (std::uint32_t i = 0; i < kBatch; ++i) batch[i].context = owner;
  return batch;
}

void RequestTable::give_back(Request* batch) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < kBatch; ++i) batch[i].context = nullptr;
  idle_.push_back(batch);
}

RequestPool::~RequestPool() {
  for (Request* batch : batches_) {
    for (std::uint32_t i = 0; i < RequestTable::kBatch; ++i)
      if (batch[i].state != Request::State::free) put(&batch[i]);
    request_table().give_back(batch);
  }
}

Request* RequestPool::take() {
  if (free_.empty()) {
    Request* batch = request_table().take_batch(owner_);
    if (batch == nullptr) return nullptr;
    batches_.push_back(batch);
    free_.reserve(batches_.size() * RequestTable::kBatch);
    for (std::uint32_t i = RequestTable::kBatch; i > 0; --i)
      if (batch[i - 1].generation.load(std::memory_order_relaxed) != 0) free_.push_back(&batch[i - 1]);
    if (free_.empty()) return take();
  }
  Request* request = free_.back();
  free_.pop_back();
  request->state = Request::State::pending;
  return request;
}

void RequestPool::put(Request* request) noexcept {
  request->state = Request::State::free;
  request->dropped = request->streamed = request->is_leave = request->by_hop = false;
  request->comm = nullptr;
  request->parts = 0;
  request->status = 0;
  request->staging.reset();
  request->why.reset();
  // A generation is never used again: after the last one (0) the slot is never reused. Relaxed: see find().
  const auto next = request->generation.load(std::memory_order_relaxed) + 1;
  request->generation.store(next, std::memory_order_relaxed);
  if (next != 0) free_.push_back(request);
}

}  // namespace sumac::client
