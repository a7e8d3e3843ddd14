#pragma once
// The layout of a collective's data. A team moves bytes: data of a type without gaps is used where it lies; any other is
// packed into our memory before and unpacked from it afterwards. This is local to one rank: MPI lets ranks use
// different types of equal signature, so a rank's type must not influence a decision that all ranks share.
#include <cstdint>
#include <vector>

#include "bindings/pmpi/folds.hpp"
#include "bindings/pmpi/types.hpp"
#include "team/team.h"

namespace sumac::pmpi {

struct Communicator;

/// Counts and displacements of a v-form as the program gave them, in either width.
struct Sized {
  const void* counts = nullptr;
  const void* displacements = nullptr;
  bool is_wide = false;

  sumac_blocks_t blocks(std::size_t unit) const { return {counts, displacements, unit, is_wide}; }
  std::int64_t count(int i) const {
    const auto all = blocks(0);
    return sumac_block_count(&all, i);
  }
  std::int64_t displacement(int i) const {
    const auto all = blocks(0);
    return sumac_block_displacement(&all, i);
  }
  std::size_t bytes_each() const { return is_wide ? sizeof(std::int64_t) : sizeof(int); }
};

/// One side of a collective, in the user's layout.
struct Side {
  char* user;
  Layout type;
  std::size_t count;  ///< Elements that follow each other, if `sized` is empty.
  Sized sized;
  int blocks;
  std::size_t packed_at;  ///< Offset of the packed data in the plan's memory.
  bool is_packed;         ///< Otherwise the user's memory is used as it is, and nothing above is set.
};

/// The decision about a call.
enum class Planned : std::uint8_t {
  run,       ///< The team does it, between pack_into() and unpack().
  nothing,   ///< There is no byte to move or reduce, and all ranks know it.
  not_ours,  ///< The MPI does it, at all ranks.
  wrong,     ///< The MPI finds the mistake in the arguments.
};

struct Plan {
  enum class Shared : std::uint8_t { apart, in_is_out, out_is_in };

  sumac_call_t call;
  Side send, receive;
  Shared shared;
  bool is_reduction_with_gaps;  ///< Elements keep their extent, and only their data is copied to the user.
  std::size_t memory_bytes;     ///< The memory that pack_into() needs; 0: nothing is packed.
  void* memory;
  Fold fold;  ///< For a user's operation or type.

  explicit Plan(sumac_coll coll)
      : call{}, shared(Shared::apart), is_reduction_with_gaps(false), memory_bytes(0), memory(nullptr) {
    call.coll = static_cast<std::uint8_t>(coll);
    send.is_packed = receive.is_packed = false;
  }
  Plan(Plan&&) = default;

  bool packs() const { return memory_bytes != 0; }
  /// Points the call at `own_memory`, of memory_bytes bytes on a cache line, and packs what is sent.
  int pack_into(void* own_memory);
  /// Packs what is sent once more, for a persistent collective that is started.
  int pack_again() const;
  int unpack() const;
};

// The functions of collectives/ make their plans with these.

Planned plan_reduction(const Communicator& communicator, Plan& plan, const void* in, void* out, MPI_Count count,
                       MPI_Datatype type, MPI_Op op);
/// Equal blocks on both sides: `sent` of them are sent, and as many received as there are ranks; in place, the data to
/// send begins with the block `own` of `out`.
Planned plan_equal_blocks(const Communicator& communicator, Plan& plan, const void* in, MPI_Count in_count,
                          MPI_Datatype in_type, std::size_t sent, void* out, MPI_Count out_count, MPI_Datatype out_type,
                          std::size_t own);
/// `count` elements that follow each other. Returns the address of the data; null: the side is packed.
char* plan_row(Plan& plan, Side& side, const void* user, std::size_t count, const Type& type);
/// Blocks with counts and displacements of their own. Returns the same.
char* plan_blocks(Plan& plan, Side& side, sumac_blocks_t& at, const void* user, Sized sized, int blocks,
                  const Type& type);

/// Stores the counts and displacements of a v-form, one of each for every rank, in `sized`. Returns false if a count is
/// negative.
bool sized_of(const Communicator& communicator, const int* counts, const int* displacements, Sized& sized);
bool sized_of(const Communicator& communicator, const MPI_Count* counts, const MPI_Aint* displacements, Sized& sized);

/// True if the number is a rank of the communicator.
bool is_rank(const Communicator& communicator, int root);

/// The `in` of a rank that sends nothing: null, or `in` equal to `out`, would mean in place.
extern const char kNoData[1];

}  // namespace sumac::pmpi
