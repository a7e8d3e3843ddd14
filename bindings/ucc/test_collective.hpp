#pragma once
// One collective in one form, and what each rank must find after it: for ranks as threads and as processes.
#include <array>
#include <complex>
#include <cstdint>
#include <numeric>

#include "bindings/ucc/test_ranks.hpp"
#include "reduce/reference.hpp"

namespace sumac::ucc::test {
__extension__ using Int128 = __int128;

inline constexpr ucc_datatype_t kTypes[] = {UCC_DT_INT8,
                                            UCC_DT_INT16,
                                            UCC_DT_INT32,
                                            UCC_DT_INT64,
                                            UCC_DT_INT128,
                                            UCC_DT_UINT8,
                                            UCC_DT_UINT16,
                                            UCC_DT_UINT32,
                                            UCC_DT_UINT64,
                                            UCC_DT_UINT128,
                                            UCC_DT_FLOAT16,
                                            UCC_DT_FLOAT32,
                                            UCC_DT_FLOAT64,
                                            UCC_DT_BFLOAT16,
                                            UCC_DT_FLOAT128,
                                            UCC_DT_FLOAT32_COMPLEX,
                                            UCC_DT_FLOAT64_COMPLEX,
                                            UCC_DT_FLOAT128_COMPLEX};

inline bool is_integer(ucc_datatype_t type) { return (type >> UCC_DATATYPE_SHIFT) < 10; }
inline bool is_complex(ucc_datatype_t type) { return (type >> UCC_DATATYPE_SHIFT) > 14; }

inline std::size_t width(ucc_datatype_t type) {
  constexpr std::size_t kBytes[] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 4, 8, 2, 16, 8, 16, 32};
  return kBytes[type >> UCC_DATATYPE_SHIFT];
}

/// Small whole numbers have the same value in every type.
inline void put(ucc_datatype_t type, void* at, int value) {
  const auto store = [&](auto as) { std::memcpy(at, &as, sizeof as); };
  switch (type) {
    case UCC_DT_INT8:
    case UCC_DT_UINT8: return store(static_cast<std::int8_t>(value));
    case UCC_DT_INT16:
    case UCC_DT_UINT16: return store(static_cast<std::int16_t>(value));
    case UCC_DT_INT32:
    case UCC_DT_UINT32: return store(static_cast<std::int32_t>(value));
    case UCC_DT_INT64:
    case UCC_DT_UINT64: return store(static_cast<std::int64_t>(value));
    case UCC_DT_INT128:
    case UCC_DT_UINT128: return store(static_cast<Int128>(value));
    case UCC_DT_FLOAT16: return store(reduce::float16_nearest(value));
    case UCC_DT_BFLOAT16: return store(reduce::bfloat16_nearest(value));
    case UCC_DT_FLOAT32: return store(static_cast<float>(value));
    case UCC_DT_FLOAT64: return store(static_cast<double>(value));
    case UCC_DT_FLOAT128:
      std::memset(at, 0, 16);
      std::memcpy(at, std::array<long double, 1>{static_cast<long double>(value)}.data(), 10);
      return;
    case UCC_DT_FLOAT32_COMPLEX: return store(std::complex<float>(static_cast<float>(value), 0));
    case UCC_DT_FLOAT64_COMPLEX: return store(std::complex<double>(value, 0));
    default: {
      std::memset(at, 0, 32);
      const long double real = value;
      std::memcpy(at, &real, 10);
    }
  }
}

/// The last six bytes of a long double have no meaning.
inline bool is_value(ucc_datatype_t type, const void* at, int value) {
  char expected[32];
  put(type, expected, value);
  if (type == UCC_DT_FLOAT128) return std::memcmp(at, expected, 10) == 0;
  if (type == UCC_DT_FLOAT128_COMPLEX)
    return std::memcmp(at, expected, 10) == 0 && std::memcmp(static_cast<const char*>(at) + 16, expected + 16, 10) == 0;
  return std::memcmp(at, expected, width(type)) == 0;
}

