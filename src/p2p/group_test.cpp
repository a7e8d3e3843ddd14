// Groups over the real transport on loopback, with a thread for each member.
#include "p2p/group.hpp"

#include <algorithm>

#include "p2p/test_members.hpp"
#include "reduce/reduce.hpp"

namespace sumac::p2p {
namespace {

using coll::Kind;
using coll::Operation;
using Progress = Group::Progress;
using test::each_member;
using test::run;

template <class T>
coll::Fold fold_of(Op op, Dtype dtype) {
  coll::Fold fold;
  fold.kernel = reduce::kernel_for(op, dtype);
  fold.element_bytes = sizeof(T);
  fold.dtype = dtype;
  fold.op = op;
  return fold;
}

std::int64_t value(std::uint32_t rank, std::size_t i) { return static_cast<std::int64_t>((rank + 1) * (i + 3)); }

TEST(Group, AllreducesOfAllSizesBySeveralAlgorithms) {
  const auto fold = fold_of<std::int64_t>(Op::sum, Dtype::int64);
  for (const std::uint32_t size : {1u, 2u, 3u, 5u})
    each_member(size, [&](Group& group, std::uint32_t rank) {
      for (const auto algorithm : {Algorithm::doubling, Algorithm::ring, Algorithm::exchange, Algorithm::blocks})
        for (const std::size_t count : {1u, 24u, 25u, 2048u, 2049u, 40000u, 300000u})
          for (const bool in_place : {false, true}) {
            std::vector<std::int64_t> in(count), out(count);
            for (std::size_t i = 0; i < count; ++i) (in_place ? out : in)[i] = value(rank, i);
            const Operation operation{.kind = Kind::allreduce,
                                      .in = in_place ? nullptr : in.data(),
                                      .out = out.data(),
                                      .bytes = count * 8,
                                      .fold = &fold};
            void* request = nullptr;
            const auto progress = group.start_by(operation, algorithm, request);
            ASSERT_EQ(test::finish(group, progress, request), Progress::done) << group.error();
            for (std::size_t i = 0; i < count; ++i) {
              std::int64_t sum = 0;
              for (std::uint32_t r = 0; r < size; ++r) sum += value(r, i);
              ASSERT_EQ(out[i], sum) << to_string(algorithm) << " " << count << " [" << i << "]";
            }
          }
    });
}

TEST(Group, SeveralOperationsInFlight) {
  const auto fold = fold_of<std::int64_t>(Op::max, Dtype::int64);
  each_member(4, [&](Group& group, std::uint32_t rank) {
    constexpr int kOperations = 50;
    std::vector<std::vector<std::int64_t>> data(kOperations);
    std::vector<Operation> operations(kOperations);
    std::vector<void*> requests(kOperations);
    std::vector<Progress> progress(kOperations);
    for (int k = 0; k < kOperations; ++k) {
      data[k].assign(k % 3 == 0 ? 100000 : 10, static_cast<std::int64_t>(rank) * (k + 1));
      operations[k] = {.kind = k % 5 == 4 ? Kind::bcast : Kind::allreduce,
                       .root = k % 4,
                       .out = data[k].data(),
                       .bytes = data[k].size() * 8,
                       .fold = &fold};
      progress[k] = group.start(operations[k], requests[k]);
    }
    for (int k = kOperations - 1; k >= 0; --k) {
      ASSERT_EQ(test::finish(group, progress[k], requests[k]), Progress::done) << group.error();
      const std::int64_t expected = (k % 5 == 4 ? k % 4 : 3) * (k + 1);
      EXPECT_EQ(std::ranges::count(data[k], expected), static_cast<std::ptrdiff_t>(data[k].size()));
    }
  });
}

TEST(Group, AMemberThatEndsLetsTheOthersGoOnWithoutIt) {
  each_member(3, [&](Group& group, std::uint32_t) { ASSERT_EQ(run(group, {.kind = Kind::barrier}), Progress::done); });
}

}  // namespace
}  // namespace sumac::p2p
