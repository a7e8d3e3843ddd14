#include "rank/fold.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>

#include "rank/record.h"
#include "sharp/api/sharp_coll.h"

sumac_pair sumac_pairs[SUMAC_ROWS + 1][SUMAC_OPS];

namespace {

/// The first operand is kept where the result takes its place. There is room for the largest element that
/// sumac_fold_custom() lets through, and a processor's first cache has that room.
constexpr std::size_t kKeptBytes = SUMAC_ELEMENT_BYTES_MAX;

struct Row {
  const char* name;
  sumac_values values;
};
constexpr Row kRows[] = {
#define ROW(name, values) {"MPI_" #name, values},
    SUMAC_PREDEFINED_TYPES(ROW)
#undef ROW
};
struct Column {
  const char* name;
  int op;
};
constexpr Column kColumns[] = {
#define COLUMN(name) {"MPI_" #name, SHARP_OP_##name},
    SUMAC_PREDEFINED_OPS(COLUMN)
#undef COLUMN
};
static_assert(std::size(kRows) == SUMAC_ROWS && std::size(kColumns) == SUMAC_OPS);

/// The MPI's function finds the data of an element true_lb bytes behind its address.
void reduce_local(const void* context, const void* in, void* inout, int count) {
  const auto& pair = *static_cast<const sumac_pair*>(context);
  pair.runtime->reduce_local(static_cast<const char*>(in) - pair.true_lb, static_cast<char*>(inout) - pair.true_lb,
                             count, pair.type, pair.op);
}

void fold_by_mpi(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count) {
  sumac_fold_by_local(fold, out, a, b, count, reduce_local);
}

void fill(sumac_pair& pair, const uintptr_t* types, const sumac_layout& type, const Row& row, const Column& column) {
  pair.mpi_bytes = static_cast<std::size_t>(type.extent);  // It includes padding.
  if (sumac_predefined_fold(&pair.fold, row.values, column.op, type.size, pair.mpi_bytes)) {
    if (row.values == SUMAC_COMPLEX_NUMBERS)
      pair.type = types[pair.fold.element_bytes == 4 ? SUMAC_ROW_FLOAT : SUMAC_ROW_DOUBLE];
  } else if (sumac_fold_custom(&pair.fold, pair.mpi_bytes, fold_by_mpi, &pair) != SUMAC_TEAM_OK) {
    pair.mpi_bytes = 0;
  }
  pair.fold.type_name = row.name;
  pair.fold.op_name = column.name;
}

/// Data that lie over each other are no result.
bool is_orderly(const sumac_layout& type) {
  return type.size > 0 && type.extent > 0 && type.true_extent <= type.extent &&
         static_cast<std::size_t>(type.true_extent) >= type.size;
}

}  // namespace

void sumac_pairs_fill(const sumac_runtime* runtime, const uintptr_t* types, const uintptr_t* ops) {
  for (int row = 0; row < SUMAC_ROWS; ++row) {
    sumac_layout room;
    const sumac_layout* type = types[row] == 0 ? nullptr : runtime->layout(types[row], &room);
    if (type == nullptr || type->size == 0) continue;
    for (int op = 0; op < SUMAC_OPS; ++op) {
      if (!sumac_predefined_is_legal(kRows[row].values, kColumns[op].op)) continue;
      sumac_pair& pair = sumac_pairs[row][op];
      pair.type = types[row];
      pair.op = ops[op];
      pair.runtime = runtime;
      fill(pair, types, *type, kRows[row], kColumns[op]);
    }
  }
}

int sumac_pairs_row(const uintptr_t* types, uintptr_t type) {
  const auto* found = std::find(types, types + SUMAC_ROWS, type);
  return type == 0 || found == types + SUMAC_ROWS ? -1 : static_cast<int>(found - types);
}

const sumac_pair* sumac_pair_of(const sumac_record* record, sumac_pair* own, sumac_coll coll, const sumac_layout* type,
                                uintptr_t op) {
  const int column = record->runtime->op_kind(op);
  if (column >= 0 && type->row >= 0) {
    const sumac_pair& pair = sumac_pairs[type->row][column];
    return pair.mpi_bytes != 0 ? &pair : nullptr;
  }
  const sumac_team_t* team = record->ordinary.team;
  // A predefined operation takes predefined types only.
  if (column >= 0 || column == SUMAC_OP_NOT_FOR_US || !is_orderly(*type) ||
      static_cast<std::size_t>(type->extent) > sumac_team_element_bytes_max(team, coll) ||
      (column == SUMAC_OP_IN_ORDER && sumac_team_keeps_order(team) == 0))
    return nullptr;
  *own = {.fold = {},
          .mpi_bytes = static_cast<std::size_t>(type->extent),
          .type = type->type,
          .op = op,
          .runtime = record->runtime,
          .true_lb = type->true_lb,
          .true_extent = type->true_extent};
  if (sumac_fold_custom(&own->fold, own->mpi_bytes, fold_by_mpi, own) != SUMAC_TEAM_OK) return nullptr;
  own->fold.in_mpi = record->runtime->own_in_mpi ? 1 : 0;
  return own;
}

void sumac_fold_by_local(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count,
                         sumac_reduce_local_t reduce) {
  const std::size_t bytes = fold->element_bytes, most = out == a ? kKeptBytes / bytes : INT_MAX;
  alignas(64) char kept[kKeptBytes];
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, most);
    const char *first = static_cast<const char*>(a) + done * bytes,
               *second = static_cast<const char*>(b) + done * bytes;
    char* result = static_cast<char*>(out) + done * bytes;
    if (result == first) first = static_cast<char*>(std::memcpy(kept, first, now * bytes));
    if (result != second) std::memcpy(result, second, now * bytes);
    reduce(fold->context, first, result, static_cast<int>(now));
    done += now;
  }
}
