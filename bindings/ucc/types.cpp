#include "bindings/ucc/types.hpp"

#include <algorithm>
#include <iterator>

#include "rank/value_folds.hpp"
#include "reduce/reference.hpp"

namespace sumac::ucc {
namespace {

/// UCC's numbers are those of rank::Value.
constexpr std::size_t kTypes = rank::kValues;
static_assert(kTypes == UCC_DT_PREDEFINED_LAST);

constexpr Op kOps[] = {Op::sum,  Op::prod, Op::max,  Op::min,  Op::land, Op::lor, Op::lxor,
                       Op::band, Op::bor,  Op::bxor, Op::null, Op::null, Op::sum};
static_assert(std::size(kOps) == UCC_OP_LAST);

std::uint64_t number_of(ucc_datatype_t datatype) noexcept { return datatype >> UCC_DATATYPE_SHIFT; }
bool is_predefined(ucc_datatype_t datatype) noexcept {
  return (datatype & UCC_DATATYPE_CLASS_MASK) == UCC_DATATYPE_PREDEFINED && number_of(datatype) < kTypes;
}
rank::Value value_of(ucc_datatype_t datatype) noexcept { return static_cast<rank::Value>(number_of(datatype)); }

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
  return is_predefined(datatype) ? rank::element_bytes(value_of(datatype)) : 0;
}

const sumac_fold_t* fold_of(ucc_datatype_t datatype, ucc_reduction_op_t op) noexcept {
  if (const auto* generic = generic_of(datatype)) return generic->reduces ? &generic->fold : nullptr;
  if (!is_predefined(datatype) || op >= UCC_OP_LAST) return nullptr;
  if (op == UCC_OP_AVG && !rank::is_divisible(value_of(datatype))) return nullptr;
  return rank::fold_of(value_of(datatype), kOps[op]);
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
