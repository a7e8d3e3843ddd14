#pragma once
// One collective in one form, and what each rank must find after it.
#include <complex>
#include <cstdint>

#include "bindings/hcoll/test_client.hpp"

namespace sumac::hcoll::test {

/// Types with values; the others only move.
struct Type {
  const dte_data_representation_t* dte;
  std::size_t bytes;
  enum Kind : std::uint8_t { integers, reals, complex, bytes_alone } kind;
};
inline const Type kTypes[] = {
    {&DTE_BYTE, 1, Type::integers},
    {&DTE_INT16, 2, Type::integers},
    {&DTE_INT32, 4, Type::integers},
    {&DTE_INT64, 8, Type::integers},
    {&DTE_INT128, 16, Type::integers},
    {&DTE_UBYTE, 1, Type::integers},
    {&DTE_UINT16, 2, Type::integers},
    {&DTE_UINT32, 4, Type::integers},
    {&DTE_UINT64, 8, Type::integers},
    {&DTE_UINT128, 16, Type::integers},
    {&DTE_BOOL, 1, Type::integers},
    {&DTE_FLOAT16, 2, Type::reals},
    {&DTE_FLOAT32, 4, Type::reals},
    {&DTE_FLOAT64, 8, Type::reals},
    {&DTE_FLOAT128, 16, Type::reals},
    {&DTE_FLOAT32_COMPLEX, 8, Type::complex},
    {&DTE_FLOAT64_COMPLEX, 16, Type::complex},
    {&DTE_FLOAT128_COMPLEX, 32, Type::complex},
};
/// Pairs and types without operations.
inline const Type kMoved[] = {
    {&DTE_FLOAT96, 12, Type::bytes_alone}, {&DTE_FLOAT_INT, 8, Type::bytes_alone},
    {&DTE_2INT, 8, Type::bytes_alone},     {&DTE_2INT64, 16, Type::bytes_alone},
    {&DTE_2FLOAT32, 8, Type::bytes_alone}, {&DTE_2FLOAT64, 16, Type::bytes_alone},
    {&DTE_WCHAR, 4, Type::bytes_alone},
};
inline const Type& kInt = kTypes[2];

inline hcoll_dte_op_t* const kOps[] = {HCOL_OP_MAX,  HCOL_OP_MIN, HCOL_OP_SUM, HCOL_OP_PROD, HCOL_OP_LAND,
                                       HCOL_OP_BAND, HCOL_OP_LOR, HCOL_OP_BOR, HCOL_OP_LXOR, HCOL_OP_BXOR};

inline bool has_fold(const Type& type, const hcoll_dte_op_t& op) {
  switch (type.kind) {
    case Type::integers: return true;
    case Type::reals: return op.id <= HCOL_DTE_OP_PROD;
    case Type::complex: return op.id == HCOL_DTE_OP_SUM || op.id == HCOL_DTE_OP_PROD;
    default: return false;
  }
}

inline int combined(const hcoll_dte_op_t& op, int a, int b) {
  switch (op.id) {
    case HCOL_DTE_OP_MAX: return std::max(a, b);
    case HCOL_DTE_OP_MIN: return std::min(a, b);
    case HCOL_DTE_OP_SUM: return a + b;
    case HCOL_DTE_OP_PROD: return a * b;
    case HCOL_DTE_OP_LAND: return a != 0 && b != 0 ? 1 : 0;
    case HCOL_DTE_OP_BAND: return a & b;
    case HCOL_DTE_OP_LOR: return a != 0 || b != 0 ? 1 : 0;
    case HCOL_DTE_OP_BOR: return a | b;
    case HCOL_DTE_OP_LXOR: return (a != 0) != (b != 0) ? 1 : 0;
    default: return a ^ b;
  }
}

/// Elements of a type that hold small numbers, and a guard behind them.
class Vector {
 public:
  Vector(const Type& type, std::size_t count) : type_(&type), memory_(count * type.bytes + kGuard, kFill) {}

