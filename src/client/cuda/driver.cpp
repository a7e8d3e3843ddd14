#include "client/cuda/driver.hpp"

#include <dlfcn.h>
#include <sharp/api/sharp_coll.h>

#include <atomic>
#include <mutex>

namespace sumac::client::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

std::atomic<const Driver*> ready{nullptr};
std::mutex mutex;
Driver loaded;

/// Returns false if a name is missing; `missing` is then the first one.
bool resolve(void* library, const char*& missing) {
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  take(loaded.init, "cuInit");
  take(loaded.pointer_attribute, "cuPointerGetAttribute");
  take(loaded.primary_retain, "cuDevicePrimaryCtxRetain");
  take(loaded.push, "cuCtxPushCurrent_v2");
  take(loaded.pop, "cuCtxPopCurrent_v2");
  take(loaded.host_alloc, "cuMemHostAlloc");
  take(loaded.host_free, "cuMemFreeHost");
  take(loaded.stream_create, "cuStreamCreate");
  take(loaded.stream_destroy, "cuStreamDestroy_v2");
  take(loaded.stream_synchronize, "cuStreamSynchronize");
  take(loaded.to_host, "cuMemcpyDtoHAsync_v2");
  take(loaded.to_device, "cuMemcpyHtoDAsync_v2");
  take(loaded.event_create, "cuEventCreate");
  take(loaded.event_destroy, "cuEventDestroy_v2");
  take(loaded.event_record, "cuEventRecord");
  take(loaded.event_query, "cuEventQuery");
  take(loaded.error_string, "cuGetErrorString");
  return missing == nullptr;
}

Outcome<const Driver*> load(int flags) {
  // Acquire and release: a thread that sees the pointer also sees the table behind it.
  if (const Driver* driver = ready.load(std::memory_order_acquire)) return driver;
  const std::lock_guard lock(mutex);
  if (const Driver* driver = ready.load(std::memory_order_acquire)) return driver;
  // Never closed: the driver does not expect that, and the library is not ours.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == nullptr) {
    const char* why = (flags & RTLD_NOLOAD) != 0 ? nullptr : ::dlerror();
    return failure(SHARP_COLL_ENOT_SUPP, "no CUDA driver on this host: {}", why == nullptr ? "not loaded" : why);
  }
  const char* missing = nullptr;
  if (!resolve(library, missing))
    return failure(SHARP_COLL_ENOT_SUPP, "the CUDA driver is too old: it has no {}", missing);
  if (const int code = loaded.init(0); code != kSuccess) return tl::unexpected(cuda_failure(loaded, "cuInit", code));
  ready.store(&loaded, std::memory_order_release);
  return &loaded;
}

}  // namespace

const Driver* driver_if_loaded() noexcept {
  try {
    const auto driver = load(RTLD_NOLOAD);
    return driver ? *driver : nullptr;
  } catch (...) {
    return nullptr;
  }
}

Outcome<const Driver*> load_driver() { return load(0); }

Failure cuda_failure(const Driver& driver, const char* function, int code) {
  constexpr int kOutOfMemory = 2;
  const char* text = nullptr;
  if (driver.error_string(code, &text) != kSuccess || text == nullptr) text = "unknown error";
  // Without memory another method may still work; without a working device none does.
  const int status = code == kOutOfMemory ? SHARP_COLL_ENOMEM : SHARP_COLL_EDEV;
  return {status, fmt::format("{}: {} ({})", function, text, code)};
}

}  // namespace sumac::client::cuda
