#pragma once
// The history of a member's group on its tree, for a caller that goes on without the tree (recovery_group.hpp). In good times a
// ClientGroup keeps only the bytes that such a caller may need, and everything else is gathered here when the tree is lost.
#include <cstdint>
#include <span>
#include <vector>

#include "proto/cutting.hpp"
#include "proto/lock_keeper.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

struct ClientHistory {
  struct Number {
    wire::AggHeader header{};  ///< As contributed; its payload_bytes count this member's part in any case.
    FragmentRange range{};
    OpId of{};  ///< Its operation; of an unlock the last one of the batch, of a lock the one that asks for it.
    std::uint32_t root = 0;
    bool has_result = false;
    bool is_kept = false;               ///< `data` stay until ClientGroup::release(), even when the operation is over.
    std::span<const std::byte> data{};  ///< The result, if there is one; otherwise this member's part.
  };
  struct Posted {
    Cutting cutting;
    Errc status = Errc::ok;
    bool is_over = false, ends_batch = false;
  };

  /// Numbers count from the group's first one. Members may still need all from `first` on, and `closed` is the first one that some
  /// member has not contributed.
  std::uint64_t first = 0, closed = 0;
  std::vector<Number> numbers{};
  /// Operations that next_completion() has not returned.
  std::vector<Posted> operations{};
  OpId first_operation{};
  OpId cut{};  ///< The first operation that is not wholly cut.
  LockKeeper lock{0};
  bool lacks_memory = false;  ///< The data of some number could not be kept.
};

}  // namespace sumac::proto