  void* data() { return memory_.data(); }
  void set(std::size_t at, int value) {
    char* const to = memory_.data() + at * type_->bytes;
    write(to, value);
  }
  void expect(std::size_t at, int value) const {
    std::vector<char> wanted(type_->bytes, 0);
    write(wanted.data(), value);
    // A long double has bytes that mean nothing.
    const std::size_t bytes = type_->bytes == 16 && type_->kind == Type::reals ? 10 : type_->bytes;
    if (type_->bytes == 32) {
      std::complex<long double> found;
      std::memcpy(static_cast<void*>(&found), memory_.data() + at * type_->bytes, sizeof found);
      ASSERT_EQ(found, static_cast<long double>(value)) << "element " << at;
    } else {
      ASSERT_EQ(std::memcmp(memory_.data() + at * type_->bytes, wanted.data(), bytes), 0)
          << "element " << at << " is not " << value;
    }
  }
  void expect_guard() const {
    for (std::size_t i = memory_.size() - kGuard; i < memory_.size(); ++i) ASSERT_EQ(memory_[i], kFill);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr char kFill = 0x5a;

  template <class T>
  static void put(char* to, T value) {
    std::memcpy(to, &value, sizeof value);
  }
  void write(char* to, int value) const {
    const bool is_real = type_->kind == Type::reals;
    if (type_->kind == Type::complex) {
      if (type_->bytes == 8) return put(to, std::complex<float>(static_cast<float>(value)));
      if (type_->bytes == 16) return put(to, std::complex<double>(value));
      return put(to, std::complex<long double>(value));
    }
    if (is_real && type_->bytes == 2) return put(to, static_cast<_Float16>(value));
    if (is_real && type_->bytes == 4) return put(to, static_cast<float>(value));
    if (is_real && type_->bytes == 8) return put(to, static_cast<double>(value));
    if (is_real) return put(to, static_cast<long double>(value));
    std::memset(to, value < 0 ? -1 : 0, type_->bytes);
    std::memcpy(to, &value, std::min(type_->bytes, sizeof value));
  }

  const Type* type_;
  std::vector<char> memory_;
};

/// The members of hcoll_collectives by name, blocking, and nonblocking where there is one.
enum class Coll : std::uint8_t {
  allgather,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  barrier,
  bcast,
  exscan,
  gather,
  gatherv,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  scatter,
  scatterv
};
inline constexpr int kColls = 16;
inline constexpr bool is_reduction(Coll coll) {
  return coll == Coll::allreduce || coll == Coll::exscan || (coll >= Coll::reduce && coll <= Coll::scan);
}
inline constexpr bool is_nonblocking_too(Coll coll) {
  switch (coll) {
    case Coll::allgather:
    case Coll::allgatherv:
    case Coll::allreduce:
    case Coll::alltoallv:
    case Coll::barrier:
    case Coll::bcast:
    case Coll::gatherv:
    case Coll::reduce: return true;
    default: return false;
  }
}

struct Case {
  Coll coll;
  std::size_t count;
  const Type* type = &kInt;
  hcoll_dte_op_t* op = HCOL_OP_SUM;
  int root = 0;
  bool in_place = false, waits = false;

  /// Runs it as a rank of a group that has a context.
  void run(void* context, int rank, int size) const {
    const auto ranks = static_cast<std::size_t>(size), own = static_cast<std::size_t>(rank);
    const bool is_root = rank == root;
    const int n = static_cast<int>(count);
    // Blocks of an own size each, with a gap between them.
    std::vector<int> counts(ranks), places(ranks), bytes_places(ranks);
    std::size_t all = 0, before = 0, sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      counts[i] = count == 0 ? 0 : n - (i % 2 != 0 && n > 1 ? 1 : 0);
      places[i] = static_cast<int>(all);
      bytes_places[i] = static_cast<int>(all * type->bytes);
      all += static_cast<std::size_t>(counts[i]) + 1;
      if (i < own) before += static_cast<std::size_t>(counts[i]);
      sum += static_cast<std::size_t>(counts[i]);
    }
    const std::size_t room = std::max(all, count * ranks);
    Vector in(*type, room), out(*type, room);
    const auto value = [&](std::size_t of, std::size_t to, std::size_t i) {
      return static_cast<int>((of * 3 + to * 5 + i) % 4 + (is_reduction(coll) ? 0 : of));
    };
    Vector& from = in_place ? out : in;
    void* const sbuf = in_place ? HCOLL_IN_PLACE : in.data();
    void* handle = nullptr;
    int status = HCOLL_ERROR;
    const auto t = *type->dte;
    auto& table = hcoll_collectives;

