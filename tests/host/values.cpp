#include "tests/host/values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/random.hpp"

namespace sumac::tests {
namespace {

template <class T>
struct Pair {
  T value;
  int tag;
};
struct Matrix {
  std::uint32_t at[4];
};

std::vector<Type> types;
std::vector<Operation> operations;
MPI_Datatype matrix_type = MPI_DATATYPE_NULL;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

/// Calls `visit` with a value of the kind's C type.
template <class Visit>
decltype(auto) with_kind(Kind kind, Visit&& visit) {
  switch (kind) {
    case Kind::i8: return visit(std::int8_t{});
    case Kind::u8: return visit(std::uint8_t{});
    case Kind::i16: return visit(std::int16_t{});
    case Kind::u16: return visit(std::uint16_t{});
    case Kind::i32: return visit(std::int32_t{});
    case Kind::u32: return visit(std::uint32_t{});
    case Kind::i64: return visit(std::int64_t{});
    case Kind::u64: return visit(std::uint64_t{});
    case Kind::f32: return visit(float{});
    case Kind::f64: return visit(double{});
    case Kind::f80: return visit((long double){});
    case Kind::boolean: return visit(bool{});
    case Kind::c32: return visit(std::complex<float>{});
    case Kind::c64: return visit(std::complex<double>{});
    case Kind::c80: return visit(std::complex<long double>{});
    case Kind::f32_int: return visit(Pair<float>{});
    case Kind::f64_int: return visit(Pair<double>{});
    case Kind::f80_int: return visit(Pair<long double>{});
    case Kind::i64_int: return visit(Pair<long>{});
    case Kind::i32_int: return visit(Pair<int>{});
    case Kind::i16_int: return visit(Pair<short>{});
    case Kind::matrix: return visit(Matrix{});
  }
  return visit(std::uint8_t{});
}

template <class T>
inline constexpr bool is_pair = false;
template <class T>
inline constexpr bool is_pair<Pair<T>> = true;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
T integer_of(const Type& type, Fold fold, std::uint64_t bits) {
  // Open MPI 4.1 adds and multiplies 8- and 16-bit integers with saturation if AVX is available and wraps elsewhere:
  // both are right on small values only.
  if (sizeof(T) < 4 && fold == Fold::sum) return static_cast<T>(bits % 7);
  if (sizeof(T) < 4 && fold == Fold::prod) return static_cast<T>(bits % 8 > 0);
  if (fold == Fold::land || fold == Fold::lor || fold == Fold::lxor)
    return bits % 3 != 0 ? static_cast<T>(bits >> 8 | 1) : T{0};
  T value = static_cast<T>(bits);
  // Open MPI 4.1.4 compares MPI_UNSIGNED_LONG (not MPI_UINT64_T) as if it were signed, and MPI_OFFSET and similar types
  // as if they were unsigned: both are right when the highest bit is 0.
  const bool is_doubtful =
      type.mpi == MPI_UNSIGNED_LONG || type.mpi == MPI_OFFSET || type.mpi == MPI_AINT || type.mpi == MPI_COUNT;
  if (is_doubtful && (fold == Fold::max || fold == Fold::min))
    value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) >> 1);
  return value;
}

template <class T>
T float_of(Fold fold, std::uint64_t bits) {
  constexpr double kUnits[] = {1, -1, 2, 0.5, 1, -1, 1, 1};
  if (fold == Fold::prod) return static_cast<T>(kUnits[bits % 8]);
  return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(bits % 4001) - 2000) / 4);
}

