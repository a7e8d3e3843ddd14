#include "bindings/pmpi/folds.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <memory>
#include <vector>

#include "bindings/common/fold.h"
#include "bindings/pmpi/functions.hpp"
#include "sharp/api/sharp_coll.h"

namespace sumac::pmpi {
namespace {

enum class Form : std::uint8_t { integer, unsigned_integer, real, complex, logical, byte, pair };

struct Row {
  MPI_Datatype type;
  Form form;
  int pair = -1;  ///< The SHARP type of the values of a pair whose index has a slot as wide as the value.
};

struct Column {
  MPI_Op op;
  int sharp;
};

enum OpIndex : std::size_t { kMax, kMin, kSum, kProd, kLand, kBand, kLor, kBor, kLxor, kBxor, kMaxloc, kMinloc, kOps };

std::vector<Row> rows;
std::array<Column, kOps> columns;
std::vector<std::array<Fold, kOps>> folds;

/// A type that this MPI lacks is MPI_DATATYPE_NULL, or null where it is a variable.
void add_row(MPI_Datatype type, Form form, int pair = -1) {
  if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL) return;
  for (const Row& row : rows)
    if (row.type == type) return;  // Two names of one type.
  int size = 0;
  if (mpi.Type_size(type, &size) != MPI_SUCCESS || size <= 0) return;
  rows.push_back({type, form, pair});
}

void list_rows() {
  for (const MPI_Datatype type :
       {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
        MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add_row(type, Form::integer);
  for (const MPI_Datatype type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                                  MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
    add_row(type, Form::unsigned_integer);
  for (const MPI_Datatype type :
       {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    add_row(type, Form::real);
  for (const MPI_Datatype type : {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    add_row(type, Form::complex);
  for (const MPI_Datatype type : {MPI_C_BOOL, MPI_LOGICAL}) add_row(type, Form::logical);
  add_row(MPI_BYTE, Form::byte);
  add_row(MPI_2INT, Form::pair, SHARP_DTYPE_INT);
  add_row(MPI_FLOAT_INT, Form::pair, SHARP_DTYPE_FLOAT);
  add_row(MPI_DOUBLE_INT, Form::pair, SHARP_DTYPE_DOUBLE);
  add_row(MPI_LONG_INT, Form::pair, SHARP_DTYPE_LONG);
  for (const MPI_Datatype type : {MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER})
    add_row(type, Form::pair);
}

void list_columns() {
  columns = {{{MPI_MAX, SHARP_OP_MAX},
              {MPI_MIN, SHARP_OP_MIN},
              {MPI_SUM, SHARP_OP_SUM},
              {MPI_PROD, SHARP_OP_PROD},
              {MPI_LAND, SHARP_OP_LAND},
              {MPI_BAND, SHARP_OP_BAND},
              {MPI_LOR, SHARP_OP_LOR},
              {MPI_BOR, SHARP_OP_BOR},
              {MPI_LXOR, SHARP_OP_LXOR},
              {MPI_BXOR, SHARP_OP_BXOR},
              {MPI_MAXLOC, SHARP_OP_MAXLOC},
              {MPI_MINLOC, SHARP_OP_MINLOC}}};
}

bool is_arithmetic(std::size_t op) { return op <= kProd; }
bool is_logical(std::size_t op) { return op == kLand || op == kLor || op == kLxor; }
bool is_bitwise(std::size_t op) { return op == kBand || op == kBor || op == kBxor; }
bool locates(std::size_t op) { return op == kMaxloc || op == kMinloc; }

/// The pairs that MPI's standard allows (5.1, section 6.9.2); an MPI may refuse any other.
bool is_legal(Form form, std::size_t op) {
  switch (form) {
    case Form::integer:
    case Form::unsigned_integer: return !locates(op);
    case Form::real: return is_arithmetic(op);
    case Form::complex: return op == kSum || op == kProd;
    case Form::logical: return is_logical(op);
    case Form::byte: return is_bitwise(op);
    case Form::pair: return locates(op);
  }
  return false;
}

int integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? SHARP_DTYPE_INT8 : SHARP_DTYPE_UINT8;
    case 2: return is_signed ? SHARP_DTYPE_SHORT : SHARP_DTYPE_UNSIGNED_SHORT;
    case 4: return is_signed ? SHARP_DTYPE_INT : SHARP_DTYPE_UNSIGNED;
    case 8: return is_signed ? SHARP_DTYPE_LONG : SHARP_DTYPE_UNSIGNED_LONG;
    default: return -1;
  }
}

int float_of(std::size_t bytes) { return bytes == 4 ? SHARP_DTYPE_FLOAT : bytes == 8 ? SHARP_DTYPE_DOUBLE : -1; }

/// Returns the SHARP type of the kernel that src/reduce has for a pair; -1: it has none.
int kernel_dtype(const Row& row, std::size_t op, std::size_t size) {
  switch (row.form) {
    case Form::integer: return integer_of(size, true);
    case Form::unsigned_integer:
    case Form::byte: return integer_of(size, false);
    case Form::real: return float_of(size);
    case Form::complex: return op == kSum ? float_of(size / 2) : -1;  // The sum of each of the two parts.
    case Form::logical: return row.type == MPI_C_BOOL ? integer_of(size, false) : -1;
    case Form::pair: return row.pair;
  }
  return -1;
}

/// MPI_Reduce_local replaces its second operand. A user's function finds the data of an element true_lb bytes behind its
/// address.
void reduce_local(const void* context, const void* in, void* inout, int count) {
  const auto* pair = static_cast<const Fold*>(context);
  (void)mpi.Reduce_local(static_cast<const char*>(in) - pair->true_lb, static_cast<char*>(inout) - pair->true_lb, count,
                         pair->type, pair->op);
}

void fold_by_mpi(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count) {
  sumac_fold_by_local(fold, out, a, b, count, reduce_local);
}

void fill_one(const Row& row, std::size_t op, Fold& fold) {
  if (!is_legal(row.form, op)) return;
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  (void)mpi.Type_size(row.type, &size);
  (void)mpi.Type_get_extent(row.type, &lower, &extent);
  fold.type = row.type;
  fold.op = columns[op].op;
  fold.mpi_bytes = static_cast<std::size_t>(extent);
  const int dtype = kernel_dtype(row, op, static_cast<std::size_t>(size));
  if (dtype >= 0 && sumac_fold_standard(&fold.fold, dtype, columns[op].sharp, SHARP_DTYPE_NULL) == SUMAC_TEAM_OK) {
    if (row.form == Form::complex) fold.type = fold.fold.element_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE;
    return;
  }
  if (sumac_fold_custom(&fold.fold, fold.mpi_bytes, fold_by_mpi, &fold) != SUMAC_TEAM_OK) fold.mpi_bytes = 0;
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
  fold.type = type.handle.load(std::memory_order_relaxed);
  fold.op = op;
  fold.true_lb = type.true_lb;
  fold.true_extent = type.true_extent;
  fold.mpi_bytes = static_cast<std::size_t>(type.extent);
  return sumac_fold_custom(&fold.fold, fold.mpi_bytes, fold_by_mpi, &fold) == SUMAC_TEAM_OK;
}

}  // namespace sumac::pmpi
