#pragma once
// The way to the ucx backend. UCX starts a thread, takes over signals and patches memory functions in any process that loads
// it, so none of our programs links it: a module of its own, libsumac_net_ucx.so, needs it and is opened only if a
// configuration asks for ucx. ucx_functions.h says what the module holds.
#include "net/transport.hpp"

namespace sumac::net {

inline constexpr const char* kUcxModule = "libsumac_net_ucx.so";
inline constexpr const char* kUcxFunctions = "sumac_net_ucx_functions_v1";

/// Opens the module and makes a transport. Returns Errc::unsupported if it is not installed or cannot be loaded here.
Result<std::unique_ptr<Transport>> make_ucx_transport(const TransportConfig& config, BufferPool& pool);

}  // namespace sumac::net
