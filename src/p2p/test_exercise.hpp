#pragma once
// For tests: one operation of any kind with its data, drawn from a seed that all members share, and the check of its
// result. Sums of doubles are checked bit by bit where the algorithm adds along the canonical tree.
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "p2p/choose.hpp"
#include "reduce/reduce.hpp"

namespace sumac::p2p::test {

using Word = std::int64_t;

class Exercise {
 public:
  struct Mine {
    std::vector<Word> in, out;
    std::vector<int> in_counts, in_displacements, out_counts, out_displacements;
    coll::Operation operation;
  };

  /// The kinds that a group takes: a team's leaders do the others by these.
  static constexpr int kTaken = 13;

  /// `words_max`: the longest vector or block. `kinds`: one of the first so many is drawn.
  Exercise(std::uint64_t seed, std::uint32_t size, std::uint64_t words_max, int kinds = coll::kKinds)
      : size_(size), number_(seed) {
    Random random(seed);
    kind = static_cast<coll::Kind>(random.below(static_cast<std::uint64_t>(kinds)));
    root = static_cast<std::uint32_t>(random.below(size));
    in_place = random.below(2) == 0;
    is_float = random.below(2) == 0;
    // Most are short; the lengths around the longest unannounced message matter.
    const std::uint64_t lengths[] = {0, 1, random.below(9), random.below(100), random.below(words_max) + 1};
    words = lengths[random.below(std::size(lengths))];
    fold_.kernel = reduce::kernel_for(Op::sum, is_float ? Dtype::float64 : Dtype::int64);
    fold_.element_bytes = sizeof(Word);
    fold_.dtype = is_float ? Dtype::float64 : Dtype::int64;
    fold_.op = Op::sum;
    const auto all = candidates({kind, 1, true}, {.size = size}, {});
    algorithm = all[random.below(all.size())].algorithm;
  }

  coll::Kind kind;
  std::uint32_t root;
  bool in_place, is_float;
  std::uint64_t words;
  Algorithm algorithm;

