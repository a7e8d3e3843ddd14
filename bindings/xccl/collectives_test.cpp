// Each collective with types, operations and sizes, on teams of one host and of several.
#include <csignal>
#include <numeric>
#include <vector>

#include "bindings/xccl/test_ranks.hpp"
#include "reduce/reference.hpp"

namespace sumac::xccl::test {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 7, 1025};

/// Small whole numbers, so that every type has their sums and products among four ranks exactly.
int value_of(int rank, std::size_t index) {
  return static_cast<int>((static_cast<std::size_t>(rank) + index * 2) % 3) + 1;
}

/// The reduction of all ranks' elements at `index`.
int reduced(xccl_op_t op, int size, std::size_t index) {
  int all = value_of(0, index);
  for (int rank = 1; rank < size; ++rank) {
    const int one = value_of(rank, index);
    switch (op) {
      case XCCL_OP_MAX: all = std::max(all, one); break;
      case XCCL_OP_MIN: all = std::min(all, one); break;
      case XCCL_OP_SUM: all += one; break;
      case XCCL_OP_PROD: all *= one; break;
      case XCCL_OP_LAND: all = all != 0 && one != 0; break;
      case XCCL_OP_LOR: all = all != 0 || one != 0; break;
      case XCCL_OP_LXOR: all = (all != 0) != (one != 0); break;
      case XCCL_OP_BAND: all &= one; break;
      case XCCL_OP_BOR: all |= one; break;
      case XCCL_OP_BXOR: all ^= one; break;
      default: ADD_FAILURE() << op;
    }
  }
  return all;
}

struct Half {
  std::uint16_t bits;
  explicit Half(int value = 0) : bits(reduce::float16_nearest(value)) {}
  bool operator==(const Half&) const = default;
};

template <class T>
void reductions_of(Rank& rank, xccl_dt_t type, bool is_whole) {
  ASSERT_EQ(xccl_dt_size(type), sizeof(T));
  for (int op = 0; op < XCCL_OP_LAST_PREDEFINED; ++op) {
    const bool is_refused = (op >= XCCL_OP_AND && op <= XCCL_OP_XOR) || op >= XCCL_OP_MAXLOC;
    if (op > XCCL_OP_PROD && !is_whole && !is_refused) continue;
    for (const std::size_t count : kCounts)
      for (int form = 0; form < 4; ++form) {
        SCOPED_TRACE(testing::Message() << "type " << type << " op " << op << " count " << count << " form " << form);
        const bool is_reduce = (form & 1) != 0, is_in_place = form > 1;
        const int root = static_cast<int>(count) % rank.size;
        std::vector<T> in(count + 1), out(count + 1), expected(count + 1);
        for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<T>(value_of(rank.rank, i));
        const bool has_result = !is_reduce || rank.rank == root;
        if (is_in_place && has_result) out = in;
        expected = out;
        if (has_result && !is_refused)
          for (std::size_t i = 0; i < count; ++i)
            expected[i] = static_cast<T>(reduced(static_cast<xccl_op_t>(op), rank.size, i));
        auto args = blank_args(is_reduce ? XCCL_REDUCE : XCCL_ALLREDUCE, root);
        args.buffer_info.src_buffer = !is_in_place || !has_result ? in.data()
                                      : count == 1                ? reinterpret_cast<void*>(1)
                                                                  : out.data();
        args.buffer_info.dst_buffer = out.data();
        args.reduce_info = {type, static_cast<xccl_op_t>(op), count};
        EXPECT_EQ(rank.run(args), is_refused ? XCCL_ERR_UNSUPPORTED : XCCL_OK);
        EXPECT_TRUE(out == expected);
        if (testing::Test::HasFailure()) return;
      }
  }
}

void reductions(Rank& rank) {
  reductions_of<std::int8_t>(rank, XCCL_DT_INT8, true);
  reductions_of<std::int16_t>(rank, XCCL_DT_INT16, true);
  reductions_of<std::int32_t>(rank, XCCL_DT_INT32, true);
  reductions_of<std::int64_t>(rank, XCCL_DT_INT64, true);
  reductions_of<__int128>(rank, XCCL_DT_INT128, true);
  reductions_of<std::uint8_t>(rank, XCCL_DT_UINT8, true);
  reductions_of<std::uint16_t>(rank, XCCL_DT_UINT16, true);
  reductions_of<std::uint32_t>(rank, XCCL_DT_UINT32, true);
  reductions_of<std::uint64_t>(rank, XCCL_DT_UINT64, true);
  reductions_of<unsigned __int128>(rank, XCCL_DT_UINT128, true);
  reductions_of<Half>(rank, XCCL_DT_FLOAT16, false);
  reductions_of<float>(rank, XCCL_DT_FLOAT32, false);
  reductions_of<double>(rank, XCCL_DT_FLOAT64, false);
}

