#include <algorithm>

#include "bench/bare/roles.hpp"
#include "bench/measure.h"

namespace sumac::bare {
namespace {

// The root sends all hosts one moment at which they start. The moment lies twice as far ahead as the root's previous
// message needed to reach the last host.
Result<> start_together(Link& link) {
  static std::int64_t word_took_ns = 100'000'000;  // This is a guess for the first call.
  std::int64_t now[] = {bench_now_ns(), word_took_ns};
  if (auto sent = link.write_all(std::as_bytes(std::span(now))); !sent) return sent;
  if (auto got = link.read_all(std::as_writable_bytes(std::span(now))); !got) return got;
  word_took_ns = bench_now_ns() - now[0];
  bench_sleep_until_ns(now[0] + 2 * now[1]);
  return {};
}

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
  const Ranks self{plan.rank, 1};
  if (auto told = parent.write_all(std::as_bytes(std::span(&self, 1))); !told) return told;
  for (const Case& c : plan.cases) {
    Times times(c);
    times.hosts() = 1;
    // A program that moves a vector has it in memory and needs the result in memory: each byte leaves from memory of
    // its own and arrives in memory of its own, as for the library's caller. A single buffer for all messages would
    // stay in the cache, and a program that discards the bytes it receives moves nothing.
    const std::size_t operation_bytes = c.chunks * (kHeaderBytes + c.chunk);
    std::vector<std::byte> out(operation_bytes), in(operation_bytes);
    parent.begin(Lengths(kHeaderBytes + c.chunk), Lengths(kHeaderBytes + c.chunk), out, in);
    for (int i = 0; i < c.total(); ++i) {
      const bool is_root = c.root(i) == plan.rank;
      if (c.is_one_span()) {
        parent.begin(c.up(self, i), c.down(self, i), out, in);
        if (auto together = start_together(parent); !together) return together;
      }
      const auto before = c.is_one_span() ? 0 : static_cast<std::uint64_t>(i) * c.chunks;
      const auto cpu_before = bench_cpu_ns();
      const auto start = bench_now_ns();
      if (auto done = one_operation(parent, *waiter, c, before); !done) return done;
      const auto end = bench_now_ns();
      times.note(i, c.pattern == Pattern::bcast && !is_root ? 0 : start,
                 c.pattern == Pattern::reduce && !is_root ? 0 : end);
      if (i >= c.warmup) times.cpu_ns() += bench_cpu_ns() - cpu_before;
    }
    if (auto sent = parent.write_all(times.bytes()); !sent) return sent;
  }
  return {};
}

}  // namespace sumac::bare