/// Another memory than the heap's.
struct Memory {
  ucc_memory_type_t type;
  void* (*make)(std::size_t bytes);
  void (*free)(void*);
  void* (*view)(void*);  ///< The same bytes, where the processor can reach them.
};

/// Elements of a type, in the heap or in `memory`.
class Vector {
 public:
  inline static const Memory* memory = nullptr;

  Vector(ucc_datatype_t type, std::size_t count) : type_(type), bytes_((count + 1) * width(type), std::byte{0x5a}) {
    if (memory != nullptr) own_ = std::shared_ptr<void>(memory->make(bytes_.size()), memory->free);
  }
  void* data() { return own_ ? own_.get() : bytes_.data(); }
  void* at(std::size_t i) {
    return (own_ ? static_cast<std::byte*>(memory->view(own_.get())) : bytes_.data()) + i * width(type_);
  }
  void set(std::size_t i, int value) { put(type_, at(i), value); }
  bool is(std::size_t i, int value) { return is_value(type_, at(i), value); }
  static ucc_memory_type_t memory_or(ucc_memory_type_t of_heap) { return memory != nullptr ? memory->type : of_heap; }

 private:
  ucc_datatype_t type_;
  std::vector<std::byte> bytes_;
  std::shared_ptr<void> own_;
};

/// Returns the element i of that rank.
inline int given(int rank, std::size_t i) { return static_cast<int>((static_cast<std::size_t>(rank) * 3 + i) % 4); }

inline int folded(ucc_reduction_op_t op, int size, std::size_t i) {
  int all = given(0, i);
  for (int rank = 1; rank < size; ++rank) {
    const int next = given(rank, i);
    switch (op) {
      case UCC_OP_SUM:
      case UCC_OP_AVG: all += next; break;
      case UCC_OP_PROD: all *= next; break;
      case UCC_OP_MAX: all = std::max(all, next); break;
      case UCC_OP_MIN: all = std::min(all, next); break;
      case UCC_OP_LAND: all = all != 0 && next != 0; break;
      case UCC_OP_LOR: all = all != 0 || next != 0; break;
      case UCC_OP_LXOR: all = (all != 0) != (next != 0); break;
      case UCC_OP_BAND: all &= next; break;
      case UCC_OP_BOR: all |= next; break;
      default: all ^= next;
    }
  }
  return all;
}

inline bool is_defined(ucc_datatype_t type, ucc_reduction_op_t op) {
  if (op == UCC_OP_MAXLOC || op == UCC_OP_MINLOC) return false;
  if (is_integer(type)) return op != UCC_OP_AVG;
  if (is_complex(type)) return op == UCC_OP_SUM || op == UCC_OP_PROD || op == UCC_OP_AVG;
  return op < UCC_OP_LAND || op == UCC_OP_AVG;
}

inline ucc_coll_buffer_info_t info(Vector& of, ucc_datatype_t type, std::size_t count) {
  return {of.data(), count, type, Vector::memory_or(UCC_MEMORY_TYPE_UNKNOWN)};
}

/// The forms of a call.
struct Form {
  bool in_place = false, is_persistent = false, counts_64 = false, displacements_64 = false;
  std::uint64_t flags() const {
    return (in_place ? UCC_COLL_ARGS_FLAG_IN_PLACE : 0) | (is_persistent ? UCC_COLL_ARGS_FLAG_PERSISTENT : 0) |
           (counts_64 ? UCC_COLL_ARGS_FLAG_COUNT_64BIT : 0) |
           (displacements_64 ? UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT : 0) | UCC_COLL_ARGS_HINT_OPTIMIZE_LATENCY;
  }
};

