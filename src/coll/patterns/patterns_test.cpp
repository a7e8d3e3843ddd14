// Runs the patterns of up to 40 members in one process, in random order, and compares every byte of the results. A sent
// message takes its bytes only when it leaves, as late as the run likes, so a step that overwrites them too early shows.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <span>

#include "base/random.hpp"
#include "coll/patterns/binomial.hpp"
#include "coll/patterns/doubling.hpp"
#include "coll/patterns/pairwise.hpp"
#include "coll/patterns/prefix.hpp"
#include "coll/patterns/ring.hpp"

namespace sumac::coll {
namespace {

using Bytes = std::vector<std::byte>;
using Build = std::function<void(Pattern&, Member)>;
/// Combines two operands of `bytes`.
using Add = std::function<void(std::byte* to, const std::byte* a, const std::byte* b, std::uint64_t bytes)>;

/// x -> a x + b in integers that wrap round: composing such maps is associative and does not commute.
struct Map {
  std::uint32_t a = 1, b = 0;
  friend bool operator==(const Map&, const Map&) = default;
};

template <class T, class Op>
Add add_of(Op op) {
  return [op](std::byte* to, const std::byte* a, const std::byte* b, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += sizeof(T)) {
      T x, y;
      std::memcpy(&x, a + at, sizeof x);
      std::memcpy(&y, b + at, sizeof y);
      const T sum = op(x, y);
      std::memcpy(to + at, &sum, sizeof sum);
    }
  };
}
const Add kCompose = add_of<Map>([](Map x, Map y) { return Map{y.a * x.a, y.a * x.b + y.b}; });
const Add kSum = add_of<std::uint64_t>([](std::uint64_t x, std::uint64_t y) { return x + y; });
const Add kFloat = add_of<double>([](double x, double y) { return x + y; });

class Stage {
 public:
  struct Place {
    Pattern pattern;
    Bytes in, out, work;
    bool in_place = false, is_frozen = false;
    std::vector<bool> begun, over;
    std::map<std::uint32_t, std::deque<std::uint32_t>> sends,
        receives;  ///< The keys are peers; each queue has the order of the pattern.
    std::map<std::uint32_t, std::vector<std::uint32_t>> all;  ///< The receives, those that are over included.
    std::size_t left = 0;
  };

  Stage(std::uint64_t seed, std::uint32_t size, const Build& build, Add add)
      : random_(seed), add_(std::move(add)), is_long_(random_.below(2) == 0) {
    places_.resize(size);
    for (std::uint32_t r = 0; r < size; ++r) {
      auto& place = places_[r];
      build(place.pattern, {r, size});
      const auto& steps = place.pattern.steps;
      place.work.resize(place.pattern.work_bytes);
      place.begun.resize(steps.size());
      place.over.resize(steps.size());
      place.left = steps.size();
      for (std::uint32_t i = 0; i < steps.size(); ++i) {
        for (const auto after : steps[i].after)
          EXPECT_TRUE(after == kNoStep || after < i) << "a step waits for a later one";
        if (steps[i].what == Step::Do::send) place.sends[steps[i].peer].push_back(i);
        if (steps[i].arrives()) place.receives[steps[i].peer].push_back(i), place.all[steps[i].peer].push_back(i);
      }
    }
  }
  Place& operator[](std::uint32_t rank) { return places_[rank]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }

  void make_short() { is_long_ = false; }
  /// Runs until nothing moves any more. Returns whether all steps of all members are over.
  bool run() {
    for (bool moves = true; moves;) {
      moves = false;
      const auto first = random_.below(size());
      for (std::uint32_t i = 0; i < size(); ++i)
        moves = advance(static_cast<std::uint32_t>((first + i) % size())) || moves;
      // Messages leave late: most of them only when nothing else moves.
      for (auto& [way, queue] : leaving_)
        while (!queue.empty() && is_awaited(way) && (!moves || random_.below(4) == 0)) {
          leave(way.first, way.second, queue);
          moves = true;
          if (random_.below(2) == 0) break;
        }
    }
    return std::ranges::all_of(places_, [](const Place& place) { return place.left == 0; });
  }
  std::size_t waiting_at(std::uint32_t from, std::uint32_t to) { return arrived_[{from, to}].size(); }

