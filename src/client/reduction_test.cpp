// The checks of a reduce_spec: the legal values, the choice of streaming, and that fields which real clients leave as
// garbage are not read.
#include "client/reduction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace sumac::client {
namespace {

constexpr Ways kLltOnly{false, 16384};
constexpr Ways kStreaming{true, 16384};

/// A spec as a careless client makes it: every byte is garbage, and then only mandatory fields are set.
struct Poisoned {
  std::array<std::byte, 65536> in{}, out{};
  sharp_coll_reduce_spec spec;
  explicit Poisoned(std::size_t length, sharp_datatype dtype = SHARP_DTYPE_INT, sharp_reduce_op op = SHARP_OP_SUM) {
    std::memset(&spec, 0xA5, sizeof spec);
    for (auto [desc, memory] : {std::pair{&spec.sbuf_desc, in.data()}, std::pair{&spec.rbuf_desc, out.data()}}) {
      desc->type = SHARP_DATA_BUFFER;
      desc->mem_type = SHARP_MEM_TYPE_HOST;
      desc->buffer.ptr = memory;
      desc->buffer.length = in.size();
    }
    spec.dtype = dtype;
    spec.op = op;
    spec.length = length;
    spec.aggr_mode = SHARP_AGGREGATION_NONE;
  }
};

TEST(Reduction, GarbageInFieldsThatClientsLeaveUnsetChangesNothing) {
  Poisoned p(10);  // root, tag_dtype, stream_lock_batch_size, offset, reserved, mem_handle and desc.reserved are 0xA5.
  const auto read = read_allreduce(p.spec, kStreaming);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->operation.dtype, Dtype::int32);
  EXPECT_EQ(read->operation.op, Op::sum);
  EXPECT_EQ(read->operation.tag_dtype, Dtype::null);
  EXPECT_EQ(read->operation.count, 10u);
  EXPECT_EQ(read->operation.src.size(), 40u);
  EXPECT_FALSE(read->operation.streaming);
  EXPECT_EQ(read->staging, nullptr);
}

/// Each kind, with only those fields set that every known client sets; all others are `pattern`.
std::vector<proto::Operation> with_garbage(int pattern) {
  static std::array<std::byte, 4096> in, out;
  const Ways ways{.can_stream = true, .stream_threshold = 16384, .rank = 1, .size = 3, .payload_per_ost = 128};
  const auto describe = [](sharp_coll_data_desc& desc, void* memory, std::size_t bytes, bool says_where) {
    desc.type = SHARP_DATA_BUFFER;
    if (says_where) desc.mem_type = SHARP_MEM_TYPE_HOST;  // The NCCL plugin does not set it for an allgather.
    desc.buffer.ptr = memory;
    desc.buffer.length = bytes;
    desc.buffer.mem_handle = nullptr;
  };
  std::vector<proto::Operation> operations;
  const auto take = [&](const Outcome<Reduction>& read) {
    EXPECT_TRUE(read) << (read ? "" : read.error().text);
    if (read) operations.push_back(read->operation);
  };
  sharp_coll_reduce_spec reduce;
  std::memset(&reduce, pattern, sizeof reduce);
  describe(reduce.sbuf_desc, in.data(), 400, true);
  describe(reduce.rbuf_desc, out.data(), 400, true);
  reduce.dtype = SHARP_DTYPE_INT;
  reduce.op = SHARP_OP_SUM;
  reduce.length = 100;
  reduce.aggr_mode = SHARP_AGGREGATION_NONE;
  take(read_allreduce(reduce, ways));  // Unset: root, tag_dtype, stream_lock_batch_size, offset, reserved.

  std::memset(&reduce.rbuf_desc, pattern, sizeof reduce.rbuf_desc);
  reduce.root = 0;
  take(read_reduce(reduce, ways));  // Unset at other ranks than the root: the whole receive descriptor.

  describe(reduce.rbuf_desc, out.data(), 40, true);
  describe(reduce.sbuf_desc, in.data(), 120, true);
  std::memset(&reduce.root, pattern, sizeof reduce.root);
  std::memset(&reduce.length, pattern, sizeof reduce.length);  // Callers differ in its meaning.
  reduce.offset = 0;
  take(read_reduce_scatter(reduce, ways));

  sharp_coll_gather_spec gather;
  std::memset(&gather, pattern, sizeof gather);
  describe(gather.sbuf_desc, in.data(), 400, false);
  describe(gather.rbuf_desc, out.data(), 1200, false);
  gather.offset = 0;
  take(read_allgather(gather, ways));  // Unset: size, dtype, mem_type.

  sharp_coll_bcast_spec bcast;
  std::memset(&bcast, pattern, sizeof bcast);
  describe(bcast.buf_desc, in.data(), 401, true);
  bcast.root = 1;
  bcast.size = 401;
  take(read_bcast(bcast, ways));
  return operations;
}

