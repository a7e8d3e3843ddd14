#include "cost/method.hpp"

#include <algorithm>
#include <bit>

#include "coll/canonical.hpp"
#include "coll/cut.hpp"

namespace sumac::cost {
namespace {

double all_but_one(std::uint32_t n) { return n <= 1 ? 0.0 : n - 1.0; }
double all_but_two(std::uint32_t n) { return n <= 2 ? 0.0 : n - 2.0; }

Method in_rounds(std::uint32_t n, double bytes, double sums = 0) {
  const double trips = rounds(n);
  return {.trips = trips, .bytes = bytes, .sums = sums, .wakes = trips};
}
Method around(std::uint32_t n, double times, double bytes, double sums = 0) {
  const double trips = times * all_but_one(n);
  return {.trips = trips, .bytes = bytes, .sums = sums, .wakes = trips};
}

}  // namespace

Method operator*(double times, const Method& method) {
  return {times * method.trips,      times * method.messages, times * method.bytes,
          times * method.mesh_bytes, times * method.sums,     times * method.wakes};
}

double seconds(const Method& method, const Machine& machine, double first_bytes) {
  const double late_s = first_bytes * std::max(0.0, machine.short_byte_s - machine.per_byte_s);
  return method.trips * (machine.trip_s + late_s) + method.messages * machine.message_s +
         method.bytes * machine.per_byte_s + method.mesh_bytes * std::max(machine.mesh_byte_s, machine.per_byte_s) +
         method.sums * machine.sum_byte_s + method.wakes * machine.wake_s;
}

Line line(const Method& of_one_byte, const Machine& machine) {
  const Method& m = of_one_byte;
  return {m.trips * machine.trip_s + m.messages * machine.message_s + m.wakes * machine.wake_s,
          m.bytes * machine.per_byte_s + m.mesh_bytes * std::max(machine.mesh_byte_s, machine.per_byte_s) +
              m.sums * machine.sum_byte_s};
}

double byte_seconds(double bits_per_s) { return bits_per_s > 0 ? 8 / bits_per_s : 0; }
std::uint64_t bytes_within(std::uint64_t ns, std::uint64_t bits_per_s) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bits_per_s) * ns / 8 / 1'000'000'000);
}
std::uint32_t rounds(std::uint32_t n) { return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1)); }
double others(std::uint32_t n) { return n <= 1 ? 0 : (n - 1.0) / n; }

Method dissemination(std::uint32_t n) { return in_rounds(n, 0); }
Method ring(std::uint32_t n, double bytes) { return around(n, 2, 2 * others(n) * bytes, others(n) * bytes); }
Method ring_of_blocks(std::uint32_t n, double block) { return around(n, 1, all_but_one(n) * block); }
Method ring_of_sums(std::uint32_t n, double block) {
  return around(n, 1, all_but_one(n) * block, all_but_one(n) * block);
}
Method chain(std::uint32_t n, double bytes) { return around(n, 1, bytes); }
Method halving(std::uint32_t n, double bytes) {
  Method method = 2 * half(n, bytes);
  method.sums = others(n) * bytes;
  return method;
}
Method doubling(std::uint32_t n, double bytes) { return in_rounds(n, rounds(n) * bytes, rounds(n) * bytes); }

Method canonical_doubling(std::uint32_t n, double bytes) {
  Method method;
  coll::RankBlock mine{n - 1, 1};
  for (auto other = sibling(mine, n); other; other = sibling(mine, n)) {
    const auto sends = static_cast<double>(coll::divide_up(other->count, mine.count));
    method.trips += 1;
    method.messages += sends - 1;
    method.mesh_bytes += sends * bytes;
    method.sums += bytes;
    mine = joined(mine, *other);
  }
  method.wakes = method.trips;
  return method;
}

Method binomial(std::uint32_t n, double bytes) { return in_rounds(n, rounds(n) * bytes); }
Method binomial_of_blocks(std::uint32_t n, double block) { return in_rounds(n, all_but_one(n) * block); }
Method half(std::uint32_t n, double bytes) { return in_rounds(n, others(n) * bytes); }
Method star(std::uint32_t n, double block) {
  if (n <= 1) return {};
  return {.trips = 1, .messages = all_but_two(n), .bytes = all_but_one(n) * block, .wakes = 1};
}
Method to_one_and_back(std::uint32_t n, double bytes) {
  Method method = 2 * star(n, bytes);
  method.sums = all_but_one(n) * bytes;
  return method;
}
Method exchange(std::uint32_t n, double block) {
  if (n <= 1) return {};
  return {.trips = 1, .messages = all_but_two(n), .mesh_bytes = all_but_one(n) * block, .wakes = 1};
}
Method blocks(std::uint32_t n, double bytes) {
  Method method = 2 * exchange(n, n == 0 ? 0 : bytes / n);
  method.sums = others(n) * bytes;
  return method;
}

Method through_nodes(std::uint32_t levels, double bytes, bool kernels_answer) {
  const double up = levels, passed = levels == 0 ? 0 : 2 * up - 1;  // the root once
  return {.trips = 2 * up, .bytes = bytes, .wakes = kernels_answer ? 0 : passed};
}

}  // namespace sumac::cost
