#include "bindings/hcoll/types.hpp"

#include <array>
#include <iterator>
#include <optional>

#include "rank/value_folds.hpp"

namespace sumac::hcoll {
namespace {

/// The description of a predefined type. One of more than 31 bytes does not fit in line: `packed_size` is a byte of bits.
constexpr dte_data_representation_t predefined(hcoll_dte_id_t id, unsigned bytes, unsigned extent, bool is_real,
                                               bool is_signed) {
  dte_data_representation_t made{};
  auto& line = made.rep.in_line_rep.data_handle.in_line;
  made.id = static_cast<short>(id);
  if (bytes > 31) return made;
  line.in_line = 1;
  line.type = (is_real ? HCOL_FLOATING_POINT_TYPE : HCOL_FIXED_SIZE_TYPE) & 3;
  line.contiguity = bytes == extent ? 1 : 0;
  line.n_types = 1;
  line.is_signed = is_signed ? 1 : 0;
  line.packed_size = static_cast<std::uint8_t>(bytes * 8);
  line.data_extent = static_cast<std::uint16_t>(extent * 8);
  line.alignment = static_cast<std::uint8_t>(extent);
  return made;
}

using rank::Value;

/// A pair of a value and an int, with a gap before the int or behind it.
dte_ptr pair_of(std::size_t value, std::ptrdiff_t at, std::ptrdiff_t extent) {
  return {{{{0, value}, {at, sizeof(int)}}, value + sizeof(int), extent, 0, extent / 2}};
}
const dte_ptr& layout_of_pair(int id) {
  static const dte_ptr& wide = *new dte_ptr(pair_of(8, 8, 16));
  static const dte_ptr& narrow = *new dte_ptr(pair_of(2, 4, 8));
  static const dte_ptr& widest = *new dte_ptr(pair_of(16, 16, 32));
  return id == HCOL_DTE_SHORT_INT ? narrow : id == HCOL_DTE_LONG_DOUBLE_INT ? widest : wide;
}

/// The bytes of each predefined type, by its id.
constexpr std::array<std::uint8_t, HCOL_DTE_MAX_PREDEFINED> kBytes = {
    0, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8, 12, 16, 8, 16, 32, 8, 12, 12, 8, 6, 20, 16, 8, 16, 0, 0, 1, 4, 0, 2};

/// The values of each, for reductions; none: there are no reductions.
using enum Value;
constexpr std::optional<Value> none;
constexpr std::optional<Value> kValues[] = {
    none,   int8,    int16,   int32,   int64, int128,      uint8,         uint16,         uint32,
    uint64, uint128, float32, float64, none,  long_double, complex_float, complex_double, complex_long_double,
    none,   none,    none,    none,    none,  none,        none,          none,           none,
    none,   none,    uint8,   none,    none,  float16};
static_assert(std::size(kValues) == HCOL_DTE_MAX_PREDEFINED);

constexpr Op kOps[] = {Op::null, Op::max, Op::min,  Op::sum,  Op::prod, Op::land, Op::band,
                       Op::lor,  Op::bor, Op::lxor, Op::bxor, Op::null, Op::null, Op::null};
static_assert(std::size(kOps) == HCOL_DTE_OP_NUM_OF_TYPES);

}  // namespace

Element element_of(const dte_data_representation_t& type) noexcept {
  if (type.id == HCOL_DTE_MPI && !HCOL_DTE_IS_INLINE(type)) {
    const dte_ptr* const layout = HCOL_DTE_PTR(type);
    return layout == nullptr ? Element{} : Element{layout->bytes, layout->has_gaps() ? layout : nullptr};
  }
  if (type.id <= HCOL_DTE_ZERO || type.id >= HCOL_DTE_MAX_PREDEFINED) return {};
  switch (type.id) {
    case HCOL_DTE_DOUBLE_INT:
    case HCOL_DTE_LONG_INT:
    case HCOL_DTE_SHORT_INT:
    case HCOL_DTE_LONG_DOUBLE_INT: return {kBytes[static_cast<std::size_t>(type.id)], &layout_of_pair(type.id)};
    default: return {kBytes[static_cast<std::size_t>(type.id)], nullptr};
  }
}

const sumac_fold_t* fold_of(const dte_data_representation_t& type, const hcoll_dte_op_t* op) noexcept {
  if (op == nullptr || op->id <= HCOL_DTE_OP_NULL || op->id >= HCOL_DTE_OP_NUM_OF_TYPES || type.id < 0 ||
      type.id >= HCOL_DTE_MAX_PREDEFINED)
    return nullptr;
  const auto& value = kValues[static_cast<std::size_t>(type.id)];
  return value ? rank::fold_of(*value, kOps[op->id]) : nullptr;
}

}  // namespace sumac::hcoll

using sumac::hcoll::predefined;