/// One collective of `count` elements a block, with all that it needs and its expected result.
class Case {
 public:
  Case(Rank& rank, ucc_coll_type_t type, std::size_t count, int root, const Form& form)
      : rank_(rank), form_(form), args_(blank(type)), count_(count), size_(static_cast<std::size_t>(rank.size)) {
    args_.mask = UCC_COLL_ARGS_FIELD_FLAGS;
    args_.flags = form.flags();
    args_.root = static_cast<std::uint64_t>(root);
    args_.op = UCC_OP_SUM;
    is_root_ = rank.rank == root;
    root_ = root;
    // Blocks of the v-forms are unlike, and lie in the other order with a gap between them.
    std::size_t at = 0;
    for (std::size_t i = size_; i-- > 0;) {
      places_[i] = at;
      at += counted(i) + 1;
    }
    room_ = std::max(at, size_ * count_) + 1;
    for (auto* vector : {&in_, &out_}) *vector = Vector(kType, room_);
    for (std::size_t i = 0; i < size_; ++i) {
      counts_64_[i] = counted(i);
      counts_32_[i] = static_cast<std::uint32_t>(counted(i));
      places_32_[i] = static_cast<std::uint32_t>(places_[i]);
    }
    describe();
  }
  void run() {
    ucc_coll_req_h request = nullptr;
    ASSERT_EQ(ucc_collective_init(&args_, &request, rank_.team), UCC_OK);
    EXPECT_EQ(request->status, UCC_OPERATION_INITIALIZED);
    for (int turn = 0; turn < (form_.is_persistent ? 2 : 1); ++turn) {
      fill();
      ASSERT_EQ(ucc_collective_post(request), UCC_OK);
      ASSERT_EQ(rank_.wait(request), UCC_OK);
      check();
    }
    if (!form_.is_persistent) {
      EXPECT_EQ(ucc_collective_post(request), UCC_ERR_INVALID_PARAM);
    }
    EXPECT_EQ(ucc_collective_finalize(request), UCC_OK);
  }

 private:
  static constexpr ucc_datatype_t kType = UCC_DT_INT32;
  static int value(int from, std::size_t to, std::size_t i) {
    return 1000000 * (from + 1) + 10000 * static_cast<int>(to) + static_cast<int>(i % 9973);
  }
  std::size_t counted(std::size_t block) const { return count_ == 0 ? block % 2 : count_ + block; }
  std::size_t own() const { return static_cast<std::size_t>(rank_.rank); }
  ucc_coll_buffer_info_t of(Vector& v, std::size_t count) { return info(v, kType, count); }
  ucc_coll_buffer_info_v_t blocks(Vector& v) {
    return {v.data(), form_.counts_64 ? counts_64_.data() : reinterpret_cast<ucc_count_t*>(counts_32_.data()),
            form_.displacements_64 ? places_.data() : reinterpret_cast<ucc_aint_t*>(places_32_.data()), kType,
            Vector::memory_or(UCC_MEMORY_TYPE_HOST)};
  }
  bool is(ucc_coll_type_t type) const { return args_.coll_type == type; }
  std::size_t whole() const { return size_ * count_; }
  std::size_t sum() const {
    return std::accumulate(counts_64_.begin(), counts_64_.begin() + rank_.size, std::size_t{0});
  }

