#pragma once
// The table of algorithms, and which of them serves which size. Adding one: write its step function in a file of its own,
// list it in algorithms.cpp; tests, explain and tune find it there.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "coll/operation.hpp"

namespace sumac::shm {

struct Task;
class Group;

enum class Step : std::uint8_t {
  done,
  waiting,  ///< Some other member has not come so far; call again.
  failed,   ///< Group::broken() and error() say why; the group is of no more use.
};

struct Algorithm {
  coll::Kind kind;
  std::string_view name;
  std::string_view doc;  ///< One line, for explain.
  /// Never blocks for longer than op.polls looks. Begins with phase 0 and all other fields of its own zero.
  Step (*step)(Task& task);
  /// May it be used in this group at all (nullptr: always)? Decided alike at every member, when the group is made:
  /// by its shape, not by local luck.
  bool (*usable)(const Group& group) = nullptr;
  std::size_t bytes_max = SIZE_MAX;  ///< Larger calls (Call::bytes) are beyond it.
  std::string_view in_place = {};    ///< Who does calls in place instead, if it has no form for them; for explain.
};

/// The algorithm that is one of two others, by the times of the first calls (timed.cpp).
inline constexpr std::string_view kTimed = "timed";

std::span<const Algorithm> algorithms() noexcept;
/// nullptr: there is none of that name.
const Algorithm* find_algorithm(coll::Kind kind, std::string_view name) noexcept;

/// How large messages are cut (turns.hpp), alike at every member. Measured on an EPYC, 2 ranks, 1 MiB of L2 each.
struct LargeTuning {
  std::size_t reduce_turn_bytes = 64 * 1024;    ///< Of the vector in one turn of `blocks`.
  std::size_t stream_turn_bytes = 64 * 1024;    ///< Of the vector in one turn of `stream`.
  std::size_t exchange_turn_bytes = 64 * 1024;  ///< Of a member's slice in one turn of `exchange`.
  std::size_t single_piece_bytes = 256 * 1024;  ///< Copied in one go by `single`: of a share, or of a block.
  std::size_t pairs_turn_bytes = 128 * 1024;    ///< Of the vector in one turn of `pairs`.
  std::size_t fold_bytes = 32 * 1024;           ///< What is folded and copied in one go; at most kFoldBytesMax.
};

/// Which algorithm serves which size: the rows of a collective in ascending order of bytes_max, the last one SIZE_MAX.
/// The size of a call is selection_bytes(); it is the same at every member.
struct Tuning {
  static constexpr std::size_t kRowsMax = 6;
  struct Row {
    std::size_t bytes_max;
    const Algorithm* algorithm;
  };
  std::array<std::array<Row, kRowsMax>, coll::kKinds> rows;
  LargeTuning large;

  const Algorithm* pick(coll::Kind kind, std::size_t bytes) const noexcept {
    const Row* row = rows[coll::index_of(kind)].data();
    while (bytes > row->bytes_max) ++row;
    return row->algorithm;
  }
  /// One algorithm for all sizes of a collective (tests, tune, SUMAC_SHM_<COLL>). Errc::not_found with the names there are.
  Result<> force(coll::Kind kind, std::string_view name);
  /// Rows whose algorithm this group cannot use get `flat`.
  void keep_usable(const Group& group) noexcept;
};

/// What is compared with Row::bytes_max: Call::bytes; allgatherv: the largest block; 0 where members know no common size.
std::size_t selection_bytes(const coll::Operation& operation, int group_size) noexcept;

/// Good without being tuned, for a group of that size; `crowded`: more ranks than cores.
struct TuningInput {
  int size = 1;
  bool crowded = false;
  std::size_t eager_bytes = 8192;
  std::size_t large_bytes = 1024 * 1024;
  bool single_copy = false;  ///< What agree_on_single_copy() has found.
};
/// May large messages go by single copy, where the system allows it and the times are for it?
bool may_copy_once(const TuningInput& input) noexcept;
/// Why, or why not, for explain.
std::string about_single_copy(const TuningInput& input);
Tuning default_tuning(const TuningInput& input) noexcept;

}  // namespace sumac::shm
