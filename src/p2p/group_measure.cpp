// Measures the network as the members will use it, when the group is made: the time of one trip, what each further
// message costs, the time of a longer message's bytes, and the rate of a link where its interface does not say it. The slowest member's figures count, so all
// members have the same and choose alike.
#include <algorithm>
#include <array>
#include <limits>

#include "cost/fit.hpp"
#include "p2p/group.hpp"
#include "reduce/reduce.hpp"

namespace sumac::p2p {
namespace {

/// Operations that follow each other, so that members that leave one late only shift the next; the best of so many
/// batches counts.
constexpr int kInARow = 8, kBatches = 3;
/// One round of a ring moves so many bytes over each link: enough to be longer than a trip at the rates where it
/// matters which algorithm is chosen.
constexpr std::size_t kStreamBytes = 1u << 20;

coll::Fold fold_max() {
  coll::Fold fold;
  fold.kernel = reduce::kernel_for(Op::max, Dtype::float64);
  fold.element_bytes = sizeof(double);
  fold.dtype = Dtype::float64;
  fold.op = Op::max;
  return fold;
}

}  // namespace

Result<> Group::run(const coll::Operation& operation, Algorithm algorithm) {
  void* request = nullptr;
  auto progress = start_by(operation, algorithm, request);
  while (progress == Progress::pending) {
    progress = test(request);
    if (progress != Progress::pending) break;
    // The operation's memory is the caller's, so it must end before this returns.
    if (auto checked = check_now_and_then(); !checked) break_because(checked.error());
    rest(monotonic_now() + kCheckEvery);
  }
  if (progress == Progress::failed) return tl::unexpected(*engine_->failure());
  return {};
}

/// Returns the time of one of `in_a_row` operations in the best of some batches.
Result<double> Group::timed(const coll::Operation& operation, Algorithm algorithm, int in_a_row) {
  double least = std::numeric_limits<double>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    if (auto done = run({.kind = coll::Kind::barrier}, Algorithm::doubling); !done) return tl::unexpected(done.error());
    const Time before = monotonic_now();
    for (int i = 0; i < in_a_row; ++i)
      if (auto done = run(operation, algorithm); !done) return tl::unexpected(done.error());
    least = std::min(least, std::chrono::duration<double>(monotonic_now() - before).count() / in_a_row);
  }
  return least;
}

Result<> Group::measure() {
  const std::uint32_t n = config_.size;
  if (n == 1) return {};
  cost::Timings timings{.members = n, .rate_bits_per_s = members_.rate_bits_per_s};
  const auto in_rounds = timed({.kind = coll::Kind::barrier}, Algorithm::doubling, kInARow);
  if (!in_rounds) return tl::unexpected(in_rounds.error());
  timings.barrier_in_rounds = *in_rounds;
  const auto at_once = timed({.kind = coll::Kind::barrier}, Algorithm::exchange, kInARow);
  if (!at_once) return tl::unexpected(at_once.error());
  timings.barrier_at_once = *at_once;
  std::vector<std::byte> blocks(std::max<std::size_t>(kStreamBytes / (n - 1), 64) * n);
  const coll::Operation stream{.kind = coll::Kind::allgather, .out = blocks.data(), .bytes = blocks.size() / n};
  timings.block = static_cast<double>(stream.bytes);
  if (members_.rate_bits_per_s == 0) {
    const auto in_ring = timed(stream, Algorithm::ring, 1);
    if (!in_ring) return tl::unexpected(in_ring.error());
    timings.ring = *in_ring;
  }
  const auto in_mesh = timed(stream, Algorithm::exchange, 1);
  if (!in_mesh) return tl::unexpected(in_mesh.error());
  timings.mesh = *in_mesh;
  const coll::Fold fold = fold_max();
  std::vector<double> vector(eager_max_ / sizeof(double));
  const coll::Operation longest{
      .kind = coll::Kind::allreduce, .out = vector.data(), .bytes = vector.size() * sizeof(double), .fold = &fold};
  const auto in_long_rounds = timed(longest, Algorithm::doubling, kInARow);
  if (!in_long_rounds) return tl::unexpected(in_long_rounds.error());
  timings.longest = static_cast<double>(longest.bytes);
  timings.doubling_of_longest = *in_long_rounds;
  const Costs own = cost::fitted(timings);
  std::array<double, 5> mine{own.trip_s, own.message_s, own.per_byte_s, own.short_byte_s, own.mesh_byte_s};
  const coll::Operation agree{.kind = coll::Kind::allreduce, .out = mine.data(), .bytes = sizeof mine, .fold = &fold};
  if (auto done = run(agree, Algorithm::doubling); !done) return done;
  costs_ = {
      .trip_s = mine[0], .message_s = mine[1], .per_byte_s = mine[2], .mesh_byte_s = mine[4], .short_byte_s = mine[3]};
  return {};
}

}  // namespace sumac::p2p
