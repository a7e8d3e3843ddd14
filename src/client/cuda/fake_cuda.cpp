// Stands in for the CUDA driver's library in tests. "Device" memory is mapped without any access, so a process that
// touches it like host memory dies at once. Copies use a second mapping of the same pages, and they happen only when an
// event or stream has been queried often enough, as on a device that works in parallel with the host. Calls are
// counted, and any can be made to fail.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "client/cuda/fake_cuda.hpp"

namespace {

struct Memory {
  std::byte* device;
  std::byte* host;
  std::size_t bytes;
};
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};
struct Stream {
  std::deque<Copy> copies;
  std::uint64_t queued = 0, done = 0;
};
struct Event {
  Stream* stream = nullptr;
  std::uint64_t until = 0;
  int questions = 0;
};

std::map<std::uint64_t, Memory> memories;  // Keyed by their beginning on the device.
std::map<std::string, int> fails_after;
FakeCudaCounts counts;
int current_contexts = 0;

constexpr int kInvalidValue = 1, kInvalidContext = 201, kNotReady = 600;

/// Returns the code that a test wants from this call, or 0.
int wanted(const char* function) {
  const auto found = fails_after.find(function);
  if (found == fails_after.end() || found->second-- > 0) return 0;
  fails_after.erase(found);
  return 2;
}

const Memory* memory_at(std::uint64_t pointer, std::size_t bytes = 1) {
  auto after = memories.upper_bound(pointer);
  if (after == memories.begin()) return nullptr;
  const auto& [begin, memory] = *--after;
  return pointer + bytes <= begin + memory.bytes ? &memory : nullptr;
}

void run(Stream& stream, std::uint64_t until) {
  while (stream.done < until) {
    const Copy copy = stream.copies.front();
    stream.copies.pop_front();
    std::memcpy(copy.to, copy.from, copy.bytes);
    ++stream.done;
  }
}

}  // namespace

extern "C" {

void* fake_cuda_malloc(std::size_t bytes) {
  const int fd = ::memfd_create("fake-device", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* device = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, fd, 0);
  void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  memories[reinterpret_cast<std::uint64_t>(device)] = {static_cast<std::byte*>(device), static_cast<std::byte*>(host),
                                                       bytes};
  return device;
}
void fake_cuda_free(void* device) {
  const auto found = memories.find(reinterpret_cast<std::uint64_t>(device));
  ::munmap(found->second.device, found->second.bytes);
  ::munmap(found->second.host, found->second.bytes);
  memories.erase(found);
}
void* fake_cuda_view(void* device) { return memories.at(reinterpret_cast<std::uint64_t>(device)).host; }
void fake_cuda_fail(const char* function, int after) { fails_after[function] = after; }
FakeCudaCounts fake_cuda_counts() { return counts; }

// The functions that a program with device memory of its own calls; the test is one.
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  *memory = reinterpret_cast<std::uint64_t>(fake_cuda_malloc(bytes));
  return *memory == 0 ? 2 : 0;
}
int cuMemFree_v2(unsigned long long memory) {
  if (memories.count(memory) == 0) return kInvalidValue;
  fake_cuda_free(reinterpret_cast<void*>(memory));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  const Memory* memory = memory_at(to, bytes);
  if (memory == nullptr) return kInvalidValue;
  std::memcpy(memory->host + (to - reinterpret_cast<std::uint64_t>(memory->device)), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  const Memory* memory = memory_at(from, bytes);
  if (memory == nullptr) return kInvalidValue;
  std::memcpy(to, memory->host + (from - reinterpret_cast<std::uint64_t>(memory->device)), bytes);
  return 0;
}
int cuDeviceGetCount(int* devices) {
  *devices = 1;
  return 0;
}
int cuCtxSetCurrent(void* context) { return context == &memories ? 0 : kInvalidContext; }

int cuInit(unsigned) { return wanted("cuInit"); }
int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer) {
  if (const int code = wanted("cuPointerGetAttribute")) return code;
  if (memory_at(pointer) == nullptr) return kInvalidValue;
  const unsigned device_memory = 2;
  const int ordinal = 0;
  void* context = pointer == 0 ? nullptr : &memories;
  if (attribute == 1) std::memcpy(value, &context, sizeof context);
  if (attribute == 2) std::memcpy(value, &device_memory, sizeof device_memory);
  if (attribute == 9) std::memcpy(value, &ordinal, sizeof ordinal);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &memories;
  return wanted("cuDevicePrimaryCtxRetain");
}
int cuCtxPushCurrent_v2(void* context) {
  if (const int code = wanted("cuCtxPushCurrent")) return code;
  if (context != &memories) return kInvalidContext;
  ++current_contexts;
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &memories;
  --current_contexts;
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const int code = wanted("cuMemHostAlloc")) return code;
  *memory = ::operator new (bytes, std::align_val_t{4096});
  ++counts.pinned;
  return 0;
}
int cuMemFreeHost(void* memory) {
  ::operator delete (memory, std::align_val_t{4096});
  --counts.pinned;
  return 0;
}
int cuStreamCreate(Stream** stream, unsigned) {
  if (const int code = wanted("cuStreamCreate")) return code;
  if (current_contexts == 0) return kInvalidContext;
  *stream = new Stream;
  ++counts.streams;
  return 0;
}
int cuStreamSynchronize(Stream* stream) {
  run(*stream, stream->queued);
  return wanted("cuStreamSynchronize");
}
int cuStreamDestroy_v2(Stream* stream) {
  delete stream;
  --counts.streams;
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, Stream* stream) {
  if (const int code = wanted("cuMemcpyDtoHAsync")) return code;
  const Memory* memory = memory_at(from, bytes);
  if (memory == nullptr || current_contexts == 0) return kInvalidValue;
  const auto offset = from - reinterpret_cast<std::uint64_t>(memory->device);
  stream->copies.push_back({static_cast<std::byte*>(to), memory->host + offset, bytes});
  ++stream->queued;
  ++counts.to_host;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, Stream* stream) {
  if (const int code = wanted("cuMemcpyHtoDAsync")) return code;
  const Memory* memory = memory_at(to, bytes);
  if (memory == nullptr || current_contexts == 0) return kInvalidValue;
  const auto offset = to - reinterpret_cast<std::uint64_t>(memory->device);
  stream->copies.push_back({memory->host + offset, static_cast<const std::byte*>(from), bytes});
  ++stream->queued;
  ++counts.to_device;
  return 0;
}
int cuEventCreate(Event** event, unsigned) {
  if (const int code = wanted("cuEventCreate")) return code;
  *event = new Event;
  ++counts.events;
  return 0;
}
int cuEventDestroy_v2(Event* event) {
  delete event;
  --counts.events;
  return 0;
}
int cuEventRecord(Event* event, Stream* stream) {
  if (const int code = wanted("cuEventRecord")) return code;
  *event = {stream, stream->queued, 3};
  return 0;
}
int cuEventQuery(Event* event) {
  if (const int code = wanted("cuEventQuery")) return code;
  if (event->questions-- > 0) {
    ++counts.not_ready;
    return kNotReady;
  }
  run(*event->stream, event->until);
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == 2 ? "out of memory" : "invalid argument";
  return 0;
}

}  // extern "C"