  std::string name() const {
    return fmt::format("{} of {} words by {}, root {}{}{}", to_string(kind), words, to_string(algorithm), root,
                       in_place ? ", in place" : "", is_float ? ", float" : "");
  }
  /// The bytes that Group::takes() and choose() want.
  Mine make(std::uint32_t me) const {
    Mine mine;
    auto& o = mine.operation;
    o.kind = kind;
    o.root = static_cast<int>(root);
    o.bytes = words * sizeof(Word);
    if (coll::collective(kind).reduces) o.fold = &fold_;
    const bool is_root = me == root;
    using coll::Kind;
    switch (kind) {
      case Kind::barrier: o.bytes = 0; return mine;
      case Kind::allreduce:
      case Kind::scan:
      case Kind::exscan: put(mine, vector_of(me), words, in_place); break;
      case Kind::reduce: put(mine, vector_of(me), is_root ? words : 0, in_place && is_root); break;
      case Kind::bcast: mine.out = is_root ? vector_of(me) : std::vector<Word>(words); break;
      case Kind::allgather:
        put(mine, block(me, 0, words), words * size_, false);
        if (in_place) place(mine, me * words);
        break;
      case Kind::allgatherv: {
        o.bytes = 0;
        int at = 0;
        for (std::uint32_t i = 0; i < size_; ++i) {
          mine.out_counts.push_back(static_cast<int>(count_of(i)));
          mine.out_displacements.push_back(at);
          at += mine.out_counts.back() + static_cast<int>(i % 2);
        }
        put(mine, block(me, 0, count_of(me)), static_cast<std::uint64_t>(at), false);
        if (in_place) place(mine, static_cast<std::uint64_t>(mine.out_displacements[me]));
        break;
      }
      case Kind::alltoall:
      case Kind::alltoallv: {
        int in = 0, out = 1;
        for (std::uint32_t i = 0; i < size_; ++i) {
          const auto there = block(me, i, pair_count(me, i));
          mine.in_counts.push_back(static_cast<int>(there.size()));
          mine.in_displacements.push_back(in);
          in += mine.in_counts.back();
          mine.in.insert(mine.in.end(), there.begin(), there.end());
          mine.out_counts.push_back(static_cast<int>(pair_count(i, me)));
          if (kind == Kind::alltoall) out = static_cast<int>(i * words);
          mine.out_displacements.push_back(out);
          out += mine.out_counts.back();
        }
        mine.out.resize(static_cast<std::size_t>(out));
        if (kind == Kind::alltoallv) o.bytes = 0;
        if (in_place)
          for (std::uint32_t i = 0; i < size_; ++i)
            std::ranges::copy(block(me, i, pair_count(me, i)), mine.out.begin() + mine.out_displacements[i]);
        if (in_place) mine.in.clear();
        break;
      }
      case Kind::reduce_scatter_block:
        mine.in = long_vector_of(me);
        mine.out.resize(words);
        if (in_place) mine.out = std::move(mine.in), mine.in.clear();
        break;
      case Kind::reduce_scatter:
        for (std::uint32_t i = 0; i < size_; ++i) mine.in_counts.push_back(static_cast<int>(count_of(i)));
        mine.in = uneven_vector_of(me);
        o.bytes = mine.in.size() * sizeof(Word);
        mine.out.resize(count_of(me));
        if (in_place) mine.out = std::move(mine.in), mine.in.clear();
        break;
      case Kind::gather:
      case Kind::gatherv: {
        o.bytes = own_count(me) * sizeof(Word);
        std::uint64_t all = 0;
        for (std::uint32_t i = 0; i < size_; ++i) {
          mine.out_counts.push_back(static_cast<int>(own_count(i)));
          mine.out_displacements.push_back(static_cast<int>(all));
          all += own_count(i);
        }
        put(mine, block(me, 0, own_count(me)), is_root ? all : 0, false);
        if (in_place && is_root) place(mine, static_cast<std::uint64_t>(mine.out_displacements[me]));
        break;
      }
      case Kind::scatter:
      case Kind::scatterv: {
        o.bytes = own_count(me) * sizeof(Word);
        mine.out.resize(own_count(me));
        for (std::uint32_t i = 0; i < size_ && is_root; ++i) {
          const auto there = block(root, i, own_count(i));
          mine.in_counts.push_back(static_cast<int>(there.size()));
          mine.in_displacements.push_back(static_cast<int>(mine.in.size()));
          mine.in.insert(mine.in.end(), there.begin(), there.end());
        }
        break;
      }
    }
    return mine;
  }
  /// Sets the addresses, once `mine` has its final place.
  void aim(std::uint32_t me, Mine& mine) const {
    auto& o = mine.operation;
    mine.out.reserve(1);
    mine.in.reserve(1);
    o.out = mine.out.data();
    const bool has_root = coll::collective(kind).has_root;
    const bool is_in_place =
        in_place && (!has_root || me == root) && kind != coll::Kind::scatter && kind != coll::Kind::scatterv;
    o.in = is_in_place ? coll::kInPlace : mine.in.data();
    if ((kind == coll::Kind::scatter || kind == coll::Kind::scatterv) && in_place && me == root) o.out = mine.in.data();
    o.in_blocks = {mine.in_counts.data(), mine.in_displacements.data(), sizeof(Word)};
    o.out_blocks = {mine.out_counts.data(), mine.out_displacements.data(), sizeof(Word)};
  }
  /// Returns an empty text if the result is right.
  std::string check(std::uint32_t me, const Mine& mine) const {
    const auto differs = [&](std::span<const Word> expected, std::uint64_t at) -> std::string {
      if (mine.out.size() < at + expected.size()) return fmt::format("{}: the test has no room", name());
      for (std::uint64_t i = 0; i < expected.size(); ++i)
        if (!same(mine.out[at + i], expected[i]))
          return fmt::format("{}: rank {}, word {}: {} instead of {}", name(), me, at + i, mine.out[at + i],
                             expected[i]);
      return {};
    };
    using coll::Kind;
    const bool is_root = me == root;
    switch (kind) {
      case Kind::barrier: return {};
      case Kind::allreduce: return differs(sum(0, words, &Exercise::vector_of), 0);
      case Kind::scan: return differs(sum_of({0, me + 1}, 0, words, &Exercise::vector_of), 0);
      case Kind::exscan: return me == 0 ? "" : differs(sum_of({0, me}, 0, words, &Exercise::vector_of), 0);
      case Kind::reduce: return is_root ? differs(sum(0, words, &Exercise::vector_of), 0) : "";
      case Kind::bcast: return differs(vector_of(root), 0);
      case Kind::reduce_scatter_block: return differs(sum(me * words, words, &Exercise::long_vector_of), 0);
      case Kind::reduce_scatter: return differs(sum(begin_of(me), count_of(me), &Exercise::uneven_vector_of), 0);
      case Kind::scatter:
      case Kind::scatterv: return in_place && is_root ? "" : differs(block(root, me, own_count(me)), 0);
      default: break;
    }
    if ((kind == Kind::gather || kind == Kind::gatherv) && !is_root) return {};
    for (std::uint32_t i = 0; i < size_; ++i) {
      const auto at = kind == Kind::allgather ? i * words : static_cast<std::uint64_t>(mine.out_displacements[i]);
      std::vector<Word> expected;
      if (kind == Kind::allgather) expected = block(i, 0, words);
      if (kind == Kind::allgatherv) expected = block(i, 0, count_of(i));
      if (kind == Kind::alltoall || kind == Kind::alltoallv) expected = block(i, me, pair_count(i, me));
      if (kind == Kind::gather || kind == Kind::gatherv) expected = block(i, 0, own_count(i));
      if (auto fault = differs(expected, at); !fault.empty()) return fault;
    }
    return {};
  }