void movements_of(Rank& rank, std::size_t count, bool is_in_place) {
  const auto size = static_cast<std::size_t>(rank.size);
  const auto own = static_cast<std::size_t>(rank.rank);
  const auto at = [](std::size_t from, std::size_t to, std::size_t i) {
    return static_cast<int>(from * 1000003 + to * 1009 + i);
  };
  for (int root = 0; root < rank.size; ++root) {
    std::vector<int> in(count), out(count, -1), expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = at(static_cast<std::size_t>(root), 0, i);
    if (rank.rank == root) (is_in_place ? out : in) = expected;
    auto args = blank_args(XCCL_BCAST, root);
    args.buffer_info.src_buffer = is_in_place ? out.data() : in.data();
    args.buffer_info.dst_buffer = out.data();
    args.buffer_info.len = count * sizeof(int);
    EXPECT_EQ(rank.run(args), XCCL_OK);
    EXPECT_EQ(out, expected) << "bcast of " << root;
  }
  std::vector<int> in(count * size), out(count * size, -1), expected(count * size);
  for (std::size_t one = 0; one < size; ++one)
    for (std::size_t i = 0; i < count; ++i) {
      in[one * count + i] = at(own, one, i);
      expected[one * count + i] = at(one, own, i);
    }
  const auto blocks = [&](xccl_collective_type_t type, bool is_whole) {
    if (is_in_place) out = in;
    auto args = blank_args(type);
    args.buffer_info.src_buffer = is_in_place ? out.data() : in.data();
    args.buffer_info.dst_buffer = out.data();
    args.buffer_info.len = count * sizeof(int) * (is_whole ? size : 1);
    return args;
  };
  auto alltoall = blocks(XCCL_ALLTOALL, false);
  EXPECT_EQ(rank.run(alltoall), XCCL_OK);
  EXPECT_EQ(out, expected) << "alltoall";
  std::fill(out.begin(), out.end(), -1);
  auto alltoallv = blocks(XCCL_ALLTOALLV, false);
  std::vector<std::uint32_t> counts(size, static_cast<std::uint32_t>(count)), places(size);
  for (std::size_t one = 0; one < size; ++one) places[one] = static_cast<std::uint32_t>((size - 1 - one) * count);
  auto& info = alltoallv.buffer_info;
  info.src_counts = info.dst_counts = counts.data();
  info.src_displacements = info.dst_displacements = places.data();
  info.src_datatype = info.dst_datatype = XCCL_DT_FLOAT32;
  EXPECT_EQ(rank.run(alltoallv), XCCL_OK);
  for (std::size_t one = 0; one < size; ++one)
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(out[(size - 1 - one) * count + i], at(one, size - 1 - own, i)) << "alltoallv";
  std::fill(out.begin(), out.end(), -1);
  auto allgather = blocks(XCCL_ALLGATHER, true);
  if (count == 7) allgather.buffer_info.src_buffer = is_in_place ? out.data() + own * count : in.data();
  EXPECT_EQ(rank.run(allgather), XCCL_OK);
  for (std::size_t one = 0; one < size; ++one)
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(out[one * count + i], at(one, is_in_place ? one : 0, i)) << "allgather";
}

void movements(Rank& rank) {
  for (const auto type : {XCCL_BARRIER, XCCL_FANIN, XCCL_FANOUT}) {
    auto args = blank_args(type, 1);
    EXPECT_EQ(rank.run(args), XCCL_OK);
  }
  for (const std::size_t count : kCounts)
    for (const bool is_in_place : {false, true}) {
      SCOPED_TRACE(testing::Message() << "count " << count << " in place " << is_in_place);
      movements_of(rank, count, is_in_place);
      if (testing::Test::HasFailure()) return;
    }
}

