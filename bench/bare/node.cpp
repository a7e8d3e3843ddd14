#include <algorithm>
#include <cstdio>

#include "bench/bare/roles.hpp"
#include "bench/measure.h"

namespace sumac::bare {
namespace {

/// A node, its links, and the ranks below it.
struct Node {
  std::vector<Link> children;
  std::vector<Ranks> below;  // The ranks below each child.
  std::optional<Link> parent;
  Ranks all{0, 0};
};

Result<> hear_who_is_below(Node& node) {
  for (auto& child : node.children) {
    Ranks ranks;
    if (auto got = child.read_all(std::as_writable_bytes(std::span(&ranks, 1))); !got) return got;
    node.below.push_back(ranks);
    node.all.first = node.all.count == 0 ? ranks.first : std::min(node.all.first, ranks.first);
    node.all.count += ranks.count;
  }
  if (!node.parent) return {};
  return node.parent->write_all(std::as_bytes(std::span(&node.all, 1)));
}

// The hosts agree on a moment before a span: the latest proposal goes up to the root, and from there down to all.
Result<> start_together(Node& node) {
  std::int64_t last[2] = {}, one[2];
  for (auto& child : node.children) {
    if (auto got = child.read_all(std::as_writable_bytes(std::span(one))); !got) return got;
    std::ranges::transform(last, one, last, [](auto a, auto b) { return std::max(a, b); });
  }
  if (node.parent) {
    if (auto sent = node.parent->write_all(std::as_bytes(std::span(last))); !sent) return sent;
    if (auto got = node.parent->read_all(std::as_writable_bytes(std::span(last))); !got) return got;
  }
  for (auto& child : node.children)
    if (auto sent = child.write_all(std::as_bytes(std::span(last))); !sent) return sent;
  return {};
}

// Carries the first `end` messages since begin() of the links.
Result<> echo(Node& node, Waiter& waiter, std::uint64_t end) {
  auto& [children, below, parent, all] = node;
  std::uint64_t up = 0, down = 0;  // Messages owed to the parent and to each child so far.
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

Result<> run_case(Node& node, Waiter& waiter, const Case& c) {
  if (!c.is_one_span()) {
    const Lengths each(kHeaderBytes + c.chunk);
    for (auto& child : node.children) child.begin(each, each);
    if (node.parent) node.parent->begin(each, each);
    return echo(node, waiter, c.messages());
  }
  for (int i = 0; i < c.total(); ++i) {
    for (std::size_t child = 0; child < node.children.size(); ++child)
      node.children[child].begin(c.down(node.below[child], i), c.up(node.below[child], i));
    if (node.parent) node.parent->begin(c.up(node.all, i), c.down(node.all, i));
    if (auto together = start_together(node); !together) return together;
    if (auto done = echo(node, waiter, c.chunks); !done) return done;
  }
  return {};
}

void print(const Case& c, Times& times, bool spin) {
  auto ms = times.ms();
  const auto hosts = static_cast<int>(times.hosts());
  const bench_result result{.program = spin ? "bare-spin" : "bare-epoll",
                            .collective = c.name.c_str(),
                            .type = nullptr,
                            .bytes = c.bytes,
                            .ranks = hosts,
                            .iterations = c.iterations,
                            .warmup = c.warmup,
                            .verified = -1,
                            .errors = 0,
                            .ms = bench_summarise(ms.data(), ms.size()),
                            .cpu_ms = static_cast<double>(times.cpu_ns()) / hosts / c.iterations / 1e6};
  bench_print_json(stdout, &result);
}

}  // namespace

Result<> run_node(std::vector<Link> children, std::optional<Link> parent, const Plan& plan) {
  Node node{std::move(children), {}, std::move(parent)};
  if (auto heard = hear_who_is_below(node); !heard) return heard;
  auto waiter = Waiter::make(plan.spin);
  if (!waiter) return tl::unexpected(waiter.error());
  for (const auto& child : node.children)
    if (auto added = waiter->add(child); !added) return added;
  if (node.parent)
    if (auto added = waiter->add(*node.parent); !added) return added;
  for (const Case& c : plan.cases) {
    if (auto done = run_case(node, *waiter, c); !done) return within(c.name, done.error());
    Times times(c), one(c);
    for (auto& child : node.children) {
      if (auto got = child.read_all(one.bytes()); !got) return got;
      times.add(one);
    }
    if (!node.parent)
      print(c, times, plan.spin);
    else if (auto sent = node.parent->write_all(times.bytes()); !sent)
      return sent;
  }
  return {};
}

}  // namespace sumac::bare