TEST(Reduction, NoUnsetFieldOfAnyKindIsRead) {
  const auto expected = with_garbage(0);
  ASSERT_EQ(expected.size(), 5u);
  for (const int pattern : {0x01, 0x7F, 0xA5, 0xEE, 0xFF}) {
    SCOPED_TRACE(pattern);
    const auto read = with_garbage(pattern);
    ASSERT_EQ(read.size(), expected.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(read[i].coll, expected[i].coll);
      EXPECT_EQ(read[i].op, expected[i].op);
      EXPECT_EQ(read[i].dtype, expected[i].dtype);
      EXPECT_EQ(read[i].tag_dtype, expected[i].tag_dtype);
      EXPECT_EQ(read[i].count, expected[i].count);
      EXPECT_EQ(read[i].root, expected[i].root);
      EXPECT_EQ(read[i].streaming, expected[i].streaming);
      EXPECT_EQ(read[i].must_stream, expected[i].must_stream);
      EXPECT_EQ(read[i].chunk, expected[i].chunk);
      EXPECT_EQ(read[i].reproducible, expected[i].reproducible);
      EXPECT_EQ(read[i].block, expected[i].block);
      EXPECT_EQ(read[i].first_block, expected[i].first_block);
      EXPECT_EQ(read[i].ready_until, nullptr);
      EXPECT_EQ(read[i].give.from, expected[i].give.from);
      EXPECT_EQ(read[i].give.to, expected[i].give.to);
      EXPECT_EQ(read[i].src.data(), expected[i].src.data());
      EXPECT_EQ(read[i].src.size(), expected[i].src.size());
      EXPECT_EQ(read[i].dst.data(), expected[i].dst.data());
      EXPECT_EQ(read[i].dst.size(), expected[i].dst.size());
      EXPECT_EQ(read[i].keep.from, expected[i].keep.from);
      EXPECT_EQ(read[i].keep.to, expected[i].keep.to);
    }
  }
}

TEST(Reduction, BuffersThatOverlapInPartAreRefused) {
  std::array<std::byte, 400> memory{};
  const struct {
    const char* name;
    std::ptrdiff_t behind;  // Distance of rbuf after sbuf, in bytes.
    bool legal[3];          // allreduce of 100 bytes; reduce_scatter of 3 x 100; allgather to 3 x 100, by rank 1.
  } rows[] = {
      {"the same", 0, {true, true, false}},        {"one behind", 1, {false, false, false}},
      {"one before", -1, {false, false, false}},   {"a part behind", 100, {true, true, true}},
      {"a part before", -100, {true, true, true}}, {"half a part before", -50, {false, false, false}},
  };
  const Ways ways{.can_stream = false, .stream_threshold = 16384, .rank = 1, .size = 3, .payload_per_ost = 16};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Poisoned p(100, SHARP_DTYPE_UINT8);
    const auto put = [&](std::size_t in, std::size_t out) {
      p.spec.sbuf_desc.buffer.ptr = memory.data() + 100;
      p.spec.rbuf_desc.buffer.ptr = memory.data() + 100 + row.behind;
      p.spec.sbuf_desc.buffer.length = in;
      p.spec.rbuf_desc.buffer.length = out;
    };
    put(100, 100);
    EXPECT_EQ(read_allreduce(p.spec, ways).has_value(), row.legal[0]);
    put(300, 100);
    p.spec.offset = 0;
    EXPECT_EQ(read_reduce_scatter(p.spec, ways).has_value(), row.legal[1]);
    put(100, 300);
    sharp_coll_gather_spec gather;
    std::memset(&gather, 0xA5, sizeof gather);
    gather.sbuf_desc = p.spec.sbuf_desc;
    gather.rbuf_desc = p.spec.rbuf_desc;
    gather.offset = 0;
    EXPECT_EQ(read_allgather(gather, ways).has_value(), row.legal[2]);
  }
}

