#pragma once
// The door between us and the ucx backend. UCX starts a thread, takes over signals and patches memory functions in whatever process
// loads it, so nothing of ours links it: the backend is a module of its own, libsumac_net_ucx.so, opened only when a configuration
// asks for ucx. Both sides come from one build; the name of the entry changes with whatever crosses it.
#include "net/transport.hpp"

namespace sumac::net {

inline constexpr const char* kUcxModule = "libsumac_net_ucx.so";
inline constexpr const char* kUcxEntry = "sumac_net_ucx_make_v1";

/// Writes a Result<std::unique_ptr<Transport>> to `out`. `fingerprint`: module_fingerprint() of the caller; false: another build.
using UcxEntry = bool (*)(std::size_t fingerprint, const TransportConfig* config, BufferPool* pool, void* out);

constexpr std::size_t module_fingerprint() noexcept {
  return sizeof(TransportConfig) * 1000003 + sizeof(TransportStats) * 1009 + sizeof(Transport) * 101 + sizeof(Error) +
         sizeof(BufferRef);
}

/// Opens the module and makes a transport. Errc::unsupported: it is not installed or can't be loaded here.
Result<std::unique_ptr<Transport>> make_ucx_transport(const TransportConfig& config, BufferPool& pool);

}  // namespace sumac::net
