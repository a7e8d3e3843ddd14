// Plays ping-pong between PAIRS pairs of processes, each with the transport and the waiter that ranks and nodes use.
//   net_pingpong [backend] [bytes] [rounds] [spin_us] [pairs] [yields]
// Prints the median round trip over all rounds, the 99th percentile, sleeps per round, and CPU time per round of one
// client.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "net/waiter.hpp"

namespace sumac::net {
namespace {

class Side : public TransportEvents {
 public:
  Side(const TransportConfig& config, const WaitLimits& waiting) : pool(64u << 20), waiter(waiting) {
    auto made = make_transport(config, pool);
    if (!made) {
      std::fprintf(stderr, "net_pingpong: %s\n", made.error().context.c_str());
      _exit(1);
    }
    transport = std::move(*made);
  }
  void on_accepted(ConnId conn) override { peer = conn; }
  void on_connected(ConnId) override {}
  void on_writable(ConnId) override {}
  void on_closed(ConnId, const Error&) override { closed = true; }
  void on_message(ConnId conn, BufferRef frame) override {
    ++messages;
    if (echo) transport->send(conn, {}, Payload{frame.bytes(), frame});
  }
  void step() { waiter.wait(transport->progress(*this), *transport); }

  BufferPool pool;
  Waiter waiter;
  ConnId peer;
  bool echo = false, closed = false;
  std::uint64_t messages = 0;
  std::unique_ptr<Transport> transport;
};

double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void serve(const TransportConfig& config, const WaitLimits& waiting, int address_out) {
  Side side(config, waiting);
  side.echo = true;
  const std::string address = side.transport->address();
  if (write(address_out, address.data(), address.size()) < 0) _exit(1);
  ::close(address_out);
  while (!side.closed) side.step();
}

void play(TransportConfig config, const WaitLimits& waiting, int address_in, std::size_t bytes, std::size_t rounds,
          int pairs, float* out) {
  char address[2048] = "";
  std::size_t length = 0;
  for (ssize_t n; (n = read(address_in, address + length, sizeof address - 1 - length)) > 0;)
    length += static_cast<std::size_t>(n);
  config.listen.clear();
  Side side(config, waiting);
  auto conn = side.transport->connect(address);
  if (!conn) _exit(1);
  const std::vector<std::byte> body(bytes);
  const std::size_t warm = rounds / 10;
  double cpu = 0;
  std::uint64_t sleeps = 0;
  for (std::size_t i = 0; i < rounds + warm && !side.closed; ++i) {
    if (i == warm) {
      cpu = cpu_us();
      sleeps = side.waiter.sleeps();
    }
    const auto before = side.messages;
    const Time start = monotonic_now();
    side.transport->send(*conn, {}, Payload{body, {}});
    while (side.messages == before && !side.closed) side.step();
    if (i >= warm) out[i - warm] = static_cast<float>(static_cast<double>((monotonic_now() - start).count()) / 1000);
  }
  std::vector<float> all(out, out + rounds);
  std::sort(all.begin(), all.end());
  const auto n = static_cast<double>(rounds);
  if (pairs == 1 || getenv("EACH") != nullptr)
    std::printf("median %.1f us, p99 %.1f us, %.2f sleeps and %.1f us CPU a round, spin budget left %.1f us\n",
                static_cast<double>(all[rounds / 2]), static_cast<double>(all[rounds * 99 / 100]),
                static_cast<double>(side.waiter.sleeps() - sleeps) / n, (cpu_us() - cpu) / n,
                static_cast<double>(side.waiter.policy().budget().count()) / 1000);
  std::fflush(stdout);
  side.transport->close(*conn, true);
  while (side.transport->flushing() > 0) side.step();
}

}  // namespace
}  // namespace sumac::net

int main(int argc, char** argv) {
  using namespace sumac::net;
  const auto arg = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  TransportConfig config;
  config.backend = arg(1, "tcp");
  config.listen = "127.0.0.1:0";
  config.device = "lo";
  const std::size_t bytes = std::stoul(arg(2, "64")), rounds = std::stoul(arg(3, "20000"));
  sumac::WaitLimits waiting = sumac::waits::kMessage;
  waiting.spin = sumac::Micros{std::stol(arg(4, "20"))};
  const int pairs = std::stoi(arg(5, "1"));
  waiting.yields = static_cast<unsigned>(std::stoul(arg(6, "3")));
  const std::size_t size = rounds * static_cast<std::size_t>(pairs) * sizeof(float);
  auto* times = static_cast<float*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const sumac::Time start = sumac::monotonic_now();
  for (int i = 0; i < pairs; ++i) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    if (fork() == 0) {
      alarm(120);
      ::close(ends[0]);
      serve(config, waiting, ends[1]);
      _exit(0);
    }
    ::close(ends[1]);
    if (fork() == 0) {
      alarm(120);
      play(config, waiting, ends[0], bytes, rounds, pairs, times + static_cast<std::size_t>(i) * rounds);
      _exit(0);
    }
    ::close(ends[0]);
  }
  while (wait(nullptr) > 0) {
  }
  std::vector<float> all(times, times + rounds * static_cast<std::size_t>(pairs));
  std::sort(all.begin(), all.end());
  const double wall = static_cast<double>((sumac::monotonic_now() - start).count()) / 1000;
  std::printf("%s %zu B, spin %s us, %d pairs: median %.1f us, p99 %.1f us, %.2f us of wall time a round trip\n",
              config.backend.c_str(), bytes, arg(4, "20").c_str(), pairs, static_cast<double>(all[all.size() / 2]),
              static_cast<double>(all[all.size() * 99 / 100]), wall / static_cast<double>(all.size()));
}
