#pragma once
// These functions compute the least time of a method of a collective. A method is counted at its busiest member: trips one after the
// other, further messages, bytes on its link, bytes that it adds, and how often it wakes. A machine says what each of
// these takes. No size is a constant of some machine.
//
// `n` is the number of members and `bytes` the vector, or one member's block where the function says so.
#include <cstdint>

namespace sumac::cost {

/// The time of the parts of a method, on one network and its hosts.
struct Machine {
  double trip_s = 30e-6;          ///< From a send to the receiver's next action.
  double message_s = 5e-6;        ///< Each further message that a member sends and receives at the same time.
  double per_byte_s = 1.0 / 1e9;  ///< The time of a byte on one member's link.
  /// The same when all members send to all at once: longer where switches are narrower than the sum of their ports.
  double mesh_byte_s = 1.0 / 1e9;
  /// The time of a byte of a short message that others wait for. It is longer than per_byte_s where switches store a
  /// frame before they send it on, and no less.
  double short_byte_s = 1.0 / 1e9;
  /// Adding one byte, and waking a member that sleeps. 0 where nobody has measured them: then they count for nothing.
  double sum_byte_s = 0, wake_s = 0;
};

struct Method {
  double trips = 0, messages = 0;
  double bytes = 0;       ///< On the busiest link.
  double mesh_bytes = 0;  ///< On it too, while all members send across each other's ways.
  double sums = 0;        ///< Bytes that the busiest member adds.
  double wakes = 0;
};
Method operator*(double times, const Method& method);

/// A time that grows linearly with the bytes: `fixed_s` + `per_byte_s` x bytes.
struct Line {
  double fixed_s = 0, per_byte_s = 0;
  double at(std::uint64_t bytes) const { return fixed_s + per_byte_s * static_cast<double>(bytes); }
};

/// Returns the least time. `first_bytes`: the part of a trip's message that arrives only as fast as a short message does.
double seconds(const Method& method, const Machine& machine, double first_bytes = 0);
/// Returns the least time of a method for any size, given its counts for one byte.
Line line(const Method& of_one_byte, const Machine& machine);
/// The time of a byte at this rate. 0: the rate is not known.
double byte_seconds(double bits_per_s);
/// Returns the whole bytes that a link of this rate carries in this time.
std::uint64_t bytes_within(std::uint64_t ns, std::uint64_t bits_per_s);
/// Rounds of halving or doubling among n members.
std::uint32_t rounds(std::uint32_t n);
/// The part of a vector that lies with the other members.
double others(std::uint32_t n);

/// A message to a member twice as far in each round, without data.
Method dissemination(std::uint32_t n);
/// The ring adds a vector up on its way round and carries the sum round again.
Method ring(std::uint32_t n, double bytes);
/// Each member's block goes round once.
Method ring_of_blocks(std::uint32_t n, double block);
/// A block goes round and is added to at each member.
Method ring_of_sums(std::uint32_t n, double block);
/// The vector passes from member to member.
Method chain(std::uint32_t n, double bytes);
/// Recursive halving and doubling: the bytes of the ring in two times log2 n rounds.
Method halving(std::uint32_t n, double bytes);
/// A round in which all bytes go to the partner, until all have been met.
Method doubling(std::uint32_t n, double bytes);
/// Recursive doubling along the canonical tree, counted at the last rank: it has the smallest blocks, so it sends most.
Method canonical_doubling(std::uint32_t n, double bytes);
/// A binomial tree: the root sends the vector in each round, or receives it.
Method binomial(std::uint32_t n, double bytes);
/// The same with a block for each member: the root's link carries every block once.
Method binomial_of_blocks(std::uint32_t n, double block);
/// Half of a halving: a scatter, a gather, an allgather or a reduce_scatter of the vector in log2 n rounds.
Method half(std::uint32_t n, double bytes);
/// One member sends `block` to every other one, or receives from all: its own link is the narrowest.
Method star(std::uint32_t n, double block);
/// All send to one, which adds and sends the sum to all.
Method to_one_and_back(std::uint32_t n, double bytes);
/// Every member sends `block` to every other one.
Method exchange(std::uint32_t n, double block);
/// Every member adds one block of all vectors and sends the sum to all.
Method blocks(std::uint32_t n, double bytes);
/// A vector goes up a tree, each link is a trip, and the sum comes down. The nodes on the way, `levels` of them up to the root, wake as it
/// passes; where their kernels answer (docs/protocol.md, the datagram way) nobody does.
Method through_nodes(std::uint32_t levels, double bytes, bool kernels_answer);

}  // namespace sumac::cost