TEST(Reduction, MinlocWithAnUnsetTagTypeIsNotSupported) {
  Poisoned p(10, SHARP_DTYPE_INT, SHARP_OP_MINLOC);
  const auto read = read_allreduce(p.spec, kLltOnly);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, SHARP_COLL_ENOT_SUPP);
}

TEST(Reduction, EveryPairOfTypeAndOperationIsWhatTheTableSays) {
  for (unsigned dtype = 0; dtype < 14; ++dtype)
    for (unsigned op = 0; op < 14; ++op)
      for (unsigned tag = 0; tag < 14; ++tag) {
        Poisoned p(3, static_cast<sharp_datatype>(dtype), static_cast<sharp_reduce_op>(op));
        p.spec.tag_dtype = static_cast<sharp_datatype>(tag);
        const auto read = read_allreduce(p.spec, kLltOnly);
        const bool known = is_dtype(dtype) && is_op(op);
        const bool pair = known && is_pair(static_cast<Op>(op));
        // A floating-point tag is not of this interface: the bindings alone have Fortran's pairs.
        const bool is_tag = tag <= 12 && !is_float(static_cast<Dtype>(tag));
        const bool expected =
            known && (!pair ? legal(static_cast<Dtype>(dtype), static_cast<Op>(op))
                            : is_tag && legal(static_cast<Dtype>(dtype), static_cast<Op>(op), static_cast<Dtype>(tag)));
        ASSERT_EQ(static_cast<bool>(read), expected) << dtype << " " << op << " " << tag;
        if (!read) {
          ASSERT_EQ(read.error().status, SHARP_COLL_ENOT_SUPP);
        } else {
          ASSERT_EQ(read->operation.src.size() % 3, 0u);
        }
      }
}

