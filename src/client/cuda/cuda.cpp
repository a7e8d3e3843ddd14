#include "client/cuda/cuda.hpp"

#include <sharp/api/sharp_coll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include "client/cuda/driver.hpp"

namespace sumac::client::cuda {
namespace {

DevicePtr address(const void* pointer) noexcept { return reinterpret_cast<DevicePtr>(pointer); }

Outcome<ContextPtr> context_of(const Driver& driver, const void* device) {
  unsigned type = 0;
  if (driver.pointer_attribute(&type, kPointerMemoryType, address(device)) != kSuccess || type != kMemoryTypeDevice)
    return failure(SHARP_COLL_EINVAL, "{} is said to be CUDA memory, but the driver does not know it as such", device);
  ContextPtr context = nullptr;
  if (driver.pointer_attribute(&context, kPointerContext, address(device)) == kSuccess && context != nullptr)
    return context;
  // Memory of a pool belongs to a device, not to a context.
  Device ordinal = 0;
  if (const int code = driver.pointer_attribute(&ordinal, kPointerDeviceOrdinal, address(device)); code != kSuccess)
    return tl::unexpected(cuda_failure(driver, "cuPointerGetAttribute", code));
  if (const int code = driver.primary_retain(&context, ordinal); code != kSuccess)
    return tl::unexpected(cuda_failure(driver, "cuDevicePrimaryCtxRetain", code));
  return context;
}

/// The context is current as long as this object lives.
class Current {
 public:
  Current(const Driver& driver, ContextPtr context) : driver_(driver), code_(driver.push(context)) {}
  ~Current() {
    ContextPtr ours = nullptr;
    if (code_ == kSuccess) driver_.pop(&ours);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  Outcome<> outcome() const {
    if (code_ == kSuccess) return {};
    return tl::unexpected(cuda_failure(driver_, "cuCtxPushCurrent", code_));
  }

 private:
  const Driver& driver_;
  const int code_;
};

/// Pinned memory is expensive to make, so some is kept. It is portable: valid in every context.
class Pinned {
 public:
  struct Block {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    ContextPtr context = nullptr;  ///< The context in which it was made.
  };

  Outcome<Block> take(const Driver& driver, ContextPtr context, std::size_t bytes) {
    const std::size_t size = bytes >= kKeptMax ? bytes : std::bit_ceil(std::max<std::size_t>(bytes, 4096));
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Block& b) { return b.bytes == size; });
      if (found != kept_.end()) {
        const Block block = *found;
        kept_.erase(found);
        kept_bytes_ -= size;
        return block;
      }
    }
    void* memory = nullptr;
    if (const int code = driver.host_alloc(&memory, size, kHostAllocPortable); code != kSuccess)
      return tl::unexpected(cuda_failure(driver, "cuMemHostAlloc", code));
    return Block{static_cast<std::byte*>(memory), size, context};
  }

  void give_back(const Driver& driver, const Block& block) noexcept {
    if (block.memory == nullptr) return;
    {
      const std::lock_guard lock(mutex_);
      if (kept_bytes_ + block.bytes <= kKeptMax) {
        kept_.push_back(block);
        kept_bytes_ += block.bytes;
        return;
      }
    }
    driver.host_free(block.memory);
  }

  void trim(const Driver& driver) noexcept {
    const std::lock_guard lock(mutex_);
    for (const Block& block : kept_) {
      const Current current(driver, block.context);
      driver.host_free(block.memory);
    }
    kept_.clear();
    kept_bytes_ = 0;
  }

 private:
  static constexpr std::size_t kKeptMax = std::size_t{64} << 20;
  std::mutex mutex_;
  std::vector<Block> kept_;
  std::size_t kept_bytes_ = 0;
};

Pinned& pinned() {
  static Pinned memory;
  return memory;
}

std::size_t sum(const std::vector<Piece>& pieces) noexcept {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.bytes;
  return bytes;
}

}  // namespace

struct Stage::Impl {
  const Driver& driver;
  ContextPtr context;
  StreamPtr stream = nullptr;
  std::array<EventPtr, kAhead> events{};
  Pinned::Block in, out;
  std::vector<Piece> from, to;
  std::byte* out_data = nullptr;
  std::size_t total = 0;              ///< The bytes to copy to the host.
  std::size_t asked = 0;              ///< The end of the copies that were started.
  std::size_t arrived = 0;            ///< The end of the copies that have arrived.
  std::size_t piece = 0, within = 0;  ///< The position of the next copy.
  struct UnderWay {
    EventPtr event;
    std::size_t until;
  };
  std::vector<UnderWay> under_way;  ///< Oldest first.
  std::vector<EventPtr> idle;

  Outcome<> start_chunk();
};

bool is_device(const void* pointer) noexcept {
  const Driver* driver = driver_if_loaded();
  unsigned type = 0;
  return driver != nullptr && driver->pointer_attribute(&type, kPointerMemoryType, address(pointer)) == kSuccess &&
         type == kMemoryTypeDevice;
}

Outcome<> require_driver() {
  auto driver = load_driver();
  if (!driver) return tl::unexpected(driver.error());
  return {};
}

void trim() noexcept {
  if (const Driver* driver = driver_if_loaded()) pinned().trim(*driver);
}

