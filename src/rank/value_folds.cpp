#include "rank/value_folds.hpp"

#include <complex>
#include <iterator>

namespace sumac::rank {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

/// In the order of Value.
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
static_assert(std::size(kTypes) == kValues);
static_assert(sizeof(long double) == 16 && sizeof(std::complex<long double>) == 32);
/// In the order of Op; a table of texts that live as long as the process.
constexpr const char* kOpNames[] = {"max", "min", "sum",  "prod", "land",   "band",
                                    "lor", "bor", "lxor", "bxor", "maxloc", "minloc"};
static_assert(std::size(kOpNames) == kOpCount);

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
Function sum_or_product(Op op) {
  switch (op) {
    case Op::sum: return function_of<T>(Sum{});
    case Op::prod: return function_of<T>(Product{});
    default: return nullptr;
  }
}

template <class T>
Function number_function(Op op) {
  switch (op) {
    case Op::max: return function_of<T>(Larger{});
    case Op::min: return function_of<T>(Smaller{});
    default: return sum_or_product<T>(op);
  }
}

template <class T>
Function integer_function(Op op) {
  switch (op) {
    case Op::land: return function_of<T>([](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
    case Op::lor: return function_of<T>([](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
    case Op::lxor: return function_of<T>([](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
    case Op::band: return function_of<T>([](T a, T b) { return static_cast<T>(a & b); });
    case Op::bor: return function_of<T>([](T a, T b) { return static_cast<T>(a | b); });
    case Op::bxor: return function_of<T>([](T a, T b) { return static_cast<T>(a ^ b); });
    default: return number_function<T>(op);
  }
}

Function own_function(Value value, Op op) {
  switch (value) {
    case Value::int128: return integer_function<Int128>(op);
    case Value::uint128: return integer_function<Uint128>(op);
    case Value::long_double: return number_function<long double>(op);
    case Value::complex_float: return sum_or_product<std::complex<float>>(op);
    case Value::complex_double: return sum_or_product<std::complex<double>>(op);
    case Value::complex_long_double: return sum_or_product<std::complex<long double>>(op);
    default: return nullptr;
  }
}

/// The folds of all types and operations; those that there are not have no bytes.
struct Folds {
  sumac_fold_t folds[kValues][kOpCount] = {};
  Folds() {
    for (std::size_t type = 0; type < kValues; ++type)
      for (std::uint8_t op = 0; op < kOpCount; ++op) {
        sumac_fold_t& fold = folds[type][op];
        if (!fill(fold, static_cast<Value>(type), static_cast<Op>(op))) fold.element_bytes = 0;
        fold.type_name = kTypes[type].name;
        fold.op_name = kOpNames[op];
      }
  }
  static bool fill(sumac_fold_t& fold, Value value, Op op) {
    const auto& [name, bytes, dtype] = kTypes[static_cast<std::size_t>(value)];
    if (is_pair(op)) return false;  // These types are none of pairs.
    if (dtype != Dtype::null)
      return sumac_fold_standard(&fold, static_cast<int>(dtype), static_cast<int>(op), static_cast<int>(Dtype::null)) ==
             SUMAC_TEAM_OK;
    const Function function = own_function(value, op);
    return function != nullptr && sumac_fold_custom(&fold, bytes, function, nullptr) == SUMAC_TEAM_OK;
  }
};

}  // namespace

std::size_t element_bytes(Value value) noexcept { return kTypes[static_cast<std::size_t>(value)].bytes; }

bool is_divisible(Value value) noexcept {
  const Dtype dtype = kTypes[static_cast<std::size_t>(value)].dtype;
  return dtype == Dtype::null ? value >= Value::long_double : is_float(dtype);
}

const sumac_fold_t* fold_of(Value value, Op op) noexcept {
  if (op == Op::null) return nullptr;
  static const Folds& all = *new Folds;
  const sumac_fold_t& fold = all.folds[static_cast<std::size_t>(value)][static_cast<std::size_t>(op)];
  return fold.element_bytes == 0 ? nullptr : &fold;
}

}  // namespace sumac::rank
