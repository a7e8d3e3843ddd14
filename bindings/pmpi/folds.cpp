#include "bindings/pmpi/folds.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <memory>
#include <vector>

#include "bindings/pmpi/functions.hpp"
#include "rank/fold.h"
#include "rank/predefined.h"
#include "sharp/api/sharp_coll.h"

namespace sumac::pmpi {
namespace {

struct Row {
  const char* name;
  MPI_Datatype type;
  sumac_values values;
};

struct Column {
  const char* name;
  MPI_Op op;
  int sharp;
};

constexpr std::size_t kOps = 12;

std::vector<Row> rows;
std::array<Column, kOps> columns;
std::vector<std::array<Fold, kOps>> folds;

/// A type that this MPI lacks is MPI_DATATYPE_NULL, or null where it is a variable.
void add_row(const char* name, MPI_Datatype type, sumac_values values) {
  if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL) return;
  for (const Row& row : rows)
    if (row.type == type) return;  // Two names of one type.
  int size = 0;
  if (mpi.Type_size(type, &size) != MPI_SUCCESS || size <= 0) return;
  rows.push_back({name, type, values});
}

void list_rows() {
#define ROW(name, values) add_row("MPI_" #name, MPI_##name, values);
  SUMAC_PREDEFINED_TYPES(ROW)
#undef ROW
}

#define COLUMN(name) \
  { "MPI_" #name, MPI_##name, SHARP_OP_##name }
void list_columns() {
  columns = {{COLUMN(MAX), COLUMN(MIN), COLUMN(SUM), COLUMN(PROD), COLUMN(LAND), COLUMN(BAND), COLUMN(LOR), COLUMN(BOR),
              COLUMN(LXOR), COLUMN(BXOR), COLUMN(MAXLOC), COLUMN(MINLOC)}};
}
#undef COLUMN

/// MPI_Reduce_local replaces its second operand. A user's function finds the data of an element true_lb bytes behind its
/// address.
void reduce_local(const void* context, const void* in, void* inout, int count) {
  const auto* pair = static_cast<const Fold*>(context);
  (void)mpi.Reduce_local(static_cast<const char*>(in) - pair->true_lb, static_cast<char*>(inout) - pair->true_lb, count,
                         type_of(*pair), op_of(*pair));
}

void fold_by_mpi(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count) {
  sumac_fold_by_local(fold, out, a, b, count, reduce_local);
}

void fill_pair(const Row& row, std::size_t op, Fold& fold) {
  if (!sumac_predefined_is_legal(row.values, columns[op].sharp)) return;
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  (void)mpi.Type_size(row.type, &size);
  (void)mpi.Type_get_extent(row.type, &lower, &extent);
  fold.type = bits_of(row.type);
  fold.op = bits_of(columns[op].op);
  fold.mpi_bytes = static_cast<std::size_t>(extent);
  if (sumac_predefined_fold(&fold.fold, row.values, columns[op].sharp, static_cast<std::size_t>(size),
                            fold.mpi_bytes)) {
    if (row.values == SUMAC_COMPLEX_NUMBERS) fold.type = bits_of(fold.fold.element_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE);
    return;
  }
  if (sumac_fold_custom(&fold.fold, fold.mpi_bytes, fold_by_mpi, &fold) != SUMAC_TEAM_OK) fold.mpi_bytes = 0;
}

void fill_one(const Row& row, std::size_t op, Fold& fold) {
  fill_pair(row, op, fold);
  fold.fold.type_name = row.name;
  fold.fold.op_name = columns[op].name;
}

std::size_t column_of(MPI_Op op) {
  for (std::size_t i = 0; i < kOps; ++i)
    if (columns[i].op == op) return i;
  return kOps;
}

}  // namespace

void fill_folds() {
  if (!rows.empty()) return;
  list_rows();
  list_columns();
  folds.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t op = 0; op < kOps; ++op) fill_one(rows[row], op, folds[row][op]);
}

int fold_row(MPI_Datatype type) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].type == type) return static_cast<int>(row);
  return -1;
}

const Fold* find_fold(const Type& type, MPI_Op op) {
  if (type.row < 0) return nullptr;
  const std::size_t column = column_of(op);
  if (column == kOps) return nullptr;
  const Fold& fold = folds[static_cast<std::size_t>(type.row)][column];
  return fold.mpi_bytes > 0 ? &fold : nullptr;
}

bool make_fold(const Type& type, MPI_Op op, Fold& fold, bool& commutes) {
  int answer = 0;
  // A predefined operation takes predefined types only, and the last two are for one-sided communication.
  if (op == MPI_OP_NULL || column_of(op) != kOps || op == MPI_REPLACE || op == MPI_NO_OP) return false;
  if (mpi.Op_commutative(op, &answer) != MPI_SUCCESS) return false;
  if (!type.is_orderly || type.size == 0) return false;
  commutes = answer != 0;
  fold.type = bits_of(type.handle.load(std::memory_order_relaxed));
  fold.op = bits_of(op);
  fold.true_lb = type.true_lb;
  fold.true_extent = type.true_extent;
  fold.mpi_bytes = static_cast<std::size_t>(type.extent);
  return sumac_fold_custom(&fold.fold, fold.mpi_bytes, fold_by_mpi, &fold) == SUMAC_TEAM_OK;
}

}  // namespace sumac::pmpi