  void describe() {
    switch (args_.coll_type) {
      case UCC_COLL_TYPE_BCAST: args_.src.info = of(in_, count_); break;
      case UCC_COLL_TYPE_ALLREDUCE:
      case UCC_COLL_TYPE_REDUCE:
        args_.src.info = of(in_, count_);
        args_.dst.info = of(out_, count_);
        break;
      case UCC_COLL_TYPE_ALLGATHER:
      case UCC_COLL_TYPE_GATHER:
        args_.src.info = of(in_, count_);
        args_.dst.info = of(out_, whole());
        break;
      case UCC_COLL_TYPE_ALLGATHERV:
      case UCC_COLL_TYPE_GATHERV:
        args_.src.info = of(in_, counted(own()));
        args_.dst.info_v = blocks(out_);
        break;
      case UCC_COLL_TYPE_ALLTOALL:
        args_.src.info = of(in_, whole());
        args_.dst.info = of(out_, whole());
        break;
      case UCC_COLL_TYPE_ALLTOALLV:
        // Both blocks of a pair of ranks are as long as the larger rank's block.
        for (std::size_t i = 0; i < size_; ++i) {
          counts_64_[i] = counted(std::max(i, own()));
          counts_32_[i] = static_cast<std::uint32_t>(counts_64_[i]);
          places_[i] = i * (counted(size_ - 1) + 1);
          places_32_[i] = static_cast<std::uint32_t>(places_[i]);
        }
        for (auto* vector : {&in_, &out_}) *vector = Vector(kType, size_ * (counted(size_ - 1) + 1) + 1);
        args_.src.info_v = blocks(in_);
        args_.dst.info_v = blocks(out_);
        break;
      case UCC_COLL_TYPE_SCATTER:
        args_.src.info = of(in_, whole());
        args_.dst.info = of(out_, count_);
        break;
      case UCC_COLL_TYPE_SCATTERV:
        args_.src.info_v = blocks(in_);
        args_.dst.info = of(out_, counted(own()));
        break;
      case UCC_COLL_TYPE_REDUCE_SCATTER:
        args_.src.info = of(in_, whole());
        args_.dst.info = of(out_, form_.in_place ? whole() : count_);
        break;
      case UCC_COLL_TYPE_REDUCE_SCATTERV:
        args_.src.info = of(in_, sum());
        args_.dst.info_v = blocks(out_);
        args_.dst.info_v.displacements = nullptr;
        break;
      default: break;
    }
    if (form_.in_place && !is(UCC_COLL_TYPE_BCAST) && !is(UCC_COLL_TYPE_SCATTER) && !is(UCC_COLL_TYPE_SCATTERV) &&
        (is_root_ || !has_root()))
      args_.src.info.buffer = nullptr;
  }
  bool has_root() const {
    return (args_.coll_type & (UCC_COLL_TYPE_BCAST | UCC_COLL_TYPE_GATHER | UCC_COLL_TYPE_GATHERV |
                               UCC_COLL_TYPE_REDUCE | UCC_COLL_TYPE_SCATTER | UCC_COLL_TYPE_SCATTERV)) != 0;
  }
  bool is_in_place() const { return form_.in_place && (is_root_ || !has_root()); }

  void fill() {
    for (std::size_t i = 0; i < room_; ++i) {
      in_.set(i, -1);
      out_.set(i, -2);
    }
    const int me = rank_.rank;
    Vector& from = is_in_place() ? out_ : in_;
    switch (args_.coll_type) {
      case UCC_COLL_TYPE_BCAST:
        if (is_root_)
          for (std::size_t i = 0; i < count_; ++i) in_.set(i, value(me, 0, i));
        break;
      case UCC_COLL_TYPE_ALLREDUCE:
      case UCC_COLL_TYPE_REDUCE:
        for (std::size_t i = 0; i < count_; ++i) from.set(i, value(me, 0, i));
        break;
      case UCC_COLL_TYPE_ALLGATHER:
      case UCC_COLL_TYPE_GATHER:
        for (std::size_t i = 0; i < count_; ++i) from.set((is_in_place() ? own() * count_ : 0) + i, value(me, 0, i));
        break;
      case UCC_COLL_TYPE_ALLGATHERV:
      case UCC_COLL_TYPE_GATHERV:
        for (std::size_t i = 0; i < counted(own()); ++i)
          from.set((is_in_place() ? places_[own()] : 0) + i, value(me, 0, i));
        break;
      case UCC_COLL_TYPE_ALLTOALL:
      case UCC_COLL_TYPE_REDUCE_SCATTER:
        for (std::size_t to = 0; to < size_; ++to)
          for (std::size_t i = 0; i < count_; ++i) from.set(to * count_ + i, value(me, to, i));
        break;
      case UCC_COLL_TYPE_SCATTER:
        for (std::size_t to = 0; is_root_ && to < size_; ++to)
          for (std::size_t i = 0; i < count_; ++i) in_.set(to * count_ + i, value(me, to, i));
        break;
      case UCC_COLL_TYPE_ALLTOALLV:
      case UCC_COLL_TYPE_SCATTERV:
        for (std::size_t to = 0; (is_root_ || !has_root()) && to < size_; ++to)
          for (std::size_t i = 0; i < counts_64_[to]; ++i)
            (has_root() ? in_ : from).set(places_[to] + i, value(me, to, i));
        break;
      case UCC_COLL_TYPE_REDUCE_SCATTERV:
        for (std::size_t i = 0; i < sum(); ++i) from.set(i, value(me, 0, i));
        break;
      default: break;
    }
  }

