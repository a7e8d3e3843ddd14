// Folds for C callers: a kernel of src/reduce, or the caller's own function.
#include <cstring>

#include "team/c_types.hpp"

int sumac_fold_standard(sumac_fold_t* fold, int dtype, int op, int tag) {
  using namespace sumac;
  if (!is_dtype(static_cast<unsigned>(dtype)) || !is_op(static_cast<unsigned>(op)) || tag < 0 || tag > kDtypeCount)
    return SUMAC_TEAM_INVALID;
  const auto kernel = reduce::kernel_for(static_cast<Op>(op), static_cast<Dtype>(dtype), static_cast<Dtype>(tag));
  if (!kernel) return SUMAC_TEAM_INVALID;
  std::memset(fold, 0, sizeof *fold);
  fold->element_bytes = kernel.element_bytes();
  static_assert(std::is_trivially_copyable_v<reduce::Kernel>);
  std::memcpy(fold->kernel, &kernel, sizeof kernel);
  fold->dtype = static_cast<std::uint8_t>(dtype);
  fold->op = static_cast<std::uint8_t>(op);
  fold->tag = static_cast<std::uint8_t>(tag);
  return SUMAC_TEAM_OK;
}

int sumac_fold_custom(sumac_fold_t* fold, size_t element_bytes,
                      void (*function)(const sumac_fold_t*, void*, const void*, const void*, size_t),
                      const void* context) {
  if (element_bytes == 0 || element_bytes > SUMAC_ELEMENT_BYTES_MAX) return SUMAC_TEAM_INVALID;
  std::memset(fold, 0, sizeof *fold);
  fold->element_bytes = element_bytes;
  fold->function = function;
  fold->context = context;
  fold->dtype = fold->op = fold->tag = static_cast<std::uint8_t>(sumac::Dtype::null);
  return SUMAC_TEAM_OK;
}

const char* sumac_coll_name(int coll) {
  if (coll < 0 || coll >= SUMAC_COLLS) return "?";
  // The names are literals, so they end in 0.
  return sumac::coll::to_string(static_cast<sumac::coll::Kind>(coll)).data();
}