 private:
  static void put(Mine& mine, std::vector<Word> data, std::uint64_t out, bool at_out) {
    mine.out.resize(out);
    (at_out ? mine.out : mine.in) = std::move(data);
  }
  static void place(Mine& mine, std::uint64_t at) {
    std::ranges::copy(mine.in, mine.out.begin() + static_cast<std::ptrdiff_t>(at));
    mine.in.clear();
  }
  std::uint64_t count_of(std::uint32_t rank) const { return words * ((rank + number_) % 4) / 2; }
  std::uint64_t own_count(std::uint32_t rank) const {
    return kind == coll::Kind::gather || kind == coll::Kind::scatter ? words : count_of(rank);
  }
  std::uint64_t pair_count(std::uint32_t from, std::uint32_t to) const {
    if (kind == coll::Kind::alltoall) return words;
    const auto both = in_place ? std::min(from, to) * 7 + std::max(from, to) : from * 5 + to;
    return words * ((both + number_) % 3) / 2;
  }
  Word value(Random& random) const {
    if (!is_float) return static_cast<Word>(random.next());
    const double value = (static_cast<double>(random.below(2000000)) - 1e6) * (random.below(2) == 0 ? 1e-9 : 1e6);
    return std::bit_cast<Word>(value);
  }
  std::vector<Word> block(std::uint32_t from, std::uint32_t to, std::uint64_t count) const {
    Random random(number_ * 65537 + from * 257 + to);
    std::vector<Word> data(count);
    for (Word& word : data) word = value(random);
    return data;
  }
  std::vector<Word> vector_of(std::uint32_t rank) const { return block(rank, 0, words); }
  std::vector<Word> long_vector_of(std::uint32_t rank) const { return block(rank, 0, words * size_); }

  std::uint64_t begin_of(std::uint32_t rank) const {
    std::uint64_t begin = 0;
    for (std::uint32_t i = 0; i < rank; ++i) begin += count_of(i);
    return begin;
  }
  std::vector<Word> uneven_vector_of(std::uint32_t rank) const { return block(rank, 0, begin_of(size_)); }

  std::vector<Word> sum(std::uint64_t from, std::uint64_t count,
                        std::vector<Word> (Exercise::*data)(std::uint32_t) const) const {
    return sum_of({0, size_}, from, count, data);
  }
  std::vector<Word> sum_of(coll::RankBlock ranks, std::uint64_t from, std::uint64_t count,
                           std::vector<Word> (Exercise::*data)(std::uint32_t) const) const {
    if (ranks.count == 1) {
      const auto all = (this->*data)(ranks.first);
      return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(from + count)};
    }
    const std::uint32_t half = std::bit_ceil(ranks.count) / 2;
    auto left = sum_of({ranks.first, half}, from, count, data);
    const auto right = sum_of({ranks.first + half, ranks.count - half}, from, count, data);
    fold_.combine(left.data(), left.data(), right.data(), count);
    return left;
  }
  /// The ring adds doubles in another order.
  bool same(Word a, Word b) const {
    if (a == b) return true;
    if (!is_float || algorithm != Algorithm::ring || !coll::collective(kind).reduces) return false;
    const auto x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
    return std::abs(x - y) <= 1e-3;
  }

  std::uint32_t size_;
  std::uint64_t number_;
  coll::Fold fold_;
};

}  // namespace sumac::p2p::test
