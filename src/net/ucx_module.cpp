#include "net/ucx_module.hpp"

#include "net/ucx_transport.hpp"

extern "C" __attribute__((visibility("default"))) bool sumac_net_ucx_make_v1(std::size_t fingerprint,
                                                                             const sumac::net::TransportConfig* config,
                                                                             sumac::BufferPool* pool, void* out) {
  using namespace sumac::net;
  if (fingerprint != module_fingerprint()) return false;
  *static_cast<sumac::Result<std::unique_ptr<Transport>>*>(out) = UcxTransport::make(*config, *pool);
  return true;
}
