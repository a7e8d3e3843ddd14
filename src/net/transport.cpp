#include "net/transport.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "net/tcp_transport.hpp"
#include "net/ucx_module.hpp"

namespace sumac::net {

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config, BufferPool& pool) {
  if (config.backend == "tcp") return TcpTransport::make(config, pool);
  if (config.backend == "ucx") return make_ucx_transport(config, pool);
  return fail(Errc::invalid, "there is no transport {}: choose tcp or ucx", config.backend);
}

PeerEnd peer_end(const Error& why) {
  // The backends write "10.77.0.6:43210: silent for 1003 ms".
  const std::string_view text = why.context, words = ": silent for ";
  PeerEnd end;
  end.host = std::string(text.substr(0, text.find(": ")));
  end.host.resize(std::min(end.host.size(), end.host.rfind(':')));
  std::erase_if(end.host, [](char c) { return c == '[' || c == ']'; });
  if (const auto at = text.find(words); why.code == Errc::timeout && at != text.npos) {
    std::int64_t ms = 0;
    std::from_chars(text.data() + at + words.size(), text.data() + text.size(), ms);
    end.silence = Millis{ms};
  }
  return end;
}

Unreached unreached(const Error& why) {
  // The backends write "10.77.0.6:43210: connect: Connection refused" and "10.77.0.6:43210: no connection in 5000 ms".
  const std::string_view text = why.context;
  if (text.ends_with(std::string("connect: ") + std::strerror(ECONNREFUSED))) return Unreached::refused;
  const bool is_silent = text.find("connect: ") != text.npos || text.find("no connection in ") != text.npos;
  return is_silent ? Unreached::silent : Unreached::no;
}

}  // namespace sumac::net
