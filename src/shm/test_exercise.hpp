#pragma once
// For tests: one collective call with random data, the result it must have (by reduce's plain reference, along the
// canonical tree), and guard bytes after its output. Everything follows from the seed, so each member can compute the
// data of all others.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/types.hpp"
#include "reduce/reference.hpp"
#include "shm/task.hpp"

namespace sumac::shm {

struct Reduction {
  Op op;
  Dtype dtype;
};
inline constexpr Reduction kReductions[] = {
    {Op::sum, Dtype::int32},   {Op::sum, Dtype::float64}, {Op::max, Dtype::float32},  {Op::bxor, Dtype::uint8},
    {Op::sum, Dtype::float16}, {Op::prod, Dtype::int16},  {Op::minloc, Dtype::int64}, {Op::sum, Dtype::bfloat16},
};

struct Ask {
  coll::Kind kind = coll::Kind::barrier;
  std::size_t bytes = 0;  ///< As Operation::bytes; v-forms: the largest block. Rounded to whole elements for
                          ///< reductions.
  int root = 0;
  bool in_place = false;
  std::size_t reduction = 0;  ///< Index into kReductions.
  std::uint64_t seed = 1;
};

class Exercise {
 public:
  Exercise(const Ask& ask, int size, int me) : ask_(ask), size_(size), me_(me) {
    const Reduction& r = kReductions[ask.reduction];
    fold_.kernel = reduce::kernel_for(r.op, r.dtype);
    fold_.element_bytes = fold_.kernel.element_bytes();
    bytes_ = coll::collective(ask.kind).reduces ? ask.bytes / fold_.element_bytes * fold_.element_bytes : ask.bytes;
    build();
  }
  Exercise(const Exercise&) = delete;
  Exercise& operator=(const Exercise&) = delete;

  const coll::Operation& operation() const { return operation_; }
  /// The operation's buffers, for a caller that copies them elsewhere. check() reads out().
  const std::vector<std::byte>& in() const { return in_; }
  std::vector<std::byte>& out() { return out_; }
  Task task;  ///< For a test that drives it step by step.

  /// Empty if all is well.
  std::string check() const {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (out_[i] == expected_[i]) continue;
      return fmt::format("{} of {} bytes, member {} of {}, root {}{}, reduction {}: byte {} is {} and should be {}",
                         to_string(ask_.kind), bytes_, me_, size_, ask_.root, ask_.in_place ? ", in place" : "",
                         ask_.reduction, i, std::to_integer<int>(out_[i]), std::to_integer<int>(expected_[i]));
    }
    return {};
  }

 private:
  using Bytes = std::vector<std::byte>;
  static constexpr std::size_t kGuard = 64;

