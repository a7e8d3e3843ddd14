#pragma once
// The layout of elements in memory: MPI lets every rank describe the same signature by a type of its own (bcast,
// allgather, alltoall), so each rank of a case draws a layout. An Image is a buffer that detects forbidden writes.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/host/values.hpp"

namespace sumac::tests {

/// `units` of an MPI type, each holding `offsets.size()` elements of the base type.
class Layout {
 public:
  enum class Shape : std::uint8_t { plain, strided, shifted, pairs, swapped, vector };
  static constexpr int kShapes = 6;

  /// Makes a layout of `count` elements; one that does not fit the count becomes plain. The first three hold one
  /// element per unit: they fit counts that differ from block to block.
  Layout(const Type& type, Shape shape, std::size_t count);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  Layout(Layout&& other) noexcept;
  ~Layout();

  MPI_Datatype mpi() const { return mpi_; }
  int units(std::size_t elements) const { return static_cast<int>(elements / offsets_.size()); }
  std::size_t unit_extent() const { return unit_extent_; }
  /// Returns the bytes from the beginning of a block to its i-th element.
  std::size_t offset(std::size_t i) const { return i / offsets_.size() * unit_extent_ + offsets_[i % offsets_.size()]; }
  Shape shape() const { return shape_; }

 private:
  MPI_Datatype mpi_ = MPI_DATATYPE_NULL;
  Shape shape_ = Shape::plain;
  std::size_t unit_extent_ = 0;
  std::vector<std::size_t> offsets_;
};

std::string to_string(Layout::Shape shape);

/// A buffer with guards around it, filled with a pattern; the expected elements are recorded beside it.
class Image {
 public:
  /// `key` chooses the alignment of the first byte, in whole elements.
  Image(Kind kind, std::size_t bytes, std::uint64_t key);

  void* address() { return now_.data() + origin_; }
  /// Forgets data and expectations; the address stays, as persistent operations need.
  void reset();
  /// Stores an element before the collective.
  void put(std::size_t offset, const std::byte* element);
  /// Requires this element after the collective.
  void expect(std::size_t offset, const std::byte* element);
  /// Allows any bytes after the collective.
  void ignore(std::size_t offset);
  /// Requires the present bytes to stay, except where an element is expected.
  void freeze() { before_ = now_; }

  struct Difference {
    std::optional<std::size_t>
        expected_index;  ///< Position in the order of expect(); none: a byte that must not change.
    std::ptrdiff_t offset = 0;
    std::string found, wanted;
  };
  /// `roughly`: floats may differ by so many roundings of a sum of `roughly` values around 1.
  std::optional<Difference> compare(std::size_t roughly = 0) const;
  std::uint64_t hash_of_expected() const;

 private:
  struct Expected {
    std::size_t offset;
    bool is_ignored;
  };
  Kind kind_;
  std::size_t width_, origin_;
  std::vector<std::byte> now_, before_, wanted_;
  std::vector<Expected> expected_;
};

}  // namespace sumac::tests