TEST(Reduction, StreamingBeginsAtTheThreshold) {
  const struct {
    const char* name;
    std::size_t length;
    sharp_aggregation_mode mode;
    Ways ways;
    int status;
    bool streaming;
  } rows[] = {
      {"just below", 4095, SHARP_AGGREGATION_NONE, kStreaming, 0, false},
      {"just there", 4096, SHARP_AGGREGATION_NONE, kStreaming, 0, true},
      {"large but without streaming", 16384, SHARP_AGGREGATION_NONE, kLltOnly, 0, false},
      {"small but asked for", 1, SHARP_AGGREGATION_STREAMING, kStreaming, 0, true},
      {"asked for but not there", 1, SHARP_AGGREGATION_STREAMING, kLltOnly, SHARP_COLL_ENOT_SUPP, false},
      {"large but not wanted", 16384, SHARP_AGGREGATION_DATAGRAM, kStreaming, 0, false},
      {"no such mode", 1, static_cast<sharp_aggregation_mode>(3), kStreaming, SHARP_COLL_EINVAL, false},
      {"nothing to stream", 0, SHARP_AGGREGATION_STREAMING, kStreaming, 0, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Poisoned p(row.length);
    p.spec.aggr_mode = row.mode;
    const auto read = read_allreduce(p.spec, row.ways);
    EXPECT_EQ(read ? 0 : read.error().status, row.status);
    if (read) {
      EXPECT_EQ(read->operation.streaming, row.streaming);
    }
  }
}

TEST(Reduction, BadBuffersAreRefused) {
  const struct {
    const char* name;
    void (*spoil)(sharp_coll_reduce_spec&);
    int status;
  } rows[] = {
      {"send buffer one byte short", [](auto& s) { s.sbuf_desc.buffer.length = 39; }, SHARP_COLL_EINVAL},
      {"receive buffer one byte short", [](auto& s) { s.rbuf_desc.buffer.length = 39; }, SHARP_COLL_EINVAL},
      {"exactly enough", [](auto& s) { s.rbuf_desc.buffer.length = 40; }, 0},
      {"no buffer", [](auto& s) { s.sbuf_desc.buffer.ptr = nullptr; }, SHARP_COLL_EINVAL},
      {"GPU memory where there is no driver", [](auto& s) { s.rbuf_desc.mem_type = SHARP_MEM_TYPE_CUDA; },
       SHARP_COLL_ENOT_SUPP},
      {"unknown memory", [](auto& s) { s.sbuf_desc.mem_type = static_cast<sharp_data_memory_type>(77); },
       SHARP_COLL_ENOT_SUPP},
      {"neither buffer nor list", [](auto& s) { s.sbuf_desc.type = static_cast<sharp_data_buffer_type>(2); },
       SHARP_COLL_EINVAL},
      {"more elements than there are addresses", [](auto& s) { s.length = SIZE_MAX / 2; }, SHARP_COLL_EINVAL},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Poisoned p(10);
    row.spoil(p.spec);
    const auto read = read_allreduce(p.spec, kLltOnly);
    EXPECT_EQ(read ? 0 : read.error().status, row.status);
  }
}

TEST(Reduction, ListsAreGatheredAndScattered) {
  Poisoned p(6);
  std::int32_t a[2] = {1, 2}, b[4] = {3, 4, 5, 6}, x[5] = {}, y[1] = {};
  sharp_data_iov from[2] = {{a, sizeof a, nullptr}, {b, sizeof b, nullptr}};
  sharp_data_iov to[2] = {{x, sizeof x, nullptr}, {y, sizeof y, nullptr}};
  p.spec.sbuf_desc.type = p.spec.rbuf_desc.type = SHARP_DATA_IOV;
  p.spec.sbuf_desc.iov.count = p.spec.rbuf_desc.iov.count = 2;
  p.spec.sbuf_desc.iov.vector = from;
  p.spec.rbuf_desc.iov.vector = to;
  const auto read = read_allreduce(p.spec, kLltOnly);
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->operation.src.size(), 24u);
  std::int32_t seen[6];
  std::memcpy(seen, read->operation.src.data(), sizeof seen);
  EXPECT_TRUE(std::equal(seen, seen + 6, std::begin({1, 2, 3, 4, 5, 6})));
  read->staging->out = read->staging->in;  // The result that the tree would bring.
  scatter(*read->staging);
  EXPECT_TRUE(std::equal(x, x + 5, std::begin({1, 2, 3, 4, 5})));
  EXPECT_EQ(y[0], 6);
  p.spec.sbuf_desc.iov.count = 16;
  EXPECT_EQ(read_allreduce(p.spec, kLltOnly).error().status, SHARP_COLL_EINVAL) << "at most 15 pieces";
  p.spec.sbuf_desc.iov.count = 1;
  EXPECT_EQ(read_allreduce(p.spec, kLltOnly).error().status, SHARP_COLL_EINVAL) << "8 bytes are not 24";
}

constexpr Ways kThirdOfFour{
    .can_stream = false, .stream_threshold = 16384, .rank = 2, .size = 4, .payload_per_ost = 128};

