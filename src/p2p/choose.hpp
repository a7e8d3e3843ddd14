#pragma once
// Chooses the algorithm of an operation by the least time that each can take on this network. The bounds count trips
// from host to host, messages at the busiest member, and bytes on the busiest link. Everything that enters is agreed by
// all members when the group is made, so all choose alike; no size is a constant of some machine.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coll/operation.hpp"
#include "coll/patterns/pattern.hpp"
#include "cost/method.hpp"

namespace sumac::p2p {

/// The files of src/coll/patterns. The numbers travel on the wire.
enum class Algorithm : std::uint8_t {
  doubling = 0,  ///< Recursive doubling; for barriers dissemination.
  ring = 1,      ///< The segmented ring; for a bcast a chain.
  binomial = 2,
  exchange = 3,  ///< Each sends straight to all that need its data.
  blocks = 4,    ///< allreduce: each adds one block of all vectors and sends the sum to all.
};
inline constexpr int kAlgorithms = 5;
std::string_view to_string(Algorithm algorithm) noexcept;

/// The network as the members measured it together.
using Costs = cost::Machine;

struct Limits {
  std::uint32_t size = 1;
  std::uint64_t eager_max = 16384;  ///< Longer messages wait until the receiver has announced memory: one more trip.
  bool reproducible = false;        ///< Sums are added along the canonical tree, whatever their size.
};

struct Question {
  coll::Kind kind = coll::Kind::barrier;
  std::uint64_t bytes = 0;  ///< Operation::bytes; for an allgatherv the sum of all blocks.
  bool commutes = true;     ///< False: the operands must keep the order of ranks.
};

struct Candidate {
  Algorithm algorithm = Algorithm::exchange;
  double seconds = 0;
};

/// The algorithms that can do it, with their least times; the first one is chosen.
std::vector<Candidate> candidates(const Question& question, const Limits& limits, const Costs& costs);
/// The same choice without the list.
Algorithm choose(const Question& question, const Limits& limits, const Costs& costs);
/// One line for people: "allreduce of 1048576 bytes: ring 75.1 ms (exchange 293 ms, ...)".
std::string explain(const Question& question, const Limits& limits, const Costs& costs);

/// Writes a member's steps. Returns the reason if the operation's fields cannot be those of a legal call.
void write_pattern(coll::Pattern& pattern, coll::Member me, const coll::Operation& operation, Algorithm algorithm,
                   bool is_direct);

/// The most bytes of one message.
inline constexpr std::uint64_t kMessageMax = 256 * 1024;

}  // namespace sumac::p2p