 private:
  std::byte* at(Place& place, Part part) {
    Bytes& memory = part.area == Area::work                    ? place.work
                    : part.area == Area::in && !place.in_place ? place.in
                                                               : place.out;
    EXPECT_LE(static_cast<std::size_t>(part.at), memory.size());
    return memory.data() + part.at;
  }
  bool may(const Place& place, std::uint32_t i) const {
    return std::ranges::all_of(place.pattern.steps[i].after, [&](auto s) { return s == kNoStep || place.over[s]; });
  }
  void end(Place& place, std::uint32_t i) {
    place.over[i] = true;
    --place.left;
  }
  /// Half of the runs are of long messages, which leave only when their receiver has memory for them.
  bool is_awaited(std::pair<std::uint32_t, std::uint32_t> way) {
    if (!is_long_) return true;
    auto& receiver = places_[way.second];
    return !receiver.is_frozen && may(receiver, receiver.all[way.first][gone_[way]]);
  }
  void leave(std::uint32_t from, std::uint32_t to, std::deque<std::uint32_t>& queue) {
    auto& place = places_[from];
    const Step& step = place.pattern.steps[queue.front()];
    const auto* data = step.bytes == 0 ? nullptr : at(place, step.from);
    arrived_[{from, to}].emplace_back(data, data + step.bytes);
    end(place, queue.front());
    queue.pop_front();
    ++gone_[{from, to}];
  }
  bool advance(std::uint32_t rank) {
    auto& place = places_[rank];
    if (place.is_frozen) return false;
    bool moves = false;
    for (auto& [peer, queue] : place.sends)
      while (!queue.empty() && may(place, queue.front())) {
        leaving_[{rank, peer}].push_back(queue.front());
        queue.pop_front();
        moves = true;
      }
    for (auto& [peer, queue] : place.receives)
      while (!queue.empty() && may(place, queue.front()) && !arrived_[{peer, rank}].empty()) {
        receive(place, queue.front(), arrived_[{peer, rank}].front());
        arrived_[{peer, rank}].pop_front();
        queue.pop_front();
        moves = true;
        if (random_.below(3) == 0) break;
      }
    for (std::uint32_t i = 0; i < place.over.size(); ++i) {
      const Step& step = place.pattern.steps[i];
      if (place.over[i] || step.what == Step::Do::send || step.arrives() || !may(place, i)) continue;
      if (step.what == Step::Do::copy) std::memmove(at(place, step.to), at(place, step.from), step.bytes);
      if (step.what == Step::Do::combine)
        add_(at(place, step.to), at(place, step.from), at(place, step.other), step.bytes);
      end(place, i);
      moves = true;
    }
    return moves;
  }
  void receive(Place& place, std::uint32_t i, const Bytes& message) {
    const Step& step = place.pattern.steps[i];
    ASSERT_EQ(message.size(), step.bytes) << "the message is not the one that is awaited";
    if (step.what == Step::Do::receive && step.bytes > 0) std::memcpy(at(place, step.to), message.data(), step.bytes);
    if (step.what == Step::Do::add) {
      const std::byte* own = at(place, step.from);
      add_(at(place, step.to), step.arrived_first ? message.data() : own, step.arrived_first ? own : message.data(),
           step.bytes);
    }
    end(place, i);
  }

  Random random_;
  Add add_;
  std::vector<Place> places_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::uint32_t>> leaving_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Bytes>> arrived_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> gone_;
  bool is_long_;
};

Bytes data_of(std::uint32_t rank, std::size_t bytes, const Add* floats = nullptr) {
  Random random(rank + 1);
  Bytes data(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    if (floats != nullptr) {
      const double value = (static_cast<double>(random.below(2000000)) - 1e6) * (random.below(2) == 0 ? 1e-9 : 1e6);
      std::memcpy(data.data() + at, &value, 8);
    } else {
      const std::uint64_t value = random.next();
      std::memcpy(data.data() + at, &value, 8);
    }
  }
  return data;
}

/// Adds the members' data of [from, from + count) along the canonical tree.
Bytes canonical(const std::vector<Bytes>& data, std::uint32_t from, std::uint32_t count, const Add& add) {
  if (count == 1) return data[from];
  const std::uint32_t half = std::bit_ceil(count) / 2;
  Bytes left = canonical(data, from, half, add);
  const Bytes right = canonical(data, from + half, count - half, add);
  add(left.data(), left.data(), right.data(), left.size());
  return left;
}

/// Both sides of every power of two; the work grows with the third power of the members.
const std::uint32_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23, 31, 32, 33, 40};
/// Lengths in elements of 8 bytes: fewer than most groups have members, and several segments with a rest.
const std::uint64_t kElements[] = {5, 203};
constexpr Cutting kCutting{.most = 256, .unit = 8};
constexpr std::byte kUntouched{0x5C};