TEST(Reduction, AWindowGivesAMemberWhatOfItsPartLiesInIt) {
  const struct {
    const char* name;
    std::size_t part, offset, window;  // In bytes; rank 2 of 4.
    std::uint64_t from, to;            // Elements of the window.
  } rows[] = {
      {"the whole vector", 40, 0, 160, 20, 30},      {"exactly its part", 40, 80, 40, 0, 10},
      {"the part's beginning", 40, 60, 40, 5, 10},   {"the part's end", 40, 100, 60, 0, 5},
      {"before the part", 40, 0, 80, 0, 0},          {"behind the part", 40, 120, 40, 0, 0},
      {"a window inside the part", 40, 88, 8, 0, 2}, {"nothing", 0, 0, 0, 0, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Poisoned p(1);
    p.spec.rbuf_desc.buffer.length = row.part;
    p.spec.sbuf_desc.buffer.length = row.window;
    p.spec.offset = row.offset;
    const auto read = read_reduce_scatter(p.spec, kThirdOfFour);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->operation.count, row.window / 4);
    EXPECT_EQ(read->operation.keep.from, row.from);
    EXPECT_EQ(read->operation.keep.to, row.to);
    EXPECT_EQ(read->operation.dst.size(), (row.to - row.from) * 4);

    sharp_coll_gather_spec gather;
    std::memset(&gather, 0xA5, sizeof gather);
    gather.sbuf_desc = p.spec.rbuf_desc;
    gather.rbuf_desc = p.spec.sbuf_desc;
    gather.offset = row.offset;
    // Parts of 40 bytes, so they are padded with zeros and added up.
    const auto gathered = read_allgather(gather, kThirdOfFour);
    ASSERT_TRUE(gathered) << gathered.error().text;
    EXPECT_EQ(gathered->operation.src.size(), row.window);
    EXPECT_EQ(gathered->operation.op, Op::bor);
  }
}

TEST(Reduction, AWindowBeyondTheVectorOrThroughAnElementIsInvalid) {
  const struct {
    const char* name;
    std::size_t part, offset, window;
  } rows[] = {{"beyond", 40, 84, 80},
              {"offset beyond", 40, 164, 0},
              {"half an element", 40, 2, 40},
              {"part of odd size", 41, 0, 40},
              {"offset near 2^64", 40, SIZE_MAX - 3, 8}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Poisoned p(1);
    p.spec.rbuf_desc.buffer.length = row.part;
    p.spec.sbuf_desc.buffer.length = row.window;
    p.spec.offset = row.offset;
    EXPECT_EQ(read_reduce_scatter(p.spec, kThirdOfFour).error().status, SHARP_COLL_EINVAL);
  }
}

TEST(Reduction, LargePartsOfAnAllgatherAreCutAtTheMembersEdges) {
  Poisoned p(1);
  sharp_coll_gather_spec gather;
  std::memset(&gather, 0xA5, sizeof gather);
  gather.sbuf_desc = p.spec.sbuf_desc;
  gather.rbuf_desc = p.spec.rbuf_desc;
  gather.sbuf_desc.buffer.length = 1000;
  gather.rbuf_desc.buffer.length = 2500;
  gather.offset = 700;
  const auto read = read_allgather(gather, kThirdOfFour);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->operation.op, Op::null);
  EXPECT_EQ(read->operation.block, 1000u);
  EXPECT_EQ(read->operation.first_block, 300u);
  EXPECT_EQ(read->operation.give.from, 1300u);  // The part [2000, 3000) of rank 2 in [700, 3200).
  EXPECT_EQ(read->operation.give.to, 2300u);
}

TEST(Reduction, ARootThatIsNoMemberIsInvalid) {
  for (const int root : {-1, 4}) {
    Poisoned p(1);
    p.spec.root = root;
    EXPECT_EQ(read_reduce(p.spec, kThirdOfFour).error().status, SHARP_COLL_EINVAL);
    sharp_coll_bcast_spec bcast{};
    bcast.root = root;
    EXPECT_EQ(read_bcast(bcast, kThirdOfFour).error().status, SHARP_COLL_EINVAL);
  }
}

}  // namespace
}  // namespace sumac::client
