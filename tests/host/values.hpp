#pragma once
// Values of every predefined type, and the results of each operation on them, computed here: the yardstick of the
// differential test. Any rank can compute any other rank's data from the case's seed. Values are drawn so that the
// right result is one bit pattern whatever the order of the operands: small integers in floats, roots of unity in
// complex products.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace sumac::tests {

/// The meaning of the bytes of one element.
enum class Kind : std::uint8_t {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64,
  f80,
  boolean,
  c32,
  c64,
  c80,
  f32_int,
  f64_int,
  f80_int,
  i64_int,
  i32_int,
  i16_int,
  matrix,  ///< Two by two uint32, for the user operation that does not commute.
};

enum class Fold : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc, matrix, none };

struct Type {
  const char* name;
  MPI_Datatype mpi;
  Kind kind;
  bool is_byte = false;        ///< MPI_BYTE: bitwise operations only.
  bool is_moved_only = false;  ///< MPI_CHAR: no reductions.
};

struct Operation {
  const char* name;
  MPI_Op mpi;
  Fold fold;
  bool is_user = false;
  bool commutes = true;
};

/// These tables contain MPI's handles, which are not constants, so they are filled after MPI_Init. Call free_tables()
/// before MPI_Finalize.
void make_tables();
void free_tables();
std::size_t type_count();
const Type& type(std::size_t index);
std::size_t operation_count();
const Operation& operation(std::size_t index);

bool is_legal(const Type& type, const Operation& operation);
std::size_t extent(Kind kind);

/// Stores the element that belongs to `key`, suitable for the operation (Fold::none: any bits that the type can have).
void draw(const Type& type, Fold fold, std::uint64_t key, std::byte* out);
/// Stores floats with random mantissas, for the tests of equal bits at all ranks; other kinds as draw().
void draw_rough(const Type& type, Fold fold, std::uint64_t key, std::byte* out);

/// Sets left = left op right; `left` is of the lower rank.
void combine(Kind kind, Fold fold, std::byte* left, const std::byte* right);

/// Ignores padding (pairs, long double).
bool equal(Kind kind, const std::byte* a, const std::byte* b);
/// Returns whether |a - b| is at most `roundings` times the type's epsilon times `scale`. Exact kinds use equal().
bool near(Kind kind, const std::byte* a, const std::byte* b, double roundings, double scale);
std::string show(Kind kind, const std::byte* element);

}  // namespace sumac::tests
