#include "bindings/ucc/types.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <iterator>

#include "base/types.hpp"
#include "reduce/reference.hpp"

namespace sumac::ucc {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

/// The number of a type is its place here.
constexpr struct {
  const char* name;
  std::uint8_t bytes;
  Dtype dtype;  ///< Its kernel; null: a function of ours.
} kTypes[] = {
    {"int8", 1, Dtype::int8},
    {"int16", 2, Dtype::int16},
    {"int32", 4, Dtype::int32},
    {"int64", 8, Dtype::int64},
    {"int128", 16, Dtype::null},
    {"uint8", 1, Dtype::uint8},
    {"uint16", 2, Dtype::uint16},
    {"uint32", 4, Dtype::uint32},
    {"uint64", 8, Dtype::uint64},
    {"uint128", 16, Dtype::null},
    {"float16", 2, Dtype::float16},
    {"float32", 4, Dtype::float32},
    {"float64", 8, Dtype::float64},
    {"bfloat16", 2, Dtype::bfloat16},
    {"float128", 16, Dtype::null},
    {"float32_complex", 8, Dtype::null},
    {"float64_complex", 16, Dtype::null},
    {"float128_complex", 32, Dtype::null},
};
static_assert(std::size(kTypes) == UCC_DT_PREDEFINED_LAST);
static_assert(sizeof(long double) == 16 && sizeof(std::complex<long double>) == 32);

constexpr struct {
  const char* name;
  Op op;
} kOps[] = {{"sum", Op::sum},     {"prod", Op::prod},   {"max", Op::max},   {"min", Op::min}, {"land", Op::land},
            {"lor", Op::lor},     {"lxor", Op::lxor},   {"band", Op::band}, {"bor", Op::bor}, {"bxor", Op::bxor},
            {"maxloc", Op::null}, {"minloc", Op::null}, {"avg", Op::sum}};
static_assert(std::size(kOps) == UCC_OP_LAST);

std::uint64_t number_of(ucc_datatype_t datatype) noexcept { return datatype >> UCC_DATATYPE_SHIFT; }
bool is_predefined(ucc_datatype_t datatype) noexcept {
  return (datatype & UCC_DATATYPE_CLASS_MASK) == UCC_DATATYPE_PREDEFINED && number_of(datatype) < std::size(kTypes);
}

using Function = void (*)(const sumac_fold_t*, void*, const void*, const void*, std::size_t);

template <class T, class Combine>
Function function_of(Combine) {
  return [](const sumac_fold_t*, void* out, const void* a, const void* b, std::size_t count) {
    const auto* left = static_cast<const T*>(a);
    const auto* right = static_cast<const T*>(b);
    auto* result = static_cast<T*>(out);
    for (std::size_t i = 0; i < count; ++i) result[i] = Combine{}(left[i], right[i]);
  };
}

struct Sum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a + b;
  }
};
struct Product {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a * b;
  }
};
struct Larger {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

template <class T>
Function sum_or_product(ucc_reduction_op_t op) {
  switch (op) {
    case UCC_OP_SUM:
    case UCC_OP_AVG: return function_of<T>(Sum{});
    case UCC_OP_PROD: return function_of<T>(Product{});
    default: return nullptr;
  }
}

template <class T>
Function number_function(ucc_reduction_op_t op) {
  switch (op) {
    case UCC_OP_MAX: return function_of<T>(Larger{});
    case UCC_OP_MIN: return function_of<T>(Smaller{});
    default: return sum_or_product<T>(op);
  }
}

template <class T>
Function integer_function(ucc_reduction_op_t op) {
  switch (op) {
    case UCC_OP_LAND: return function_of<T>([](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
    case UCC_OP_LOR: return function_of<T>([](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
    case UCC_OP_LXOR: return function_of<T>([](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
    case UCC_OP_BAND: return function_of<T>([](T a, T b) { return static_cast<T>(a & b); });
    case UCC_OP_BOR: return function_of<T>([](T a, T b) { return static_cast<T>(a | b); });
    case UCC_OP_BXOR: return function_of<T>([](T a, T b) { return static_cast<T>(a ^ b); });
    case UCC_OP_AVG: return nullptr;
    default: return number_function<T>(op);
  }
}

Function own_function(std::uint64_t type, ucc_reduction_op_t op) {
  switch (UCC_PREDEFINED_DT(type)) {
    case UCC_DT_INT128: return integer_function<Int128>(op);
    case UCC_DT_UINT128: return integer_function<Uint128>(op);
    case UCC_DT_FLOAT128: return number_function<long double>(op);
    case UCC_DT_FLOAT32_COMPLEX: return sum_or_product<std::complex<float>>(op);
    case UCC_DT_FLOAT64_COMPLEX: return sum_or_product<std::complex<double>>(op);
    case UCC_DT_FLOAT128_COMPLEX: return sum_or_product<std::complex<long double>>(op);
    default: return nullptr;
  }
}

bool is_floating(Dtype dtype) {
  return dtype == Dtype::float16 || dtype == Dtype::float32 || dtype == Dtype::float64 || dtype == Dtype::bfloat16;
}

/// The folds of all predefined types and operations; those that there are not have no bytes.
struct Folds {
  sumac_fold_t folds[std::size(kTypes)][std::size(kOps)] = {};
  Folds() {
    for (std::size_t type = 0; type < std::size(kTypes); ++type)
      for (std::size_t op = 0; op < std::size(kOps); ++op) {
        sumac_fold_t& fold = folds[type][op];
        if (!fill(fold, type, static_cast<ucc_reduction_op_t>(op))) fold.element_bytes = 0;
        fold.type_name = kTypes[type].name;
        fold.op_name = kOps[op].name;
      }
  }
  static bool fill(sumac_fold_t& fold, std::size_t type, ucc_reduction_op_t op) {
    const Dtype dtype = kTypes[type].dtype;
    if (kOps[op].op == Op::null || (op == UCC_OP_AVG && dtype != Dtype::null && !is_floating(dtype))) return false;
    if (dtype != Dtype::null)
      return sumac_fold_standard(&fold, static_cast<int>(dtype), static_cast<int>(kOps[op].op),
                                 static_cast<int>(Dtype::null)) == SUMAC_TEAM_OK;
    const Function function = own_function(type, op);
    return function != nullptr && sumac_fold_custom(&fold, kTypes[type].bytes, function, nullptr) == SUMAC_TEAM_OK;
  }
};

template <class T>
void divide_all(void* data, std::size_t bytes, int ranks) {
  auto* values = static_cast<T*>(data);
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) values[i] /= static_cast<T>(ranks);
}

template <double (*Value)(std::uint16_t), std::uint16_t (*Nearest)(double)>
void divide_halves(void* data, std::size_t bytes, int ranks) {
  auto* values = static_cast<std::uint16_t*>(data);
  for (std::size_t i = 0; i < bytes / sizeof *values; ++i) values[i] = Nearest(Value(values[i]) / ranks);
}

}  // namespace

std::size_t bytes_of_type(ucc_datatype_t datatype) noexcept {
  if (const auto* generic = generic_of(datatype)) return generic->is_contiguous ? generic->ops.contig_size : 0;
  return is_predefined(datatype) ? kTypes[number_of(datatype)].bytes : 0;
}

const sumac_fold_t* fold_of(ucc_datatype_t datatype, ucc_reduction_op_t op) noexcept {
  if (const auto* generic = generic_of(datatype)) return generic->reduces ? &generic->fold : nullptr;
  if (!is_predefined(datatype) || op >= UCC_OP_LAST) return nullptr;
  static const Folds& all = *new Folds;
  const sumac_fold_t& fold = all.folds[number_of(datatype)][op];
  return fold.element_bytes == 0 ? nullptr : &fold;
}

void divide(ucc_datatype_t datatype, void* data, std::size_t bytes, int ranks) noexcept {
  switch (datatype) {
    case UCC_DT_FLOAT16: return divide_halves<reduce::float16_value, reduce::float16_nearest>(data, bytes, ranks);
    case UCC_DT_BFLOAT16: return divide_halves<reduce::bfloat16_value, reduce::bfloat16_nearest>(data, bytes, ranks);
    case UCC_DT_FLOAT32:
    case UCC_DT_FLOAT32_COMPLEX: return divide_all<float>(data, bytes, ranks);
    case UCC_DT_FLOAT64:
    case UCC_DT_FLOAT64_COMPLEX: return divide_all<double>(data, bytes, ranks);
    default: return divide_all<long double>(data, bytes, ranks);
  }
}

const char* name_of(ucc_coll_type_t type) noexcept {
  constexpr const char* kNames[] = {
      "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv",      "barrier",         "bcast",   "fanin",
      "fanout",    "gather",     "gatherv",   "reduce",   "reduce_scatter", "reduce_scatterv", "scatter", "scatterv"};
  for (std::size_t bit = 0; bit < std::size(kNames); ++bit)
    if (type == static_cast<ucc_coll_type_t>(UCC_BIT(bit))) return kNames[bit];
  return "unknown collective";
}

}  // namespace sumac::ucc

extern "C" {

ucc_status_t ucc_dt_create_generic(const ucc_generic_dt_ops_t* ops, void* context, ucc_datatype_t* datatype_p) {
  if (ops == nullptr || datatype_p == nullptr) return UCC_ERR_INVALID_PARAM;
  const std::uint64_t flags = (ops->mask & UCC_GENERIC_DT_OPS_FIELD_FLAGS) != 0 ? ops->flags : 0;
  const bool is_contiguous = (flags & UCC_GENERIC_DT_OPS_FLAG_CONTIG) != 0;
  const bool reduces = (flags & UCC_GENERIC_DT_OPS_FLAG_REDUCE) != 0;
  if (is_contiguous ? ops->contig_size == 0
                    : ops->start_pack == nullptr || ops->start_unpack == nullptr || ops->packed_size == nullptr ||
                          ops->pack == nullptr || ops->unpack == nullptr || ops->finish == nullptr)
    return sumac::ucc::refuse(UCC_ERR_INVALID_PARAM,
                              "a generic datatype needs contig_size, or all functions that pack and unpack");
  if (reduces && ops->reduce.cb == nullptr)
    return sumac::ucc::refuse(UCC_ERR_INVALID_PARAM, "a generic datatype that reduces needs reduce.cb");
  return sumac::ucc::guarded([&] {
    auto* made = new ucc_dt_generic{*ops, context, {}, is_contiguous, reduces && is_contiguous};
    if (made->reduces) {
      const auto function = [](const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count) {
        auto* type = static_cast<ucc_dt_generic*>(const_cast<void*>(fold->context));
        const ucc_reduce_cb_params_t params{.mask = 0,
                                            .src1 = const_cast<void*>(a),
                                            .src2 = const_cast<void*>(b),
                                            .dst = out,
                                            .n_vectors = 1,
                                            .count = count,
                                            .stride = count * type->ops.contig_size,
                                            .dt = type,
                                            .cb_ctx = type->ops.reduce.cb_ctx};
        if (const ucc_status_t status = type->ops.reduce.cb(&params); status != UCC_OK)
          (void)refuse(status,
                       std::string("the reduce function of a generic datatype failed, and so its result is wrong: ") +
                           ucc_status_string(status));
      };
      made->reduces = sumac_fold_custom(&made->fold, ops->contig_size, function, made) == SUMAC_TEAM_OK;
    }
    *datatype_p = reinterpret_cast<ucc_datatype_t>(made) | UCC_DATATYPE_GENERIC;
    return UCC_OK;
  });
}

void ucc_dt_destroy(ucc_datatype_t datatype) { delete sumac::ucc::generic_of(datatype); }

}  // extern "C"
