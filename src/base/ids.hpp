#pragma once
// The numbers that name things on the wire, in the state file and in the control messages. Each is a type of its own,
// so that a job's id where a tree's is meant, or a sum of two ids, does not compile. A type here is an enum: it has the
// size and layout of its number, and compares, hashes and copies like it. `Type{}` is number 0, which names nothing (but
// the first rank is 0, and so may be a sequence number). A number becomes an id where it enters
// (`JobId{message.job_id()}`) and leaves with number_of(): in protobuf messages, SQLite, JSON, command lines and the C
// interface.
//
// LinkId, ConnId, HostClientId and OpId are structs beside the tables that they index: they do not leave the process.
// Ranks in a group or team are plain integers, because the code does arithmetic with them (the halves of a block of
// ranks, the next rank); in coll, team and shm they are `int`, the convention of MPI. The id of a peer that may be a
// client or a node is a plain number too: a world rank, or a node's id.
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace sumac {

/// A job. The client chooses it; the manager refuses one that is in use.
enum class JobId : std::uint64_t {};
/// A tree, in one life of its root: the manager derives it from that life. The index of a tree in the fabric is another
/// number, and so is the id that topo gives to a shape.
enum class TreeId : std::uint32_t {};
/// An aggregation node. The manager makes the id from the node's index in the fabric. The numbers that topo has for
/// nodes are such indices, or indices into a tree.
enum class NodeId : std::uint32_t {};
/// A process of a job: its rank in the job's world.
enum class WorldRank : std::uint32_t {};
/// A group of a tree. Its root makes the id of a group number, in the lower half, and of a generation that grows with
/// each use of the number.
enum class GroupId : std::uint32_t {};
/// The position of a number in its group. It wraps, so that numbers are compared in a circle: seq_before().
enum class Sequence : std::uint32_t {};

template <class T>
concept Id = std::same_as<T, JobId> || std::same_as<T, TreeId> || std::same_as<T, NodeId> ||
    std::same_as<T, WorldRank> || std::same_as<T, GroupId> || std::same_as<T, Sequence>;

/// Returns the number behind an id, for a border or for arithmetic that really is about the number.
template <Id T>
constexpr std::underlying_type_t<T> number_of(T id) noexcept {
  return static_cast<std::underlying_type_t<T>>(id);
}

/// Returns whether a is before b in the circle of 2^32 numbers.
constexpr bool seq_before(Sequence a, Sequence b) noexcept {
  return static_cast<std::int32_t>(number_of(a) - number_of(b)) < 0;
}
/// Returns the number that lies `count` after this one, or before it.
constexpr Sequence seq_next(Sequence sequence, std::uint32_t count = 1) noexcept {
  return Sequence{number_of(sequence) + count};
}
constexpr Sequence seq_previous(Sequence sequence, std::uint32_t count = 1) noexcept {
  return Sequence{number_of(sequence) - count};
}
/// Counts the numbers from `first` up to `end`, without `end`.
constexpr std::uint32_t seq_count(Sequence first, Sequence end) noexcept { return number_of(end) - number_of(first); }

/// Lets fmt print the number; `{:x}` and the other specs of integers work.
template <Id T>
constexpr std::underlying_type_t<T> format_as(T id) noexcept {
  return number_of(id);
}

/// The JSON library writes any enum as its number. An id becomes JSON by number_of(), where a reader sees it.
template <class Json, Id T>
void to_json(Json&, T) = delete;

}  // namespace sumac