Stage::Stage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Outcome<std::unique_ptr<Stage>> Stage::make(const void* device) {
  auto driver = load_driver();
  if (!driver) return tl::unexpected(driver.error());
  auto context = context_of(**driver, device);
  if (!context) return tl::unexpected(context.error());
  std::unique_ptr<Stage> stage(new Stage(std::unique_ptr<Impl>(new Impl{.driver = **driver, .context = *context})));
  Impl& impl = *stage->impl_;
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return tl::unexpected(set.error());
  if (const int code = impl.driver.stream_create(&impl.stream, kStreamNonBlocking); code != kSuccess)
    return tl::unexpected(cuda_failure(impl.driver, "cuStreamCreate", code));
  for (auto& event : impl.events) {
    if (const int code = impl.driver.event_create(&event, kEventDisableTiming); code != kSuccess)
      return tl::unexpected(cuda_failure(impl.driver, "cuEventCreate", code));
    impl.idle.push_back(event);
  }
  impl.under_way.reserve(kAhead);
  return stage;
}

Stage::~Stage() {
  Impl& impl = *impl_;
  const Current current(impl.driver, impl.context);
  if (impl.stream != nullptr) {
    impl.driver.stream_synchronize(impl.stream);
    impl.driver.stream_destroy(impl.stream);
  }
  for (EventPtr event : impl.events)
    if (event != nullptr) impl.driver.event_destroy(event);
  pinned().give_back(impl.driver, impl.in);
  pinned().give_back(impl.driver, impl.out);
}

Outcome<std::span<std::byte>> Stage::give(std::vector<Piece> from) {
  Impl& impl = *impl_;
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return tl::unexpected(set.error());
  impl.total = sum(from);
  auto block = pinned().take(impl.driver, impl.context, impl.total);
  if (!block) return tl::unexpected(block.error());
  impl.in = *block;
  impl.from = std::move(from);
  ready_ = impl.in.memory;
  return std::span(impl.in.memory, impl.total);
}

Outcome<std::span<std::byte>> Stage::keep(std::vector<Piece> to, bool in_place) {
  Impl& impl = *impl_;
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return tl::unexpected(set.error());
  const std::size_t bytes = sum(to);
  impl.to = std::move(to);
  if (in_place && impl.in.memory != nullptr && bytes <= impl.total) {
    impl.out_data = impl.in.memory;
  } else {
    auto block = pinned().take(impl.driver, impl.context, bytes);
    if (!block) return tl::unexpected(block.error());
    impl.out = *block;
    impl.out_data = impl.out.memory;
  }
  return std::span(impl.out_data, bytes);
}

Outcome<> Stage::Impl::start_chunk() {
  const EventPtr event = idle.back();
  std::size_t room = kChunk;
  while (room > 0 && piece < from.size()) {
    const Piece& p = from[piece];
    const std::size_t bytes = std::min(room, p.bytes - within);
    if (bytes > 0) {
      const int code = driver.to_host(in.memory + asked, address(p.device) + within, bytes, stream);
      if (code != kSuccess) return tl::unexpected(cuda_failure(driver, "cuMemcpyDtoHAsync", code));
    }
    asked += bytes;
    room -= bytes;
    within += bytes;
    if (within == p.bytes) ++piece, within = 0;
  }
  if (const int code = driver.event_record(event, stream); code != kSuccess)
    return tl::unexpected(cuda_failure(driver, "cuEventRecord", code));
  idle.pop_back();
  under_way.push_back({event, asked});
  return {};
}

Outcome<bool> Stage::advance() {
  Impl& impl = *impl_;
  if (impl.arrived == impl.total) return true;
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return tl::unexpected(set.error());
  for (;;) {
    while (impl.asked < impl.total && !impl.idle.empty())
      if (auto started = impl.start_chunk(); !started) return tl::unexpected(started.error());
    if (impl.under_way.empty()) break;
    const auto oldest = impl.under_way.front();
    const int code = impl.driver.event_query(oldest.event);
    if (code == kNotReady) break;
    if (code != kSuccess) return tl::unexpected(cuda_failure(impl.driver, "cuEventQuery", code));
    impl.arrived = oldest.until;
    impl.idle.push_back(oldest.event);
    impl.under_way.erase(impl.under_way.begin());
  }
  ready_ = impl.in.memory + impl.arrived;
  return impl.arrived == impl.total;
}

Outcome<> Stage::fetch(const void* device, std::span<std::byte> to) {
  auto stage = make(device);
  if (!stage) return tl::unexpected(stage.error());
  Impl& impl = *(*stage)->impl_;
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return set;
  if (const int code = impl.driver.to_host(to.data(), address(device), to.size(), impl.stream); code != kSuccess)
    return tl::unexpected(cuda_failure(impl.driver, "cuMemcpyDtoHAsync", code));
  if (const int code = impl.driver.stream_synchronize(impl.stream); code != kSuccess)
    return tl::unexpected(cuda_failure(impl.driver, "cuStreamSynchronize", code));
  return {};
}

Outcome<> Stage::finish() {
  Impl& impl = *impl_;
  if (impl.to.empty()) return {};
  const Current current(impl.driver, impl.context);
  if (auto set = current.outcome(); !set) return set;
  const std::byte* at = impl.out_data;
  for (const Piece& piece : impl.to) {
    if (piece.bytes == 0) continue;
    if (const int code = impl.driver.to_device(address(piece.device), at, piece.bytes, impl.stream); code != kSuccess)
      return tl::unexpected(cuda_failure(impl.driver, "cuMemcpyHtoDAsync", code));
    at += piece.bytes;
  }
  if (const int code = impl.driver.stream_synchronize(impl.stream); code != kSuccess)
    return tl::unexpected(cuda_failure(impl.driver, "cuStreamSynchronize", code));
  return {};
}

}  // namespace sumac::client::cuda