/// A root's memory, whole and in parts, with other collectives posted before its second step.
void fetches(Rank& rank) {
  constexpr std::size_t kBytes = 5000;
  const auto map = [&](xccl_mem_map_params_t params, xccl_mem_h& memory) {
    EXPECT_EQ(xccl_global_mem_map_start(rank.team, params, &memory), XCCL_OK);
    xccl_status_t status;
    while ((status = xccl_global_mem_map_test(memory)) == XCCL_INPROGRESS) ::sched_yield();
    return status;
  };
  const auto fetch_of = [&](xccl_mem_h memory, std::size_t offset, void* into, std::size_t bytes, int root) {
    auto args = blank_args(XCCL_FANOUT_GET, root);
    args.get_info = {memory, static_cast<std::ptrdiff_t>(offset), into, bytes};
    return args;
  };
  for (int root = 0; root < rank.size; ++root) {
    std::vector<std::uint8_t> mapped(kBytes), got(kBytes), other(kBytes, 0xff);
    std::iota(mapped.begin(), mapped.end(), static_cast<std::uint8_t>(root));
    auto params = blank<xccl_mem_map_params_t>();
    params.field_mask =
        XCCL_MEM_MAP_PARAM_FIELD_ADDRESS | XCCL_MEM_MAP_PARAM_FIELD_LENGTH | XCCL_MEM_MAP_PARAM_FIELD_ROOT;
    params.address = mapped.data();
    params.length = kBytes;
    params.root = root;
    xccl_mem_h memory = nullptr, zeros = nullptr;
    ASSERT_EQ(map(params, memory), XCCL_OK);
    params.field_mask &= ~std::uint64_t{XCCL_MEM_MAP_PARAM_FIELD_ADDRESS};
    ASSERT_EQ(map(params, zeros), XCCL_OK);
    // Each rank another part, rank 0 nothing; then two fetches and a sum at once, posted before any of them is tested.
    const std::size_t offset = 100u * static_cast<unsigned>(rank.rank), bytes = 11u * static_cast<unsigned>(rank.rank);
    for (int turn = 0; turn < 2; ++turn) {
      int in = rank.rank + 1, sum = 0;
      auto args = blank_args(XCCL_ALLREDUCE);
      args.buffer_info.src_buffer = &in;
      args.buffer_info.dst_buffer = &sum;
      args.reduce_info = {XCCL_DT_INT32, XCCL_OP_SUM, 1};
      xccl_coll_op_args_t all[] = {fetch_of(memory, offset, got.data(), bytes, root), args,
                                   fetch_of(zeros, 0, other.data(), kBytes, root)};
      xccl_coll_req_h requests[3];
      for (int i = 0; i < 3; ++i) ASSERT_EQ(xccl_collective_init(&all[i], &requests[i], rank.team), XCCL_OK);
      for (int again = 0; again < 2; ++again) {
        for (auto* one : requests) ASSERT_EQ(xccl_collective_post(one), XCCL_OK);
        for (auto* one : requests) EXPECT_EQ(xccl_collective_wait(one), XCCL_OK);
        EXPECT_EQ(sum, rank.size * (rank.size + 1) / 2);
        for (std::size_t i = 0; i < bytes; ++i)
          ASSERT_EQ(got[i], static_cast<std::uint8_t>(root + static_cast<int>(offset + i)));
        EXPECT_EQ(other, std::vector<std::uint8_t>(kBytes));
      }
      for (auto* one : requests) EXPECT_EQ(xccl_collective_finalize(one), XCCL_OK);
    }
    // One rank asks for a byte too many: no rank has it, and the team goes on.
    const std::size_t most = kBytes - 10;
    auto wrong = fetch_of(memory, most, got.data(), rank.rank == 1 ? 11 : 10, root);
    EXPECT_EQ(rank.run(wrong), XCCL_ERR_INVALID_PARAM);
    auto negative = fetch_of(memory, rank.rank == 1 ? static_cast<std::size_t>(-1) : 0, got.data(), 1, root);
    EXPECT_EQ(rank.run(negative), XCCL_ERR_INVALID_PARAM);
    auto others = fetch_of(rank.rank == 1 ? memory : zeros, 0, got.data(), 1, root);
    EXPECT_EQ(rank.run(others), XCCL_ERR_INVALID_PARAM);
    auto last = fetch_of(memory, most, got.data(), 10, root);
    EXPECT_EQ(rank.run(last), XCCL_OK);
    EXPECT_EQ(std::memcmp(got.data(), mapped.data() + most, rank.rank == root ? 10 : 0), 0);
    // Ranks that differ in the root, or one without a length, learn it all.
    for (const bool differ : {true, false}) {
      auto bad = params;
      if (differ)
        bad.root = rank.rank == 0;
      else
        bad.field_mask = XCCL_MEM_MAP_PARAM_FIELD_ROOT;
      xccl_mem_h none = nullptr;
      EXPECT_EQ(map(bad, none), XCCL_ERR_INVALID_PARAM);
      auto args = fetch_of(none, 0, got.data(), 1, root);
      EXPECT_EQ(rank.run(args), XCCL_ERR_INVALID_PARAM);
      EXPECT_EQ(xccl_global_mem_unmap(none), XCCL_OK);
    }
    EXPECT_EQ(xccl_global_mem_unmap(memory), XCCL_OK);
    EXPECT_EQ(xccl_global_mem_unmap(memory), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_global_mem_unmap(zeros), XCCL_OK);
    auto after = fetch_of(memory, 0, got.data(), 1, root);
    EXPECT_EQ(rank.run(after), XCCL_ERR_INVALID_PARAM);
    if (testing::Test::HasFailure()) return;
  }
}

void all(Rank& rank) {
  movements(rank);
  if (!testing::Test::HasFailure()) fetches(rank);
}

TEST(Collectives, ReductionsOfEachType) { run("aaa", reductions); }
TEST(Collectives, OfOneHost) { run("aaa", all); }
TEST(Collectives, OfLocalTeamLibraries) { run("aa", all, XCCL_TL_UCX | XCCL_TL_SHMSEG); }
TEST(Collectives, OfSeveralHosts) { run("aab", all); }

}  // namespace
}  // namespace sumac::xccl::test
