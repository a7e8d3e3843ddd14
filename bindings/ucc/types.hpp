#pragma once
// Datatypes and reductions: the bytes of an element, and the fold of src/team for a type and an operation.
#include <cstddef>
#include <cstdint>

#include "bindings/ucc/refuse.hpp"
#include "team/team.h"

/// A datatype of the program's own; its handle is the object's address with the class in its low bits.
struct ucc_dt_generic {
  ucc_generic_dt_ops_t ops;
  void* context;
  sumac_fold_t fold;
  bool is_contiguous, reduces;
};

namespace sumac::ucc {

inline constexpr std::uint64_t kCollTypes = UCC_MASK(16);
/// All but MAXLOC and MINLOC, whose pairs the interface does not define.
inline constexpr std::uint64_t kReductionTypes =
    UCC_MASK(static_cast<unsigned>(UCC_OP_LAST)) & ~(UCC_BIT(UCC_OP_MAXLOC) | UCC_BIT(UCC_OP_MINLOC));

/// Null: the datatype is a predefined one.
inline const ucc_dt_generic* generic_of(ucc_datatype_t datatype) noexcept {
  return (datatype & UCC_DATATYPE_CLASS_MASK) == UCC_DATATYPE_GENERIC
             ? reinterpret_cast<const ucc_dt_generic*>(datatype & ~static_cast<ucc_datatype_t>(UCC_DATATYPE_CLASS_MASK))
             : nullptr;
}

/// The bytes of an element; 0: there is no such type, or its elements are not contiguous.
std::size_t bytes_of_type(ucc_datatype_t datatype) noexcept;

/// Null: no such type and operation is reduced, at any rank. The fold of AVG is that of SUM.
const sumac_fold_t* fold_of(ucc_datatype_t datatype, ucc_reduction_op_t op) noexcept;

/// Divides `bytes` of elements, which are sums, by the number of ranks. For types whose fold_of() AVG is not null.
void divide(ucc_datatype_t datatype, void* data, std::size_t bytes, int ranks) noexcept;

/// "allreduce", as src/team names collectives.
const char* name_of(ucc_coll_type_t type) noexcept;

}  // namespace sumac::ucc