  /// The data of `member` for `receiver` (-1: for all); every caller gets the same.
  Bytes data(int member, int receiver, std::size_t bytes) const {
    Bytes result(bytes);
    SplitMix64 mix(ask_.seed * 1000003 + static_cast<std::uint64_t>(member) * 517 +
                   static_cast<std::uint64_t>(receiver + 1));
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::uint64_t word = mix.next();
      std::memcpy(result.data() + i, &word, std::min<std::size_t>(8, bytes - i));
    }
    return result;
  }
  /// The bytes from one member to another in the v-forms: 0, all, or something between. Multiples of 4.
  std::size_t uneven(int from, int to) const {
    SplitMix64 mix(ask_.seed * 77 + static_cast<std::uint64_t>(from) * 1009 + static_cast<std::uint64_t>(to));
    // In place, alltoallv sends as much as it receives.
    if (ask_.in_place && ask_.kind == coll::Kind::alltoallv && from > to) return uneven(to, from);
    const std::uint64_t kind = mix.next() % 4;
    const std::size_t units = bytes_ / 4;
    return 4 * (kind == 0 ? 0 : kind == 1 ? units : mix.next() % (units + 1));
  }
  /// The fold of the first `members`.
  Bytes folded(int receiver, std::size_t skip, std::size_t bytes, std::size_t whole, int members) const {
    const Reduction& r = kReductions[ask_.reduction];
    // Folds the members from `begin` to `end` along the canonical tree.
    const std::function<Bytes(int, int)> fold = [&](int begin, int end) -> Bytes {
      if (end - begin == 1) {
        const Bytes all = data(begin, receiver, whole);
        return {all.begin() + static_cast<std::ptrdiff_t>(skip),
                all.begin() + static_cast<std::ptrdiff_t>(skip + bytes)};
      }
      const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
      Bytes sum = fold(begin, begin + left);
      const Bytes part = fold(begin + left, end);
      reduce::reference_reduce(r.op, r.dtype, Dtype::null, sum.data(), part.data(), bytes / fold_.element_bytes);
      return sum;
    };
    return fold(0, members);
  }
  void v_blocks(std::vector<int>& counts, std::vector<int>& displacements, const auto& bytes_of) {
    int at = 3;  // There is a gap in front, there are gaps between, and the order is backwards: MPI allows any order.
    counts.resize(static_cast<std::size_t>(size_));
    displacements.resize(counts.size());
    for (int m = size_ - 1; m >= 0; --m) {
      counts[static_cast<std::size_t>(m)] = static_cast<int>(bytes_of(m) / 4);
      displacements[static_cast<std::size_t>(m)] = at;
      at += counts[static_cast<std::size_t>(m)] + 1;
    }
    blocks_end_ = static_cast<std::size_t>(at) * 4;
  }
  /// Every other member has its numbers as 64-bit ones.
  coll::Blocks blocks_of(const std::vector<int>& counts, const std::vector<int>& displacements,
                         std::vector<std::int64_t>& wide) const {
    if (me_ % 2 == 0) return {counts.data(), displacements.data(), 4};
    wide.assign(counts.begin(), counts.end());
    wide.insert(wide.end(), displacements.begin(), displacements.end());
    return {wide.data(), wide.data() + counts.size(), 4};
  }
  static void append(Bytes& to, const Bytes& block) { to.insert(to.end(), block.begin(), block.end()); }
  void put(Bytes& into, std::ptrdiff_t offset, const Bytes& what) const {
    std::copy(what.begin(), what.end(), into.begin() + offset);
  }

  void build() {
    const auto n = static_cast<std::size_t>(size_);
    const auto my = static_cast<std::size_t>(me_);
    std::size_t out_bytes = 0;
    Bytes result;  // The expected content of the beginning of `out`.
    switch (ask_.kind) {
      case coll::Kind::barrier: break;
      case coll::Kind::allreduce:
      case coll::Kind::reduce:
        in_ = data(me_, -1, bytes_);
        out_bytes = bytes_;
        if (ask_.kind == coll::Kind::allreduce || me_ == ask_.root) result = folded(-1, 0, bytes_, bytes_, size_);
        break;
      case coll::Kind::scan:
      case coll::Kind::exscan:
        in_ = data(me_, -1, bytes_);
        out_bytes = bytes_;
        if (const int members = coll::prefix_of(ask_.kind, me_); members > 0)
          result = folded(-1, 0, bytes_, bytes_, members);
        break;
      case coll::Kind::reduce_scatter_block:
        in_ = data(me_, -1, n * bytes_);
        out_bytes = ask_.in_place ? n * bytes_ : bytes_;
        result = folded(-1, my * bytes_, bytes_, n * bytes_, size_);
        break;
      case coll::Kind::reduce_scatter: {
        std::size_t begin = 0;
        for (int m = 0; m < size_; ++m) {
          in_counts_.push_back(static_cast<int>(uneven(m, 0) / fold_.element_bytes));
          if (m == me_) begin = out_bytes;
          out_bytes += static_cast<std::size_t>(in_counts_.back()) * fold_.element_bytes;
        }
        bytes_ = out_bytes;
        const std::size_t own = static_cast<std::size_t>(in_counts_[my]) * fold_.element_bytes;
        in_ = data(me_, -1, bytes_);
        if (!ask_.in_place) out_bytes = own;
        result = folded(-1, begin, own, bytes_, size_);
        break;
      }
      case coll::Kind::bcast:
        in_ = data(ask_.root, -1, bytes_);
        out_bytes = bytes_;
        result = in_;
        break;
      case coll::Kind::allgather:
        in_ = data(me_, -1, bytes_);
        out_bytes = n * bytes_;
        for (int m = 0; m < size_; ++m) append(result, data(m, -1, bytes_));
        break;
      case coll::Kind::alltoall:
        out_bytes = n * bytes_;
        for (int m = 0; m < size_; ++m) {
          append(in_, data(me_, m, bytes_));
          append(result, data(m, me_, bytes_));
        }
        break;
      case coll::Kind::allgatherv:
        in_ = data(me_, -1, uneven(me_, 0));
        v_blocks(out_counts_, out_displacements_, [&](int m) { return uneven(m, 0); });
        out_bytes = blocks_end_;
        break;
      case coll::Kind::gather:
        in_ = data(me_, -1, bytes_);
        if (me_ != ask_.root) break;
        out_bytes = n * bytes_;
        for (int m = 0; m < size_; ++m) append(result, data(m, -1, bytes_));
        break;
      case coll::Kind::gatherv:
        in_ = data(me_, -1, uneven(me_, 0));
        if (me_ != ask_.root) break;
        v_blocks(out_counts_, out_displacements_, [&](int m) { return uneven(m, 0); });
        out_bytes = blocks_end_;
        break;
      case coll::Kind::scatter:
        for (int m = 0; m < size_ && me_ == ask_.root; ++m) append(in_, data(me_, m, bytes_));
        out_bytes = bytes_;
        result = data(ask_.root, me_, bytes_);
        break;
      case coll::Kind::scatterv:
        result = data(ask_.root, me_, uneven(ask_.root, me_));
        out_bytes = result.size();
        if (me_ != ask_.root) break;
        v_blocks(in_counts_, in_displacements_, [&](int m) { return uneven(me_, m); });
        in_.assign(blocks_end_, std::byte{0x11});
        break;
      case coll::Kind::alltoallv:
        v_blocks(in_counts_, in_displacements_, [&](int m) { return uneven(me_, m); });
        in_.assign(blocks_end_, std::byte{0x11});
        v_blocks(out_counts_, out_displacements_, [&](int m) { return uneven(m, me_); });
        out_bytes = blocks_end_;
        break;
    }
    operation_.kind = ask_.kind;
    operation_.root = ask_.root;
    const coll::Collective& row = coll::collective(ask_.kind);
    operation_.bytes = ask_.kind == coll::Kind::gatherv    ? in_.size()
                       : ask_.kind == coll::Kind::scatterv ? result.size()
                                                           : bytes_;
    operation_.fold = row.reduces ? &fold_ : nullptr;
    out_.assign(out_bytes + kGuard, std::byte{0x5a});
    expected_ = out_;
    const bool scatters = row.has_root && row.keeps == coll::Share::block;
    const bool in_place = ask_.in_place && ask_.kind != coll::Kind::bcast && (!row.has_root || me_ == ask_.root);
    if (row.keeps == coll::Share::sized_blocks) {
      operation_.in_blocks = blocks_of(in_counts_, in_displacements_, in_wide_);
      operation_.out_blocks = blocks_of(out_counts_, out_displacements_, out_wide_);
      for (int m = 0; m < size_ && !out_counts_.empty(); ++m) {
        const bool gathers = ask_.kind != coll::Kind::alltoallv;
        put(expected_, operation_.out_blocks.offset(m), data(m, gathers ? -1 : me_, operation_.out_blocks.bytes(m)));
        if (!gathers)
          put(in_place ? out_ : in_, (in_place ? operation_.out_blocks : operation_.in_blocks).offset(m),
              data(me_, m, uneven(me_, m)));
        if (gathers && in_place && m == me_) put(out_, operation_.out_blocks.offset(m), in_);
      }
    } else if (!in_place || !scatters) {
      if (in_place || (ask_.kind == coll::Kind::bcast && me_ == ask_.root)) {
        put(out_,
            row.gives == coll::Share::block && row.keeps == coll::Share::blocks
                ? static_cast<std::ptrdiff_t>(my * bytes_)
                : 0,
            in_);
        if (row.reduces && !row.has_root && ask_.kind != coll::Kind::allreduce) expected_ = out_;
      }
      std::copy(result.begin(), result.end(), expected_.begin());
    }
    if (ask_.kind == coll::Kind::reduce_scatter)
      operation_.in_blocks = {in_counts_.data(), nullptr, fold_.element_bytes};
    if (ask_.kind == coll::Kind::scatterv && me_ == ask_.root) {
      operation_.in_blocks = blocks_of(in_counts_, in_displacements_, in_wide_);
      for (int m = 0; m < size_; ++m) put(in_, operation_.in_blocks.offset(m), data(me_, m, uneven(me_, m)));
    }
    operation_.out = out_.data();
    // Empty vectors have no address, and NULL would mean "in place".
    operation_.in = in_place && !scatters ? coll::kInPlace : in_.empty() ? static_cast<const void*>(this) : in_.data();
    if (in_place && scatters) operation_.out = const_cast<void*>(operation_.in);
    if (scatters && me_ != ask_.root) operation_.in = nullptr;
  }

  Ask ask_;
  int size_, me_;
  std::size_t bytes_ = 0, blocks_end_ = 0;
  coll::Fold fold_;
  coll::Operation operation_;
  Bytes in_, out_, expected_;
  std::vector<int> in_counts_, in_displacements_, out_counts_, out_displacements_;
  std::vector<std::int64_t> in_wide_, out_wide_;
};

}  // namespace sumac::shm