/// One case: a size, a length, in place or not.
struct Case {
  std::uint32_t size;
  std::uint64_t bytes;
  bool in_place;
  std::uint32_t root;
};

void each_case(bool with_roots, const std::function<void(const Case&)>& body) {
  for (const std::uint32_t size : kSizes)
    for (const auto elements : kElements)
      for (const bool in_place : {false, true})
        for (const std::uint32_t root : {0u, 1u, size / 2, size - 1}) {
          if (root >= size || (!with_roots && root > 0)) continue;
          SCOPED_TRACE(testing::Message()
                       << size << " members, " << elements << " elements, in place " << in_place << ", root " << root);
          body({size, 8 * elements, in_place, root});
          if (testing::Test::HasFailure()) return;
        }
}

using PutAllreduce = void (*)(Pattern&, Member, std::uint64_t, bool, const Cutting&);

void expect_allreduce(PutAllreduce put, const Add& add, bool is_float) {
  each_case(false, [&](const Case& c) {
    Stage run(
        c.bytes + c.size, c.size, [&](Pattern& p, Member me) { put(p, me, c.bytes, c.in_place, kCutting); }, add);
    std::vector<Bytes> data;
    for (std::uint32_t r = 0; r < c.size; ++r) {
      data.push_back(data_of(r, c.bytes, is_float ? &add : nullptr));
      run[r].in_place = c.in_place;
      (c.in_place ? run[r].out : run[r].in) = data[r];
      run[r].out.resize(c.bytes);
    }
    ASSERT_TRUE(run.run());
    const Bytes sum = canonical(data, 0, c.size, add);
    for (std::uint32_t r = 0; r < c.size; ++r) ASSERT_EQ(run[r].out, sum) << "rank " << r;
  });
}

TEST(Patterns, AllreducesAddInTheOrderOfRanks) {
  for (const PutAllreduce put : {put_doubling, put_exchange_allreduce, put_blocks_allreduce})
    expect_allreduce(put, kCompose, false);
}

TEST(Patterns, AllreducesAddAlongTheCanonicalTree) {
  for (const PutAllreduce put : {put_doubling, put_exchange_allreduce, put_blocks_allreduce})
    expect_allreduce(put, kFloat, true);
}

TEST(Patterns, TheRingAddsWhatCommutes) { expect_allreduce(put_ring_allreduce, kSum, false); }

TEST(Patterns, TheRingHasTheSameBitsEverywhere) {
  Stage run(
      1, 7, [](Pattern& p, Member me) { put_ring_allreduce(p, me, 8 * 101, false, kCutting); }, kFloat);
  for (std::uint32_t r = 0; r < 7; ++r) {
    run[r].in = data_of(r, 8 * 101, &kFloat);
    run[r].out.resize(8 * 101);
  }
  ASSERT_TRUE(run.run());
  for (std::uint32_t r = 1; r < 7; ++r) EXPECT_EQ(run[r].out, run[0].out);
}

TEST(Patterns, ScansAddTheMembersUpToEachAlongTheCanonicalTree) {
  for (const std::uint32_t left_out : {0u, 1u})  // An exscan leaves the member itself out.
    for (const Add& add : {kFloat, kCompose})
      each_case(false, [&](const Case& c) {
        Stage run(
            c.bytes + c.size, c.size,
            [&](Pattern& p, Member me) {
              (left_out == 0 ? put_scan : put_exscan)(p, me, c.bytes, c.in_place, kCutting);
            },
            add);
        std::vector<Bytes> data;
        for (std::uint32_t r = 0; r < c.size; ++r) {
          data.push_back(data_of(r, c.bytes, &kFloat));
          run[r].in_place = c.in_place;
          (c.in_place ? run[r].out : run[r].in) = data[r];
          run[r].out.resize(c.bytes);
        }
        ASSERT_TRUE(run.run());
        for (std::uint32_t r = 0; r < c.size; ++r)
          ASSERT_EQ(run[r].out, r + 1 > left_out ? canonical(data, 0, r + 1 - left_out, add)
                                : c.in_place     ? data[r]
                                                 : Bytes(c.bytes))
              << "rank " << r;
      });
}

