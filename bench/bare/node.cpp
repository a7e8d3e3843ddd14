#include <algorithm>
#include <cstdio>

#include "bench/bare/roles.hpp"
#include "bench/measure.h"

namespace sumac::bare {
namespace {

Result<> echo(std::vector<Link>& children, std::optional<Link>& parent, Waiter& waiter, const Case& c) {
  const std::uint64_t end = c.messages();
  std::uint64_t up = 0, down = 0;  // Messages owed to the parent and to each child so far.
  for (auto& child : children) child.begin(kHeaderBytes + c.chunk);
  if (parent) parent->begin(kHeaderBytes + c.chunk);
  for (;;) {
    bool more = false;  // A link had input, so poll again before sleeping.
    std::uint64_t everybody = end;
    for (auto& child : children) {
      const Errc got = child.receive(end);
      if (got == Errc::lost) return fail(Errc::lost, "a child closed its connection");
      more = more || (got == Errc::ok && child.arrived() < end);
      everybody = std::min(everybody, child.arrived());
    }
    std::uint64_t answered = everybody;
    if (parent) {
      parent->owe(everybody - up);
      up = everybody;
      const Errc got = parent->receive(end);
      if (got == Errc::lost || parent->flush() == Errc::lost)
        return fail(Errc::lost, "the parent closed the connection");
      more = more || (got == Errc::ok && parent->arrived() < end);
      answered = parent->arrived();
    }
    bool idle = !parent || parent->idle();
    for (auto& child : children) {
      child.owe(answered - down);
      if (child.flush() == Errc::lost) return fail(Errc::lost, "a child closed its connection");
      idle = idle && child.idle();
    }
    down = answered;
    if (down == end && idle) return {};
    if (more) continue;
    for (auto& child : children) waiter.want(child, child.arrived() < end, !child.idle());
    if (parent) waiter.want(*parent, parent->arrived() < end, !parent->idle());
    waiter.wait();
  }
}

void print(const Case& c, const std::vector<std::int64_t>& sum, bool spin) {
  std::vector<double> ms;
  for (int i = c.warmup; i < c.total(); ++i)
    ms.push_back(static_cast<double>(sum[static_cast<std::size_t>(i) + 1]) / static_cast<double>(sum[0]) / 1e6);
  const bench_result result{
      .program = spin ? "bare-spin" : "bare-epoll",
      .collective = c.name.c_str(),
      .type = nullptr,
      .bytes = c.bytes,
      .ranks = static_cast<int>(sum[0]),
      .iterations = c.iterations,
      .warmup = c.warmup,
      .verified = -1,
      .errors = 0,
      .ms = bench_summarise(ms.data(), ms.size()),
      .cpu_ms = static_cast<double>(sum.back()) / static_cast<double>(sum[0]) / c.iterations / 1e6};
  bench_print_json(stdout, &result);
}

}  // namespace

Result<> run_node(std::vector<Link> children, std::optional<Link> parent, const Plan& plan) {
  auto waiter = Waiter::make(plan.spin);
  if (!waiter) return tl::unexpected(waiter.error());
  for (const auto& child : children)
    if (auto added = waiter->add(child); !added) return added;
  if (parent)
    if (auto added = waiter->add(*parent); !added) return added;
  for (const Case& c : plan.cases) {
    if (auto done = echo(children, parent, *waiter, c); !done) return within(c.name, done.error());
    std::vector<std::int64_t> sum(static_cast<std::size_t>(c.total()) + 2), one(sum.size());
    for (auto& child : children) {
      if (auto got = child.read_all(std::as_writable_bytes(std::span(one))); !got) return got;
      std::transform(sum.begin(), sum.end(), one.begin(), sum.begin(), std::plus<>());
    }
    if (!parent)
      print(c, sum, plan.spin);
    else if (auto sent = parent->write_all(std::as_bytes(std::span(sum))); !sent)
      return sent;
  }
  return {};
}

}  // namespace sumac::bare
