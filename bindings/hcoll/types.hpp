#pragma once
// Datatypes: the bytes of an element, where they lie, and the fold of src/team for a type and an operation.
#include <cstddef>

#include "bindings/hcoll/refuse.hpp"
#include "rank/type_map.hpp"
#include "team/team.h"

/// A type whose elements have gaps. hcoll_create_mpi_type() makes it, and its handle points to it.
struct dte_ptr : sumac::rank::TypeMap {};

namespace sumac::hcoll {

struct Element {
  std::size_t bytes = 0;            ///< 0: this library does not serve the type.
  const dte_ptr* layout = nullptr;  ///< Null: it has no gaps.
};
Element element_of(const dte_data_representation_t& type) noexcept;

/// Null: no such type and operation is reduced, at any rank.
const sumac_fold_t* fold_of(const dte_data_representation_t& type, const hcoll_dte_op_t* op) noexcept;

}  // namespace sumac::hcoll