TEST(Patterns, ReducesAddAlongTheCanonicalTreeWhoeverIsRoot) {
  using Put = void (*)(Pattern&, Member, std::uint32_t, std::uint64_t, bool, const Cutting&);
  for (const Put put : {put_binomial_reduce, put_exchange_reduce})
    each_case(true, [&](const Case& c) {
      const auto build = [&](Pattern& p, Member me) {
        put(p, me, c.root, c.bytes, c.in_place && me.rank == c.root, kCutting);
      };
      Stage run(c.bytes + c.root, c.size, build, kFloat);
      std::vector<Bytes> data;
      for (std::uint32_t r = 0; r < c.size; ++r) {
        data.push_back(data_of(r, c.bytes, &kFloat));
        run[r].in_place = c.in_place && r == c.root;
        (run[r].in_place ? run[r].out : run[r].in) = data[r];
        if (r == c.root) run[r].out.resize(c.bytes);
      }
      ASSERT_TRUE(run.run());
      ASSERT_EQ(run[c.root].out, canonical(data, 0, c.size, kFloat));
    });
}

TEST(Patterns, ReduceScattersGiveEachItsBlock) {
  for (const bool is_ring : {false, true})
    each_case(false, [&](const Case& c) {
      const auto build = [&](Pattern& p, Member me) {
        if (is_ring) return put_ring_reduce_scatter(p, me, c.bytes, c.in_place, kCutting);
        std::vector<Extent> blocks;
        for (std::uint32_t r = 0; r < c.size; ++r) blocks.push_back({static_cast<std::int64_t>(r * c.bytes), c.bytes});
        put_exchange_reduce_scatter(p, me, blocks, c.in_place, kCutting);
      };
      const Add& add = is_ring ? kSum : kFloat;
      Stage run(c.bytes, c.size, build, add);
      std::vector<Bytes> data;
      for (std::uint32_t r = 0; r < c.size; ++r) {
        data.push_back(data_of(r, c.bytes * c.size, is_ring ? nullptr : &add));
        run[r].in_place = c.in_place;
        (c.in_place ? run[r].out : run[r].in) = data[r];
        if (!c.in_place) run[r].out.resize(c.bytes);
      }
      ASSERT_TRUE(run.run());
      const Bytes sum = canonical(data, 0, c.size, add);
      for (std::uint32_t r = 0; r < c.size; ++r)
        ASSERT_EQ(std::memcmp(run[r].out.data(), sum.data() + r * c.bytes, c.bytes), 0) << "rank " << r;
    });
}

TEST(Patterns, ReduceScattersHaveBlocksOfAnyLength) {
  each_case(false, [&](const Case& c) {
    std::vector<Extent> blocks;
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < c.size; ++r) {  // In place, long blocks behind short ones lie over their own sums.
      blocks.push_back({static_cast<std::int64_t>(all), r % 3 == 0 ? 8 : r % 3 == 1 ? c.bytes : 0});
      all += blocks.back().bytes;
    }
    Stage run(
        c.bytes, c.size,
        [&](Pattern& p, Member me) { put_exchange_reduce_scatter(p, me, blocks, c.in_place, kCutting); }, kFloat);
    std::vector<Bytes> data;
    for (std::uint32_t r = 0; r < c.size; ++r) {
      data.push_back(data_of(r, all, &kFloat));
      run[r].in_place = c.in_place;
      (c.in_place ? run[r].out : run[r].in) = data[r];
      if (!c.in_place) run[r].out.resize(blocks[r].bytes);
    }
    ASSERT_TRUE(run.run());
    const Bytes sum = canonical(data, 0, c.size, kFloat);
    for (std::uint32_t r = 0; r < c.size; ++r)
      ASSERT_EQ(std::memcmp(run[r].out.data(), sum.data() + blocks[r].at, blocks[r].bytes), 0) << "rank " << r;
  });
}

TEST(Patterns, BcastsReachAll) {
  using Put = void (*)(Pattern&, Member, std::uint32_t, std::uint64_t, const Cutting&);
  for (const Put put : {put_binomial_bcast, put_chain_bcast, put_exchange_bcast})
    each_case(true, [&](const Case& c) {
      Stage run(
          c.bytes, c.size, [&](Pattern& p, Member me) { put(p, me, c.root, c.bytes, kCutting); }, kSum);
      for (std::uint32_t r = 0; r < c.size; ++r) run[r].out = r == c.root ? data_of(r, c.bytes) : Bytes(c.bytes);
      ASSERT_TRUE(run.run());
      for (std::uint32_t r = 0; r < c.size; ++r) ASSERT_EQ(run[r].out, data_of(c.root, c.bytes)) << "rank " << r;
    });
}