    // ---- what goes in
    switch (coll) {
      case Coll::barrier: break;
      case Coll::bcast:
        for (std::size_t i = 0; is_root && i < count; ++i) out.set(i, value(own, 0, i));
        break;
      case Coll::allreduce:
      case Coll::scan:
      case Coll::exscan:
      case Coll::reduce:
        for (std::size_t i = 0; i < count; ++i) (coll == Coll::reduce && !is_root ? in : from).set(i, value(own, 0, i));
        break;
      case Coll::reduce_scatter:
        for (std::size_t i = 0; i < sum; ++i) from.set(i, value(own, 0, i));
        break;
      case Coll::reduce_scatter_block:
      case Coll::alltoall:
        for (std::size_t to = 0; to < ranks; ++to)
          for (std::size_t i = 0; i < count; ++i) from.set(to * count + i, value(own, to, i));
        break;
      case Coll::allgather:
      case Coll::gather:
        for (std::size_t i = 0; i < count; ++i)
          (in_place && (coll == Coll::allgather || is_root) ? out : in)
              .set((in_place && (coll == Coll::allgather || is_root) ? own * count : 0) + i, value(own, 0, i));
        break;
      case Coll::allgatherv:
      case Coll::gatherv: {
        const bool is_there = in_place && (coll == Coll::allgatherv || is_root);
        for (int i = 0; i < counts[own]; ++i)
          (is_there ? out : in)
              .set(static_cast<std::size_t>(is_there ? places[own] : 0) + static_cast<std::size_t>(i),
                   value(own, 0, static_cast<std::size_t>(i)));
        break;
      }
      case Coll::alltoallv:
        // Ranks exchange blocks whose size both know: that of the lower one.
        for (std::size_t to = 0; to < ranks; ++to)
          for (int i = 0; i < counts[std::min(own, to)]; ++i)
            from.set(to * count + static_cast<std::size_t>(i), value(own, to, static_cast<std::size_t>(i)));
        break;
      case Coll::scatter:
      case Coll::scatterv:
        for (std::size_t to = 0; is_root && to < ranks; ++to)
          for (std::size_t i = 0; i < (coll == Coll::scatter ? count : static_cast<std::size_t>(counts[to])); ++i)
            in.set((coll == Coll::scatter ? to * count : static_cast<std::size_t>(places[to])) + i, value(own, to, i));
        break;
    }
    std::vector<int> pair_counts(ranks), pair_places(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
      pair_counts[i] = counts[std::min(own, i)];
      pair_places[i] = static_cast<int>(i * count);
    }

    // ---- the call
    void* const at_root = is_root ? out.data() : nullptr;
    void* const rooted_in = in_place && is_root ? HCOLL_IN_PLACE : in.data();
    int* const root_counts = is_root ? counts.data() : nullptr;
    int* const root_places = is_root ? places.data() : nullptr;
    switch (coll) {
      case Coll::barrier: status = waits ? table.coll_ibarrier(context, &handle) : table.coll_barrier(context); break;
      case Coll::bcast:
        status = waits ? table.coll_ibcast(out.data(), n, t, root, &handle, context)
                       : table.coll_bcast(out.data(), n, t, root, context);
        break;
      case Coll::allreduce:
        status = waits ? table.coll_iallreduce(sbuf, out.data(), n, t, op, context, &handle)
                       : table.coll_allreduce(sbuf, out.data(), n, t, op, context);
        break;
      case Coll::reduce:
        status = waits ? table.coll_ireduce(rooted_in, at_root, n, t, op, root, context, &handle)
                       : table.coll_reduce(rooted_in, at_root, n, t, op, root, context);
        break;
      case Coll::scan: status = table.coll_scan(sbuf, out.data(), n, t, op, context); break;
      case Coll::exscan: status = table.coll_exscan(sbuf, out.data(), n, t, op, context); break;
      case Coll::reduce_scatter:
        status = table.coll_reduce_scatter(sbuf, out.data(), counts.data(), t, op, context);
        break;
      case Coll::reduce_scatter_block:
        status = table.coll_reduce_scatter_block(sbuf, out.data(), n, t, op, context);
        break;
      case Coll::alltoall: status = table.coll_alltoall(sbuf, n, t, out.data(), n, t, context); break;
      case Coll::allgather:
        status = waits ? table.coll_iallgather(sbuf, n, t, out.data(), n, t, context, &handle)
                       : table.coll_allgather(sbuf, n, t, out.data(), n, t, context);
        break;
      case Coll::allgatherv:
        status =
            waits ? table.coll_iallgatherv(sbuf, counts[own], t, out.data(), counts.data(), places.data(), t, context,
                                           &handle)
                  : table.coll_allgatherv(sbuf, counts[own], t, out.data(), counts.data(), places.data(), t, context);
        break;
      case Coll::gather: status = table.coll_gather(rooted_in, n, t, at_root, n, t, root, context); break;
      case Coll::gatherv:
        status =
            waits ? table.coll_igatherv(rooted_in, counts[own], t, at_root, root_counts, root_places, t, root, context,
                                        &handle)
                  : table.coll_gatherv(rooted_in, counts[own], t, at_root, root_counts, root_places, t, root, context);
        break;
      case Coll::alltoallv:
        status = waits ? table.coll_ialltoallv(sbuf, pair_counts.data(), pair_places.data(), t, out.data(),
                                               pair_counts.data(), pair_places.data(), t, context, &handle)
                       : table.coll_alltoallv(sbuf, pair_counts.data(), pair_places.data(), t, out.data(),
                                              pair_counts.data(), pair_places.data(), t, context);
        break;
      case Coll::scatter:
        status = table.coll_scatter(is_root ? in.data() : nullptr, n, t,
                                    is_root && in_place ? HCOLL_IN_PLACE : out.data(), n, t, root, context);
        break;
      case Coll::scatterv:
        status = table.coll_scatterv(is_root ? in.data() : nullptr, root_counts, root_places, t,
                                     is_root && in_place ? HCOLL_IN_PLACE : out.data(), counts[own], t, root, context);
        break;
    }
    ASSERT_EQ(status, HCOLL_SUCCESS);
    if (waits) wait(handle);