  int summed(std::size_t to, std::size_t i) const {
    int all = 0;
    for (int rank = 0; rank < rank_.size; ++rank) all += value(rank, to, i);
    return all;
  }
  void expect(Vector& in, std::size_t at, int wanted) {
    ASSERT_TRUE(in.is(at, wanted)) << "element " << at << " is not " << wanted;
  }

  void check() {
    switch (args_.coll_type) {
      case UCC_COLL_TYPE_BCAST:
        for (std::size_t i = 0; i < count_; ++i) expect(in_, i, value(root_, 0, i));
        break;
      case UCC_COLL_TYPE_ALLREDUCE:
      case UCC_COLL_TYPE_REDUCE:
        for (std::size_t i = 0; (is_root_ || !has_root()) && i < count_; ++i) expect(out_, i, summed(0, i));
        break;
      case UCC_COLL_TYPE_ALLGATHER:
      case UCC_COLL_TYPE_GATHER:
        for (std::size_t from = 0; (is_root_ || !has_root()) && from < size_; ++from)
          for (std::size_t i = 0; i < count_; ++i) expect(out_, from * count_ + i, value(static_cast<int>(from), 0, i));
        break;
      case UCC_COLL_TYPE_ALLGATHERV:
      case UCC_COLL_TYPE_GATHERV:
        for (std::size_t from = 0; (is_root_ || !has_root()) && from < size_; ++from)
          for (std::size_t i = 0; i < counted(from); ++i)
            expect(out_, places_[from] + i, value(static_cast<int>(from), 0, i));
        break;
      case UCC_COLL_TYPE_ALLTOALL:
        for (std::size_t from = 0; from < size_; ++from)
          for (std::size_t i = 0; i < count_; ++i)
            expect(out_, from * count_ + i, value(static_cast<int>(from), own(), i));
        break;
      case UCC_COLL_TYPE_ALLTOALLV:
        for (std::size_t from = 0; from < size_; ++from)
          for (std::size_t i = 0; i < counts_64_[from]; ++i)
            expect(out_, places_[from] + i, value(static_cast<int>(from), own(), i));
        break;
      case UCC_COLL_TYPE_SCATTER:
        for (std::size_t i = 0; !is_in_place() && i < count_; ++i) expect(out_, i, value(root_, own(), i));
        break;
      case UCC_COLL_TYPE_SCATTERV:
        for (std::size_t i = 0; !is_in_place() && i < counted(own()); ++i) expect(out_, i, value(root_, own(), i));
        break;
      case UCC_COLL_TYPE_REDUCE_SCATTER:
        for (std::size_t i = 0; i < count_; ++i)
          expect(out_, (form_.in_place ? own() * count_ : 0) + i, summed(own(), i));
        break;
      case UCC_COLL_TYPE_REDUCE_SCATTERV: {
        std::size_t before = 0;
        for (std::size_t i = 0; i < own(); ++i) before += counts_64_[i];
        for (std::size_t i = 0; i < counts_64_[own()]; ++i)
          expect(out_, (form_.in_place ? before : 0) + i, summed(0, before + i));
        break;
      }
      default: break;
    }
  }

  Rank& rank_;
  Form form_;
  ucc_coll_args_t args_;
  std::size_t count_, size_, room_ = 0;
  bool is_root_ = false;
  int root_ = 0;
  std::array<ucc_count_t, 8> counts_64_{};
  std::array<std::uint32_t, 8> counts_32_{}, places_32_{};
  std::array<ucc_aint_t, 8> places_{};
  Vector in_{kType, 0}, out_{kType, 0};
};

}  // namespace sumac::ucc::test