template <class T>
void fold_into(Fold fold, T& left, const T& right) {
  if constexpr (std::is_same_v<T, Matrix>) {
    Matrix out{};
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column)
        for (int k = 0; k < 2; ++k) out.at[2 * row + column] += left.at[2 * row + k] * right.at[2 * k + column];
    left = out;
  } else if constexpr (is_pair<T>) {
    const bool is_better = fold == Fold::maxloc ? right.value > left.value : right.value < left.value;
    if (is_better || (right.value == left.value && right.tag < left.tag)) left = right;
  } else if constexpr (is_complex<T>) {
    if (fold == Fold::sum) left += right;
    if (fold == Fold::prod)
      left = T(left.real() * right.real() - left.imag() * right.imag(),
               left.real() * right.imag() + left.imag() * right.real());
  } else {
    switch (fold) {
      case Fold::max: left = std::max(left, right); break;
      case Fold::min: left = std::min(left, right); break;
      case Fold::land: left = static_cast<T>(left != T{} && right != T{}); break;
      case Fold::lor: left = static_cast<T>(left != T{} || right != T{}); break;
      case Fold::lxor: left = static_cast<T>((left != T{}) != (right != T{})); break;
      default:
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          using U = std::make_unsigned_t<T>;
          // The type is wider than int, or the product of two unsigned short would overflow an int.
          const std::uint64_t a = static_cast<U>(left), b = static_cast<U>(right);
          if (fold == Fold::sum) left = static_cast<T>(a + b);
          if (fold == Fold::prod) left = static_cast<T>(a * b);
          if (fold == Fold::band) left = static_cast<T>(a & b);
          if (fold == Fold::bor) left = static_cast<T>(a | b);
          if (fold == Fold::bxor) left = static_cast<T>(a ^ b);
        } else if constexpr (std::is_floating_point_v<T>) {
          if (fold == Fold::sum) left += right;
          if (fold == Fold::prod) left *= right;
        }
    }
  }
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Matrix>)
    return std::equal(std::begin(a.at), std::end(a.at), std::begin(b.at));
  else if constexpr (is_pair<T>)
    return a.value == b.value && a.tag == b.tag;
  else
    return a == b;
}

/// Calls `visit` with the addresses of each base element of two vectors of `count` elements of `type`, which may have holes
/// between its elements, but not inside.
template <class Visit>
void each_element(void* in, void* inout, int count, MPI_Datatype type, std::size_t width, const Visit& visit) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  int size = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  MPI_Type_size(type, &size);
  for (int i = 0; i < count; ++i)
    for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += width) {
      const std::ptrdiff_t offset = i * extent + true_lower + static_cast<std::ptrdiff_t>(at);
      visit(static_cast<std::byte*>(in) + offset, static_cast<std::byte*>(inout) + offset);
    }
}

void matrix_product(void* in, void* inout, int* count, MPI_Datatype* type) {
  // MPI computes inout = in op inout: `in` is of the lower rank.
  each_element(in, inout, *count, *type, sizeof(Matrix), [](const std::byte* left, std::byte* right) {
    Matrix product = load<Matrix>(left);
    fold_into(Fold::matrix, product, load<Matrix>(right));
    store(right, product);
  });
}

void user_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  each_element(in, inout, *count, *type, sizeof(std::uint32_t), [](const std::byte* from, std::byte* to) {
    store(to, load<std::uint32_t>(from) + load<std::uint32_t>(to));
  });
}

}  // namespace