    // ---- what comes out
    const auto reduced = [&](std::size_t ranks_before, std::size_t to, std::size_t i) {
      int result = value(0, to, i);
      for (std::size_t r = 1; r < ranks_before; ++r) result = combined(*op, result, value(r, to, i));
      return result;
    };
    switch (coll) {
      case Coll::barrier: break;
      case Coll::bcast:
        for (std::size_t i = 0; i < count; ++i) out.expect(i, value(static_cast<std::size_t>(root), 0, i));
        break;
      case Coll::allreduce:
        for (std::size_t i = 0; i < count; ++i) out.expect(i, reduced(ranks, 0, i));
        break;
      case Coll::reduce:
        for (std::size_t i = 0; is_root && i < count; ++i) out.expect(i, reduced(ranks, 0, i));
        break;
      case Coll::scan:
        for (std::size_t i = 0; i < count; ++i) out.expect(i, reduced(own + 1, 0, i));
        break;
      case Coll::exscan:
        for (std::size_t i = 0; own > 0 && i < count; ++i) out.expect(i, reduced(own, 0, i));
        break;
      case Coll::reduce_scatter:
        for (std::size_t i = 0; i < static_cast<std::size_t>(counts[own]); ++i)
          out.expect(i, reduced(ranks, 0, before + i));
        break;
      case Coll::reduce_scatter_block:
        for (std::size_t i = 0; i < count; ++i) out.expect(i, reduced(ranks, own, i));
        break;
      case Coll::alltoall:
        for (std::size_t of = 0; of < ranks; ++of)
          for (std::size_t i = 0; i < count; ++i) out.expect(of * count + i, value(of, own, i));
        break;
      case Coll::allgather:
      case Coll::gather:
        for (std::size_t of = 0; (coll == Coll::allgather || is_root) && of < ranks; ++of)
          for (std::size_t i = 0; i < count; ++i) out.expect(of * count + i, value(of, 0, i));
        break;
      case Coll::allgatherv:
      case Coll::gatherv:
        for (std::size_t of = 0; (coll == Coll::allgatherv || is_root) && of < ranks; ++of)
          for (std::size_t i = 0; i < static_cast<std::size_t>(counts[of]); ++i)
            out.expect(static_cast<std::size_t>(places[of]) + i, value(of, 0, i));
        break;
      case Coll::alltoallv:
        for (std::size_t of = 0; of < ranks; ++of)
          for (std::size_t i = 0; i < static_cast<std::size_t>(counts[std::min(own, of)]); ++i)
            out.expect(of * count + i, value(of, own, i));
        break;
      case Coll::scatter:
      case Coll::scatterv:
        for (std::size_t i = 0;
             !(is_root && in_place) && i < (coll == Coll::scatter ? count : static_cast<std::size_t>(counts[own])); ++i)
          out.expect(i, value(static_cast<std::size_t>(root), own, i));
        break;
    }
    in.expect_guard();
    out.expect_guard();
  }
};

}  // namespace sumac::hcoll::test
