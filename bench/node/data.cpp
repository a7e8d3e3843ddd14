// node-data: the unchanged data path of sharp_an in the loop of sharp_an; the grant of one job comes from the command
// line instead of from a manager.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "net/waiter.hpp"
#include "node/data_path.hpp"
#include "node/memory_bound.hpp"

namespace {

using namespace sumac;

volatile std::sig_atomic_t stop = 0;

struct Options {
  std::uint32_t osts = 16, window = 16, spin_us = 100, spin_percent = 10, groups = 1;
  std::uint32_t payload = 128, chunk = 64u << 10;
  std::size_t memory_mib = 1024;
  unsigned limit_s = 120;
};

Result<> run(const Options& o) {
  BufferPool pool(o.memory_mib << 20);
  Logger log(Logger::Form::daemon, LogLevel::warn);
  net::TransportConfig net;
  net.listen = "127.0.0.1:0";
  node::DataPathConfig config;
  config.limits.payload_max = std::max(config.limits.payload_max, o.payload);
  config.limits.stream_window_max = 64;
  // The children compare the bytes that come, so no sign of life may stand among them, however long a child waits for a processor.
  config.heartbeat = config.lost_after = Seconds(o.limit_s);
  const auto bound = node::bound_memory(o.memory_mib << 20, net, config.limits);
  auto transport = net::make_transport(net, pool);
  if (!transport) return tl::unexpected(transport.error());
  node::DataPath data(config, *std::move(transport), pool, log);
  data.identify(NodeId{1}, TreeId{1}, true, monotonic_now());
  proto::JobGrant grant;
  grant.job_id = JobId{7};
  grant.quota.osts = o.osts;
  grant.quota.max_groups = o.groups;
  grant.quota.payload_per_ost = o.payload;
  grant.quota.stream_window = o.window;
  grant.quota.chunk_bytes = o.chunk;
  if (auto granted = data.grant(grant); !granted) return granted;
  std::printf("bound %zu\nready %s\n", bound.total(1), data.transport().address().substr(4).c_str());
  std::fflush(stdout);
  net::Waiter waiter(
      {.spin = Micros(o.spin_us), .yields = 3, .sleep_max = Millis(100), .cpu_share = o.spin_percent / 100.0});
  while (stop == 0) {
    const std::size_t events = data.progress(monotonic_now());
    waiter.wait(events, data.transport(), data.next_due());
  }
  std::printf("%s\n", data.statistics_json().c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "sharp_an's data path with a job granted by hand. Prints `bound BYTES`, `ready ADDR:PORT`, and at SIGTERM its "
      "statistics.",
      "node-data"};
  app.add_option("--osts", o.osts, "OSTs of the job")->check(CLI::Range(1, 512));
  app.add_option("--window", o.window, "Streaming chunks in flight of a group")->check(CLI::Range(1, 64));
  app.add_option("--payload", o.payload, "Bytes of an OST")->check(CLI::Range(8, 1 << 20));
  app.add_option("--chunk", o.chunk, "Bytes of a streaming chunk")->check(CLI::Range(1024, 64 << 10));
  app.add_option("--spin", o.spin_us, "SUMAC_NODE_SPIN in us")->check(CLI::Range(0, 1'000'000));
  app.add_option("--spin-percent", o.spin_percent, "SUMAC_NODE_SPIN_PERCENT")->check(CLI::Range(0, 100));
  app.add_option("--memory", o.memory_mib, "SUMAC_NODE_MEMORY in MiB")->check(CLI::Range(1, 1 << 20));
  app.add_option("--limit", o.limit_s, "Give up after so many seconds")->check(CLI::Range(1, 3600));
  CLI11_PARSE(app, argc, argv);
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int) { stop = 1; });
  ::alarm(o.limit_s);
  if (const auto done = run(o); !done) return std::fprintf(stderr, "node-data: %s\n", done.error().context.c_str()), 1;
  return 0;
}
