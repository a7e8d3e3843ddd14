#pragma once
// The bytes of an element of a derived type of MPI, for front ends whose MPI does not pack: its pieces, and its bounds by MPI-4.0,
// sections 5.1.6 to 5.1.9, with the padding of Open MPI, to a multiple of the largest alignment.
#include <cstddef>
#include <vector>

namespace sumac::rank {

struct TypeMap {
  struct Piece {
    std::ptrdiff_t at;
    std::size_t bytes;
  };
  std::vector<Piece> pieces;  ///< In the order of MPI's type map.
  std::size_t bytes = 0;      ///< The sum over all pieces.
  std::ptrdiff_t extent = 0;  ///< From one element to the next.
  std::ptrdiff_t low = 0;     ///< MPI's lower bound.
  std::ptrdiff_t align = 1;
  bool has_low = false, has_high = false;  ///< The program has set this bound.

  bool has_gaps() const noexcept {
    return pieces.size() != 1 || pieces[0].at != 0 || static_cast<std::ptrdiff_t>(bytes) != extent;
  }
  /// Adds so many elements of a type, one extent after the other. Returns false if a count is negative, there are
  /// too many pieces, or they have more bytes, or lie farther apart, than memory has room for.
  bool add(const TypeMap& old, std::ptrdiff_t count, std::ptrdiff_t at);
  /// Sets the bounds to those that the program has given.
  void resize(std::ptrdiff_t lower, std::ptrdiff_t all) noexcept;

  void pack(const void* from, std::size_t count, std::byte* packed) const noexcept;
  void unpack(const std::byte* packed, std::size_t count, void* to) const noexcept;

 private:
  void add_piece(std::ptrdiff_t at, std::size_t more);
};

/// A type of more pieces is the MPI's.
inline constexpr std::size_t kPiecesMost = 1 << 16;

}  // namespace sumac::rank