/// Blocks of different sizes in an order of their own, some of them empty, with gaps between them.
std::vector<Extent> uneven(std::uint32_t size, std::uint64_t bytes, std::uint64_t& all) {
  std::vector<Extent> blocks(size);
  all = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t at = size - 1 - i;
    blocks[at] = {static_cast<std::int64_t>(all + 3), at % 3 == 1 ? 0 : bytes * (at % 4 + 1) / 2};
    all += blocks[at].bytes + 3;
  }
  return blocks;
}

TEST(Patterns, AllgathersCollectBlocksOfAnySize) {
  using Put = void (*)(Pattern&, Member, std::span<const Extent>, bool, const Cutting&);
  for (const Put put : {put_ring_allgather, put_exchange_allgather})
    each_case(false, [&](const Case& c) {
      std::uint64_t all = 0;
      const auto blocks = uneven(c.size, c.bytes, all);
      Stage run(
          c.bytes, c.size, [&](Pattern& p, Member me) { put(p, me, blocks, c.in_place, {.most = 256}); }, kSum);
      Bytes expected(all, kUntouched);
      for (std::uint32_t r = 0; r < c.size; ++r) {
        const Bytes own = data_of(r, blocks[r].bytes);
        std::ranges::copy(own, expected.begin() + blocks[r].at);
        run[r].out.assign(all, kUntouched);
        run[r].in = own;
        if (c.in_place) std::ranges::copy(own, run[r].out.begin() + blocks[r].at);
      }
      ASSERT_TRUE(run.run());
      for (std::uint32_t r = 0; r < c.size; ++r) ASSERT_EQ(run[r].out, expected) << "rank " << r;
    });
}

TEST(Patterns, AlltoallsMoveEachBlock) {
  for (const bool skips_empty : {false, true})
    each_case(false, [&](const Case& c) {
      const auto bytes_of = [&](std::uint32_t from, std::uint32_t to) {
        const auto both = c.in_place ? std::min(from, to) * 7 + std::max(from, to) : from * 5 + to;
        return both % 4 == 3 ? 0 : c.bytes * (both % 3 + 1) / 2;
      };
      const auto block_of = [&](std::uint32_t from, std::uint32_t to) {
        return data_of(from * 64 + to, bytes_of(from, to));
      };
      std::vector<std::vector<Extent>> leaves(c.size), comes(c.size);
      for (std::uint32_t r = 0; r < c.size; ++r) {
        std::int64_t in = 0, out = 5;
        for (std::uint32_t i = 0; i < c.size; ++i) {
          leaves[r].push_back({in, bytes_of(r, i)});
          comes[r].push_back({out, bytes_of(i, r)});
          in += static_cast<std::int64_t>(bytes_of(r, i));
          out += static_cast<std::int64_t>(bytes_of(i, r)) + 1;
        }
      }
      const auto build = [&](Pattern& p, Member me) {
        put_exchange_alltoall(p, me, leaves[me.rank], comes[me.rank], c.in_place, skips_empty, {.most = 256});
      };
      Stage run(c.bytes, c.size, build, kSum);
      std::vector<Bytes> expected(c.size);
      for (std::uint32_t r = 0; r < c.size; ++r) {
        const auto size = static_cast<std::size_t>(comes[r].back().at) + comes[r].back().bytes + 1;
        run[r].out.assign(size, kUntouched);
        expected[r].assign(size, kUntouched);
        for (std::uint32_t i = 0; i < c.size; ++i) {
          std::ranges::copy(block_of(i, r), expected[r].begin() + comes[r][i].at);
          if (c.in_place) std::ranges::copy(block_of(r, i), run[r].out.begin() + comes[r][i].at);
          const Bytes mine = block_of(r, i);
          run[r].in.insert(run[r].in.end(), mine.begin(), mine.end());
        }
      }
      ASSERT_TRUE(run.run());
      for (std::uint32_t r = 0; r < c.size; ++r) ASSERT_EQ(run[r].out, expected[r]) << "rank " << r;
    });
}