void make_tables() {
  MPI_Type_contiguous(4, MPI_UINT32_T, &matrix_type);
  MPI_Type_commit(&matrix_type);
  types = {
      {"MPI_INT", MPI_INT, Kind::i32},
      {"MPI_DOUBLE", MPI_DOUBLE, Kind::f64},
      {"MPI_FLOAT", MPI_FLOAT, Kind::f32},
      {"MPI_BYTE", MPI_BYTE, Kind::u8, true},
      {"MPI_CHAR", MPI_CHAR, Kind::i8, false, true},
      {"MPI_SIGNED_CHAR", MPI_SIGNED_CHAR, Kind::i8},
      {"MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, Kind::u8},
      {"MPI_SHORT", MPI_SHORT, Kind::i16},
      {"MPI_UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, Kind::u16},
      {"MPI_UNSIGNED", MPI_UNSIGNED, Kind::u32},
      {"MPI_LONG", MPI_LONG, Kind::i64},
      {"MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG, Kind::u64},
      {"MPI_LONG_LONG", MPI_LONG_LONG, Kind::i64},
      {"MPI_UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, Kind::u64},
      {"MPI_INT8_T", MPI_INT8_T, Kind::i8},
      {"MPI_UINT8_T", MPI_UINT8_T, Kind::u8},
      {"MPI_INT16_T", MPI_INT16_T, Kind::i16},
      {"MPI_UINT16_T", MPI_UINT16_T, Kind::u16},
      {"MPI_INT32_T", MPI_INT32_T, Kind::i32},
      {"MPI_UINT32_T", MPI_UINT32_T, Kind::u32},
      {"MPI_INT64_T", MPI_INT64_T, Kind::i64},
      {"MPI_UINT64_T", MPI_UINT64_T, Kind::u64},
      {"MPI_AINT", MPI_AINT, Kind::i64},
      {"MPI_OFFSET", MPI_OFFSET, Kind::i64},
      {"MPI_COUNT", MPI_COUNT, Kind::i64},
      {"MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, Kind::f80},
      {"MPI_C_BOOL", MPI_C_BOOL, Kind::boolean},
      {"MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, Kind::c32},
      {"MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, Kind::c64},
      {"MPI_C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, Kind::c80},
      {"MPI_FLOAT_INT", MPI_FLOAT_INT, Kind::f32_int},
      {"MPI_DOUBLE_INT", MPI_DOUBLE_INT, Kind::f64_int},
      {"MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, Kind::f80_int},
      {"MPI_LONG_INT", MPI_LONG_INT, Kind::i64_int},
      {"MPI_2INT", MPI_2INT, Kind::i32_int},
      {"MPI_SHORT_INT", MPI_SHORT_INT, Kind::i16_int},
      {"contiguous(4,MPI_UINT32_T)", matrix_type, Kind::matrix},
  };
  operations = {
      {"MPI_SUM", MPI_SUM, Fold::sum},
      {"MPI_MAX", MPI_MAX, Fold::max},
      {"MPI_MIN", MPI_MIN, Fold::min},
      {"MPI_PROD", MPI_PROD, Fold::prod},
      {"MPI_LAND", MPI_LAND, Fold::land},
      {"MPI_BAND", MPI_BAND, Fold::band},
      {"MPI_LOR", MPI_LOR, Fold::lor},
      {"MPI_BOR", MPI_BOR, Fold::bor},
      {"MPI_LXOR", MPI_LXOR, Fold::lxor},
      {"MPI_BXOR", MPI_BXOR, Fold::bxor},
      {"MPI_MAXLOC", MPI_MAXLOC, Fold::maxloc},
      {"MPI_MINLOC", MPI_MINLOC, Fold::minloc},
      {"matrix product", MPI_OP_NULL, Fold::matrix, true, false},
      {"user sum", MPI_OP_NULL, Fold::sum, true},
  };
  MPI_Op_create(matrix_product, 0, &operations[operations.size() - 2].mpi);
  MPI_Op_create(user_sum, 1, &operations[operations.size() - 1].mpi);
}

void free_tables() {
  for (auto& operation : operations)
    if (operation.is_user) MPI_Op_free(&operation.mpi);
  MPI_Type_free(&matrix_type);
}

std::size_t type_count() { return types.size(); }
const Type& type(std::size_t index) { return types[index]; }
std::size_t operation_count() { return operations.size(); }
const Operation& operation(std::size_t index) { return operations[index]; }

bool is_legal(const Type& type, const Operation& operation) {
  if (type.is_moved_only) return false;
  if (operation.fold == Fold::matrix || type.kind == Kind::matrix)
    return operation.fold == Fold::matrix && type.kind == Kind::matrix;
  if (operation.is_user) return type.kind == Kind::u32;
  const bool is_bitwise = operation.fold == Fold::band || operation.fold == Fold::bor || operation.fold == Fold::bxor;
  const bool is_logical = operation.fold == Fold::land || operation.fold == Fold::lor || operation.fold == Fold::lxor;
  const bool is_location = operation.fold == Fold::maxloc || operation.fold == Fold::minloc;
  if (type.is_byte) return is_bitwise;
  return with_kind(type.kind, [&](auto value) {
    using T = decltype(value);
    if constexpr (is_pair<T>) return is_location;
    if constexpr (std::is_same_v<T, bool>) return is_logical;
    if constexpr (is_complex<T>) return operation.fold == Fold::sum || operation.fold == Fold::prod;
    if constexpr (std::is_floating_point_v<T>) return !is_bitwise && !is_logical && !is_location;
    return !is_location;
  });
}

std::size_t extent(Kind kind) {
  return with_kind(kind, [](auto value) { return sizeof value; });
}

void draw(const Type& type, Fold fold, std::uint64_t key, std::byte* out) {
  const std::uint64_t bits = SplitMix64(key).next();
  with_kind(type.kind, [&](auto value) {
    using T = decltype(value);
    std::memset(out, 0, sizeof(T));
    if constexpr (std::is_same_v<T, Matrix>) {
      for (auto& cell : value.at) cell = static_cast<std::uint32_t>(SplitMix64(key += 77).next());
    } else if constexpr (is_pair<T>) {
      // Few values, so that ties are frequent
      value.value = static_cast<decltype(value.value)>(static_cast<int>(bits % 9) - 4);
      value.tag = static_cast<int>(bits >> 32);
    } else if constexpr (is_complex<T>) {
      using F = typename T::value_type;
      constexpr int kRoots[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      if (fold == Fold::prod)
        value = T(static_cast<F>(kRoots[bits % 4][0]), static_cast<F>(kRoots[bits % 4][1]));
      else
        value = T(float_of<F>(fold, bits), float_of<F>(fold, bits >> 20));
    } else if constexpr (std::is_floating_point_v<T>) {
      value = float_of<T>(fold, bits);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = bits % 2 == 1;
    } else {
      value = integer_of<T>(type, fold, bits);
    }
    store(out, value);
  });
}

void draw_rough(const Type& type, Fold fold, std::uint64_t key, std::byte* out) {
  draw(type, fold, key, out);
  with_kind(type.kind, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_floating_point_v<T>) {
      const auto bits = SplitMix64(key ^ 0x5eed).next();
      // The values are from 0.5 to 1.5
      store(out, static_cast<T>(static_cast<double>(bits >> 11) / 9007199254740992.0 + 0.5));
    }
  });
}

void combine(Kind kind, Fold fold, std::byte* left, const std::byte* right) {
  with_kind(kind, [&](auto value) {
    using T = decltype(value);
    T result = load<T>(left);
    fold_into(fold, result, load<T>(right));
    store(left, result);
  });
}

bool equal(Kind kind, const std::byte* a, const std::byte* b) {
  return with_kind(kind, [&](auto value) {
    using T = decltype(value);
    // The bits are compared first: a NaN, or a bool that is neither true nor false, must not compare by the language's
    // rules.
    if constexpr (std::is_same_v<T, bool>) return *a == *b;
    return same(load<T>(a), load<T>(b));
  });
}

bool near(Kind kind, const std::byte* a, const std::byte* b, double roundings, double scale) {
  return with_kind(kind, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(static_cast<double>(load<T>(a) - load<T>(b))) <=
             roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) * scale;
    else
      return equal(kind, a, b);
  });
}

std::string show(Kind kind, const std::byte* element) {
  return with_kind(kind, [&](auto value) -> std::string {
    using T = decltype(value);
    const T found = load<T>(element);
    if constexpr (std::is_same_v<T, Matrix>)
      return fmt::format("[{:x} {:x} {:x} {:x}]", found.at[0], found.at[1], found.at[2], found.at[3]);
    else if constexpr (is_pair<T>)
      return fmt::format("({}, {})", found.value, found.tag);
    else if constexpr (is_complex<T>)
      return fmt::format("{}{:+}i", found.real(), found.imag());
    else if constexpr (std::is_same_v<T, bool>)
      return fmt::format("{:#x}", static_cast<unsigned>(*element));
    else
      return fmt::format("{}", found);
  });
}

}  // namespace sumac::tests
