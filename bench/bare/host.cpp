#include <algorithm>

#include "bench/bare/roles.hpp"
#include "bench/measure.h"

namespace sumac::bare {
namespace {

// Does one operation: `window` messages are in flight until all have come back.
Result<> one_operation(Link& link, Waiter& waiter, const Case& c, std::uint64_t before) {
  const std::uint64_t end = before + c.chunks;
  std::uint64_t owed_up_to = before;
  while (link.arrived() < end) {
    const std::uint64_t may = std::min(end, link.arrived() + c.window);
    if (may > owed_up_to) {
      link.owe(may - owed_up_to);
      owed_up_to = may;
    }
    if (link.flush() == Errc::lost) return fail(Errc::lost, "the node closed the connection");
    const Errc got = link.receive(end);
    if (got == Errc::lost) return fail(Errc::lost, "the node closed the connection");
    if (got == Errc::ok) continue;
    waiter.want(link, true, !link.idle());
    waiter.wait();
  }
  return {};
}

}  // namespace

Result<> run_host(Link parent, const Plan& plan) {
  auto waiter = Waiter::make(plan.spin);
  if (!waiter) return tl::unexpected(waiter.error());
  if (auto added = waiter->add(parent); !added) return added;
  for (const Case& c : plan.cases) {
    std::vector<std::int64_t> report(static_cast<std::size_t>(c.total()) + 2);
    report[0] = 1;  // One host in this sum.
    // A program that moves a vector has it in memory and needs the result in memory: each byte leaves from memory of
    // its own and arrives in memory of its own, as for the library's caller. A single buffer for all messages would
    // stay in the cache, and a program that discards the bytes it receives moves nothing.
    const std::size_t operation_bytes = c.chunks * (kHeaderBytes + c.chunk);
    std::vector<std::byte> out(operation_bytes), in(operation_bytes);
    parent.begin(kHeaderBytes + c.chunk, out, in);
    for (int i = 0; i < c.total(); ++i) {
      const auto cpu_before = bench_cpu_ns();
      const auto start = bench_now_ns();
      if (auto done = one_operation(parent, *waiter, c, static_cast<std::uint64_t>(i) * c.chunks); !done) return done;
      report[static_cast<std::size_t>(i) + 1] = bench_now_ns() - start;
      if (i >= c.warmup) report.back() += bench_cpu_ns() - cpu_before;
    }
    if (auto sent = parent.write_all(std::as_bytes(std::span(report))); !sent) return sent;
  }
  return {};
}

}  // namespace sumac::bare