TEST(Patterns, GathersAndScattersMoveBlocks) {
  for (const bool is_linear : {false, true})
    each_case(true, [&](const Case& c) {
      std::vector<Extent> blocks(c.size);
      for (std::uint32_t i = 0; i < c.size; ++i) blocks[i] = {static_cast<std::int64_t>(i * c.bytes), c.bytes};
      const auto gather = [&](Pattern& p, Member me) {
        const bool in_place = c.in_place && me.rank == c.root;
        if (is_linear) return put_linear_gather(p, me, c.root, c.bytes, blocks, in_place, kCutting);
        put_binomial_gather(p, me, c.root, c.bytes, in_place, kCutting);
      };
      const auto scatter = [&](Pattern& p, Member me) {
        const bool in_place = c.in_place && me.rank == c.root;
        if (is_linear) return put_linear_scatter(p, me, c.root, c.bytes, blocks, in_place, kCutting);
        put_binomial_scatter(p, me, c.root, c.bytes, in_place, kCutting);
      };
      Bytes all;
      for (std::uint32_t r = 0; r < c.size; ++r) {
        const Bytes own = data_of(r, c.bytes);
        all.insert(all.end(), own.begin(), own.end());
      }
      Stage up(c.bytes, c.size, gather, kSum), down(c.bytes, c.size, scatter, kSum);
      for (std::uint32_t r = 0; r < c.size; ++r) {
        up[r].in = data_of(r, c.bytes);
        if (r != c.root) down[r].out.resize(c.bytes);
      }
      up[c.root].out.resize(all.size());
      if (c.in_place) std::ranges::copy(up[c.root].in, up[c.root].out.begin() + static_cast<long>(c.root * c.bytes));
      down[c.root].in = all;
      down[c.root].out.assign(c.bytes, kUntouched);
      ASSERT_TRUE(up.run());
      ASSERT_TRUE(down.run());
      ASSERT_EQ(up[c.root].out, all);
      for (std::uint32_t r = 0; r < c.size; ++r) {
        const Bytes expected = c.in_place && r == c.root ? Bytes(c.bytes, kUntouched) : data_of(r, c.bytes);
        ASSERT_EQ(down[r].out, expected) << "rank " << r;
      }
    });
}

TEST(Patterns, BarriersWaitForEveryMember) {
  using Put = void (*)(Pattern&, Member);
  for (const Put put : {put_dissemination, put_exchange_barrier})
    for (const std::uint32_t size : std::span(kSizes).subspan(1))
      for (const std::uint32_t late : {0u, size / 2, size - 1}) {
        Stage run(size, size, put, kSum);
        run[late].is_frozen = true;
        EXPECT_FALSE(run.run());
        for (std::uint32_t r = 0; r < size; ++r) EXPECT_GT(run[r].left, 0u) << "of " << size << ", rank " << r;
        run[late].is_frozen = false;
        EXPECT_TRUE(run.run());
      }
}

// The bound of the memory for messages that come before their operation is begun depends on it.
TEST(Patterns, AtMostTwoMessagesComeBeforeAMemberBegins) {
  const struct {
    const char* name;
    std::function<void(Pattern&, Member)> put;
  } rows[] = {
      {"doubling", [](Pattern& p, Member me) { put_doubling(p, me, 64, false, kCutting); }},
      {"exchange", [](Pattern& p, Member me) { put_exchange_allreduce(p, me, 64, false, kCutting); }},
      {"blocks", [](Pattern& p, Member me) { put_blocks_allreduce(p, me, 64, false, kCutting); }},
      {"reduce", [](Pattern& p, Member me) { put_binomial_reduce(p, me, me.size / 3, 64, false, kCutting); }},
      {"bcast", [](Pattern& p, Member me) { put_binomial_bcast(p, me, me.size / 3, 64, kCutting); }},
      {"gather", [](Pattern& p, Member me) { put_binomial_gather(p, me, me.size / 3, 8, false, {.most = 1 << 20}); }},
      {"scatter", [](Pattern& p, Member me) { put_binomial_scatter(p, me, me.size / 3, 8, false, {.most = 1 << 20}); }},
      {"dissemination", put_dissemination},
  };
  for (const auto& row : rows)
    for (const std::uint32_t size : std::span(kSizes).subspan(1))
      for (std::uint32_t late = 0; late < size; late += size / 3 + 1) {
        SCOPED_TRACE(testing::Message() << row.name << ", " << late << " of " << size);
        Stage run(size, size, row.put, kSum);
        for (std::uint32_t r = 0; r < size; ++r) {
          run[r].in.resize(8 * 64);
          run[r].out.resize(8 * 64);
        }
        run[late].is_frozen = true;
        run.make_short();
        (void)run.run();  // It ends where nothing moves without the late member.
        for (std::uint32_t r = 0; r < size; ++r) EXPECT_LE(run.waiting_at(r, late), 2u);
      }
}

}  // namespace
}  // namespace sumac::coll
