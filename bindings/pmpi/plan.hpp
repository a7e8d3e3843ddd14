#pragma once
// Plans of MPI's calls (rank/plan.h).
#include <cstdint>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/folds.hpp"
#include "bindings/pmpi/types.hpp"
#include "team/team.h"

namespace sumac::pmpi {

/// The decision about a call.
enum class Planned : std::uint8_t {
  run,       ///< The team does it, between pack_into() and unpack().
  nothing,   ///< There is no byte to move or reduce, and all ranks know it.
  not_ours,  ///< The MPI does it, at all ranks.
  wrong,     ///< The MPI finds the mistake in the arguments.
};

struct Plan : sumac_plan {
  explicit Plan(sumac_coll coll) { sumac_plan_begin(this, coll); }

  bool packs() const { return memory_bytes != 0; }
  /// Points the call at `own_memory`, of memory_bytes bytes on a cache line, and packs what is sent.
  int pack_into(void* own_memory) {
    sumac_plan_use(this, own_memory);
    return pack_again();
  }
  /// Packs what is sent once more, for a persistent collective that is started.
  int pack_again() const { return sumac_plan_pack(this, &runtime.packing); }
  int unpack() const { return sumac_plan_unpack(this, &runtime.packing); }
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
char* plan_row(Plan& plan, sumac_side& side, const void* user, std::size_t count, const Type& type);
/// Blocks with counts and displacements of their own. Returns the same.
char* plan_blocks(Plan& plan, sumac_side& side, sumac_blocks_t& at, const void* user, const sumac_blocks_t& sized,
                  int blocks, const Type& type);

/// Stores the counts and displacements of a v-form, one of each for every rank, in `sized`. Returns false if a count is
/// negative.
bool sized_of(const Communicator& communicator, const int* counts, const int* displacements, sumac_blocks_t& sized);
bool sized_of(const Communicator& communicator, const MPI_Count* counts, const MPI_Aint* displacements,
              sumac_blocks_t& sized);

/// True if the number is a rank of the communicator.
bool is_rank(const Communicator& communicator, int root);

}  // namespace sumac::pmpi
