// The checks of a reduce_spec: what is legal, what a way costs, and that fields which real clients leave as garbage are not read.
#include "client/reduction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace sumac::client {
namespace {

constexpr Ways kLltOnly{false, 16384};
constexpr Ways kStreaming{true, 16384};

/// A spec as a careless client makes it: every byte garbage, then only what must be set.
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
  Poisoned p(10);  // root, tag_dtype, stream_lock_batch_size, offset, reserved, mem_handle, desc.reserved: 0xA5
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
        const bool expected = known && (!pair ? legal(static_cast<Dtype>(dtype), static_cast<Op>(op))
                                              : tag <= 12 && legal(static_cast<Dtype>(dtype), static_cast<Op>(op),
                                                                   static_cast<Dtype>(tag)));
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
      {"GPU memory", [](auto& s) { s.rbuf_desc.mem_type = SHARP_MEM_TYPE_CUDA; }, SHARP_COLL_ENOT_SUPP},
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
  scatter(*read->staging);
  EXPECT_TRUE(std::equal(x, x + 5, std::begin({1, 2, 3, 4, 5})));
  EXPECT_EQ(y[0], 6);
  p.spec.sbuf_desc.iov.count = 16;
  EXPECT_EQ(read_allreduce(p.spec, kLltOnly).error().status, SHARP_COLL_EINVAL) << "at most 15 pieces";
  p.spec.sbuf_desc.iov.count = 1;
  EXPECT_EQ(read_allreduce(p.spec, kLltOnly).error().status, SHARP_COLL_EINVAL) << "8 bytes are not 24";
}

}  // namespace
}  // namespace sumac::client
