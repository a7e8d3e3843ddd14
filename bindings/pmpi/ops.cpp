#include "bindings/pmpi/ops.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/entry.hpp"
#include "rank/rare_types.h"

namespace sumac::pmpi {
namespace {

struct Held {
  int users = 0;
  bool is_freed = false;  ///< The program has called MPI_Op_free.
};

std::array<std::uintptr_t, SUMAC_ROWS> types{};
std::array<std::uintptr_t, SUMAC_OPS> ops{};

/// A type that this MPI lacks is MPI_DATATYPE_NULL, or null where it is a variable.
std::uintptr_t known_bits(MPI_Datatype type) { return type == MPI_DATATYPE_NULL ? 0 : bits_of(type); }

int column_of(std::uintptr_t op) {
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i] == op) return static_cast<int>(i);
  return -1;
}

std::mutex ops_lock;
std::unordered_map<std::uintptr_t, Held> held;

/// Returns true if the operation is in use: then it is freed later.
bool defer(MPI_Op op) {
  const std::lock_guard guard(ops_lock);
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

void fill_pairs() {
#define TYPE(name, values) known_bits(MPI_##name),
  types = {SUMAC_PREDEFINED_TYPES(TYPE)};
#undef TYPE
#define OP(name) bits_of(MPI_##name),
  ops = {SUMAC_PREDEFINED_OPS(OP)};
#undef OP
  sumac_pairs_fill(&runtime, types.data(), ops.data());
}

int row_of(MPI_Datatype type) { return sumac_pairs_row(types.data(), bits_of(type)); }

const sumac_pair* find_pair(MPI_Datatype type, MPI_Op op) {
  const Type* known = find_type(type);
  const int column = column_of(bits_of(op));
  if (known == nullptr || known->layout.row < 0 || column < 0) return nullptr;
  const sumac_pair& pair = sumac_pairs[known->layout.row][column];
  return pair.mpi_bytes != 0 ? &pair : nullptr;
}

int op_kind(std::uintptr_t bits) {
  if (const int column = column_of(bits); column >= 0) return column;
  const auto op = handle_from<MPI_Op>(bits);
  int commutes = 0;
  // The last two are for one-sided communication.
  if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP || mpi.Op_commutative(op, &commutes) != MPI_SUCCESS)
    return SUMAC_OP_NOT_FOR_US;
  return commutes != 0 ? SUMAC_OP_OWN : SUMAC_OP_IN_ORDER;
}

void reduce_local(const void* in, void* inout, int count, std::uintptr_t type, std::uintptr_t op) {
  (void)mpi.Reduce_local(in, inout, count, handle_from<MPI_Datatype>(type), handle_from<MPI_Op>(op));
}

void hold_op(std::uintptr_t op) {
  const std::lock_guard guard(ops_lock);
  ++held[op].users;
}

void release_op(std::uintptr_t bits) {
  {
    const std::lock_guard guard(ops_lock);
    const auto found = held.find(bits);
    if (found == held.end() || --found->second.users > 0) return;
    const bool is_freed = found->second.is_freed;
    held.erase(found);
    if (!is_freed) return;
  }
  auto op = handle_from<MPI_Op>(bits);
  (void)mpi.Op_free(&op);
}

}  // namespace sumac::pmpi

SUMAC_PMPI_NAMES(Op_free, (MPI_Op * op), (op), sumac::pmpi::free_op(op))
