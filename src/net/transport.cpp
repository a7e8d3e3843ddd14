#include "net/transport.hpp"

#include "net/tcp_transport.hpp"
#include "net/ucx_module.hpp"

namespace sumac::net {

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config, BufferPool& pool) {
  if (config.backend == "tcp") return TcpTransport::make(config, pool);
  if (config.backend == "ucx") return make_ucx_transport(config, pool);
  return fail(Errc::invalid, "transport {}: there are tcp and ucx", config.backend);
}

}  // namespace sumac::net
