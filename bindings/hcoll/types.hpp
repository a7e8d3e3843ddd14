#pragma once
// Datatypes: the bytes of an element, where they lie, and the fold of src/team for a type and an operation.
#include <cstddef>
#include <vector>

#include "bindings/hcoll/refuse.hpp"
#include "team/team.h"

/// A type whose elements have gaps. hcoll_create_mpi_type() makes it, and its handle points to it.
struct dte_ptr {
  struct Piece {
    std::ptrdiff_t at;
    std::size_t bytes;
  };
  std::vector<Piece> pieces;  ///< In the order of MPI's type map.
  std::size_t bytes = 0;      ///< The sum over all pieces.
  std::ptrdiff_t extent = 0;  ///< From one element to the next.
  // For types that are made of it (derived.cpp).
  std::ptrdiff_t low = 0;  ///< MPI's lower bound.
  std::ptrdiff_t align = 1;
  bool has_low = false, has_high = false;  ///< The program has set this bound.

  bool has_gaps() const noexcept {
    return pieces.size() != 1 || pieces[0].at != 0 || static_cast<std::ptrdiff_t>(bytes) != extent;
  }
};

namespace sumac::hcoll {

struct Element {
  std::size_t bytes = 0;            ///< 0: this library does not serve the type.
  const dte_ptr* layout = nullptr;  ///< Null: it has no gaps.
};
Element element_of(const dte_data_representation_t& type) noexcept;

/// Null: no such type and operation is reduced, at any rank.
const sumac_fold_t* fold_of(const dte_data_representation_t& type, const hcoll_dte_op_t* op) noexcept;

void pack(const dte_ptr& layout, const void* from, std::size_t count, std::byte* packed) noexcept;
void unpack(const dte_ptr& layout, const std::byte* packed, std::size_t count, void* to) noexcept;

}  // namespace sumac::hcoll
