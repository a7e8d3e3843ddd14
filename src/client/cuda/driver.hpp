#pragma once
// The functions of the CUDA driver that we use, declared from its public documentation (docs/adr/0029); only this
// folder includes this header.
#include <cstddef>

#include "client/status.hpp"

namespace sumac::client::cuda {

using DevicePtr = unsigned long long;
using ContextPtr = struct CudaContext*;
using StreamPtr = struct CudaStream*;
using EventPtr = struct CudaEvent*;
using Device = int;

inline constexpr int kSuccess = 0, kNotReady = 600;
/// Values of CUpointer_attribute.
inline constexpr int kPointerContext = 1, kPointerMemoryType = 2, kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr unsigned kHostAllocPortable = 1, kStreamNonBlocking = 1, kEventDisableTiming = 2;

struct Driver {
  int (*init)(unsigned flags);
  int (*pointer_attribute)(void* value, int attribute, DevicePtr pointer);
  int (*primary_retain)(ContextPtr* context, Device device);
  int (*push)(ContextPtr context);
  int (*pop)(ContextPtr* context);
  int (*host_alloc)(void** memory, std::size_t bytes, unsigned flags);
  int (*host_free)(void* memory);
  int (*stream_create)(StreamPtr* stream, unsigned flags);
  int (*stream_destroy)(StreamPtr stream);
  int (*stream_synchronize)(StreamPtr stream);
  int (*to_host)(void* to, DevicePtr from, std::size_t bytes, StreamPtr stream);
  int (*to_device)(DevicePtr to, const void* from, std::size_t bytes, StreamPtr stream);
  int (*event_create)(EventPtr* event, unsigned flags);
  int (*event_destroy)(EventPtr event);
  int (*event_record)(EventPtr event, StreamPtr stream);
  int (*event_query)(EventPtr event);
  int (*error_string)(int code, const char** text);
};

/// Returns the driver if this process has it already; never loads it.
const Driver* driver_if_loaded() noexcept;
/// Loads it if necessary.
Outcome<const Driver*> load_driver();

/// Makes a message such as "cuMemcpyDtoHAsync: out of memory (2)".
Failure cuda_failure(const Driver& driver, const char* function, int code);

}  // namespace sumac::client::cuda