#pragma GCC visibility push(default)
dte_data_representation_t zero_dte = predefined(HCOL_DTE_ZERO, 0, 0, false, false);
dte_data_representation_t byte_dte = predefined(HCOL_DTE_BYTE, 1, 1, false, true);
dte_data_representation_t integer16_dte = predefined(HCOL_DTE_INT16, 2, 2, false, true);
dte_data_representation_t integer32_dte = predefined(HCOL_DTE_INT32, 4, 4, false, true);
dte_data_representation_t integer64_dte = predefined(HCOL_DTE_INT64, 8, 8, false, true);
dte_data_representation_t integer128_dte = predefined(HCOL_DTE_INT128, 16, 16, false, true);
dte_data_representation_t u_byte_dte = predefined(HCOL_DTE_UBYTE, 1, 1, false, false);
dte_data_representation_t u_integer16_dte = predefined(HCOL_DTE_UINT16, 2, 2, false, false);
dte_data_representation_t u_integer32_dte = predefined(HCOL_DTE_UINT32, 4, 4, false, false);
dte_data_representation_t u_integer64_dte = predefined(HCOL_DTE_UINT64, 8, 8, false, false);
dte_data_representation_t u_integer128_dte = predefined(HCOL_DTE_UINT128, 16, 16, false, false);
dte_data_representation_t float32_dte = predefined(HCOL_DTE_FLOAT32, 4, 4, true, true);
dte_data_representation_t float64_dte = predefined(HCOL_DTE_FLOAT64, 8, 8, true, true);
dte_data_representation_t float96_dte = predefined(HCOL_DTE_FLOAT96, 12, 12, true, true);
dte_data_representation_t float128_dte = predefined(HCOL_DTE_FLOAT128, 16, 16, true, true);
dte_data_representation_t float32_complex_dte = predefined(HCOL_DTE_FLOAT32_COMPLEX, 8, 8, true, true);
dte_data_representation_t float64_complex_dte = predefined(HCOL_DTE_FLOAT64_COMPLEX, 16, 16, true, true);
dte_data_representation_t float128_complex_dte = predefined(HCOL_DTE_FLOAT128_COMPLEX, 32, 32, true, true);
dte_data_representation_t hcol_dte_float_int = predefined(HCOL_DTE_FLOAT_INT, 8, 8, false, false);
dte_data_representation_t hcol_dte_double_int = predefined(HCOL_DTE_DOUBLE_INT, 12, 16, false, false);
dte_data_representation_t hcol_dte_long_int = predefined(HCOL_DTE_LONG_INT, 12, 16, false, false);
dte_data_representation_t hcol_dte_2int = predefined(HCOL_DTE_2INT, 8, 8, false, false);
dte_data_representation_t hcol_dte_short_int = predefined(HCOL_DTE_SHORT_INT, 6, 8, false, false);
dte_data_representation_t hcol_dte_long_double_int = predefined(HCOL_DTE_LONG_DOUBLE_INT, 20, 32, false, false);
dte_data_representation_t hcol_dte_2int64 = predefined(HCOL_DTE_2INT64, 16, 16, false, false);
dte_data_representation_t hcol_dte_2float32 = predefined(HCOL_DTE_2FLOAT32, 8, 8, false, false);
dte_data_representation_t hcol_dte_2float64 = predefined(HCOL_DTE_2FLOAT64, 16, 16, false, false);
dte_data_representation_t hcol_dte_lb = predefined(HCOL_DTE_LB, 0, 0, false, false);
dte_data_representation_t hcol_dte_ub = predefined(HCOL_DTE_UB, 0, 0, false, false);
dte_data_representation_t hcol_dte_bool = predefined(HCOL_DTE_BOOL, 1, 1, false, false);
dte_data_representation_t hcol_dte_wchar = predefined(HCOL_DTE_WCHAR, 4, 4, false, true);
dte_data_representation_t float16_dte = predefined(HCOL_DTE_FLOAT16, 2, 2, true, true);

hcoll_dte_op_t hcoll_dte_op_null = {HCOL_DTE_OP_NULL};
hcoll_dte_op_t hcoll_dte_op_max = {HCOL_DTE_OP_MAX};
hcoll_dte_op_t hcoll_dte_op_min = {HCOL_DTE_OP_MIN};
hcoll_dte_op_t hcoll_dte_op_sum = {HCOL_DTE_OP_SUM};
hcoll_dte_op_t hcoll_dte_op_prod = {HCOL_DTE_OP_PROD};
hcoll_dte_op_t hcoll_dte_op_land = {HCOL_DTE_OP_LAND};
hcoll_dte_op_t hcoll_dte_op_band = {HCOL_DTE_OP_BAND};
hcoll_dte_op_t hcoll_dte_op_lor = {HCOL_DTE_OP_LOR};
hcoll_dte_op_t hcoll_dte_op_bor = {HCOL_DTE_OP_BOR};
hcoll_dte_op_t hcoll_dte_op_lxor = {HCOL_DTE_OP_LXOR};
hcoll_dte_op_t hcoll_dte_op_bxor = {HCOL_DTE_OP_BXOR};
#pragma GCC visibility pop
