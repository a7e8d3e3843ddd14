#pragma once
// The interface to the ucx backend. UCX starts a thread, takes over signals and patches memory functions in any process
// that loads it, so none of our programs links it: the backend is a module of its own, libsumac_net_ucx.so, opened only
// if a configuration asks for ucx. Both sides must come from one build; the name of the entry changes with every change
// of this interface.
#include "net/transport.hpp"

namespace sumac::net {

inline constexpr const char* kUcxModule = "libsumac_net_ucx.so";
inline constexpr const char* kUcxEntry = "sumac_net_ucx_make_v1";

/// Writes a Result<std::unique_ptr<Transport>> to `out`. `fingerprint` is the caller's module_fingerprint(). Returns
/// false if the caller is from another build.
using UcxEntry = bool (*)(std::size_t fingerprint, const TransportConfig* config, BufferPool* pool, void* out);

constexpr std::size_t module_fingerprint() noexcept {
  return sizeof(TransportConfig) * 1000003 + sizeof(TransportStats) * 1009 + sizeof(Transport) * 101 + sizeof(Error) +
         sizeof(BufferRef);
}

/// Opens the module and makes a transport. Returns Errc::unsupported if it is not installed or cannot be loaded here.
Result<std::unique_ptr<Transport>> make_ucx_transport(const TransportConfig& config, BufferPool& pool);

}  // namespace sumac::net
