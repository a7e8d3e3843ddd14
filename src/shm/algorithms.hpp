#pragma once
// The table of algorithms, and the choice of an algorithm by message size. To add one, write its step function in a
// file of its own and list it in algorithms.cpp; tests, explain and tune find it there.
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
  waiting,  ///< Another member has not come so far; call again.
  failed,   ///< Group::broken() and error() give the reason; the group is of no more use.
};

struct Algorithm {
  coll::Kind kind;
  std::string_view name;
  std::string_view doc;  ///< One line, for explain.
  /// Never blocks for longer than op.polls polls. It begins with phase 0 and all other fields of its own at zero.
  Step (*step)(Task& task);
  /// May this group use the algorithm at all (nullptr: always)? Every member gets the same answer when the group is
  /// made, because it depends on the group's shape and not on one member's state.
  bool (*usable)(const Group& group) = nullptr;
  std::size_t bytes_max = SIZE_MAX;  ///< It does not serve operations with more bytes than this.
  std::string_view in_place = {};    ///< The algorithm that serves operations in place instead, if this one cannot; for
                                     ///< explain.
};

/// The algorithm that uses one of two others, chosen by the times of the first calls (timed.cpp).
inline constexpr std::string_view kTimed = "timed";

std::span<const Algorithm> algorithms() noexcept;
/// Returns nullptr if there is none of that name.
const Algorithm* find_algorithm(coll::Kind kind, std::string_view name) noexcept;

/// The sizes into which large messages are cut (turns.hpp), the same at every member. Measured on an EPYC, 2 ranks, 1
/// MiB of L2 each.
struct LargeTuning {
  std::size_t reduce_turn_bytes = 64 * 1024;    ///< Bytes of the vector in one turn of `blocks`.
  std::size_t stream_turn_bytes = 64 * 1024;    ///< Bytes of the vector in one turn of `stream`.
  std::size_t exchange_turn_bytes = 64 * 1024;  ///< Bytes of a member's slice in one turn of `exchange`.
  std::size_t one_way_turns = 4;  ///< Data that go one way only are cut into so many turns at least (turns.hpp).
  std::size_t single_piece_bytes = 256 * 1024;  ///< Bytes that `single` copies in one step, of a share or of a block.
  std::size_t pairs_turn_bytes = 128 * 1024;    ///< Bytes of the vector in one turn of `pairs`.
  std::size_t fold_bytes = 32 * 1024;           ///< Bytes of the sums in one step of a fold; at most coll::kSpareBytes.
};

/// The algorithm for each size: the rows of a collective are in ascending order of bytes_max, the last one SIZE_MAX.
/// The size of a call is selection_bytes(), which is the same at every member.
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
  /// Sets one algorithm for all sizes of a collective (tests, tune, SUMAC_SHM_<COLL>). An unknown name returns
  /// Errc::not_found with the known names.
  Result<> force(coll::Kind kind, std::string_view name);
  /// Replaces algorithms that this group cannot use by `flat`.
  void keep_usable(const Group& group) noexcept;
};

/// The size that is compared with Row::bytes_max: Operation::bytes; the largest block for allgatherv; 0 if the members
/// do not know a common size.
std::size_t selection_bytes(const coll::Operation& operation, int group_size) noexcept;

/// The largest element that every algorithm of a reduction can fold, in any group of at most `members` whose segment has
/// at least `large_bytes`. No algorithm cuts an element, so it must fit into an eager buffer and into a slice (turns.hpp);
/// in a reduce_scatter or reduce_scatter_block, so must one for each member. Elements of one cache line always fit.
std::size_t element_bytes_max(coll::Kind kind, int members, std::size_t large_bytes) noexcept;

/// The input of default_tuning(), which is good without measurements; `crowded` means more ranks than cores.
struct TuningInput {
  int size = 1;
  bool crowded = false;
  std::size_t eager_bytes = 8192;
  std::size_t large_bytes = 1024 * 1024;
  bool single_copy = false;  ///< Whether agree_on_single_copy() succeeded.
};
/// May large messages go by single copy, if the system allows it and the measured times favour it?
bool may_copy_once(const TuningInput& input) noexcept;
/// The reason why or why not, for explain.
std::string about_single_copy(const TuningInput& input);
Tuning default_tuning(const TuningInput& input) noexcept;

}  // namespace sumac::shm
