#include "bindings/pmpi/ops.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "bindings/pmpi/entry.hpp"

namespace sumac::pmpi {
namespace {

struct Held {
  int users = 0;
  bool is_freed = false;  ///< By the program.
};

std::mutex lock;
std::unordered_map<std::uintptr_t, Held> held;

/// Returns true if the operation is in use: then it is freed later.
bool defer(MPI_Op op) {
  const std::lock_guard guard(lock);
  const auto found = held.find(bits_of(op));
  if (found == held.end()) return false;
  found->second.is_freed = true;
  return true;
}

int free_op(MPI_Op* op) {
  if (!library.on || !defer(*op)) return mpi.Op_free(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

}  // namespace

void hold_op(MPI_Op op) {
  const std::lock_guard guard(lock);
  ++held[bits_of(op)].users;
}

void release_op(MPI_Op op) {
  {
    const std::lock_guard guard(lock);
    const auto found = held.find(bits_of(op));
    if (found == held.end() || --found->second.users > 0) return;
    const bool is_freed = found->second.is_freed;
    held.erase(found);
    if (!is_freed) return;
  }
  (void)mpi.Op_free(&op);
}

}  // namespace sumac::pmpi

SUMAC_PMPI_NAMES(Op_free, (MPI_Op * op), (op), return sumac::pmpi::free_op(op);)
