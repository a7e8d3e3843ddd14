// reduce, bcast, reduce_scatter and allgather through real daemons: every size around a payload, a chunk and the
// streaming threshold, every root, windows that begin anywhere, lists of ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Returns byte i of rank r's vector.
std::uint8_t at(int rank, std::size_t i) {
  return static_cast<std::uint8_t>(i * 7 + i / 251 + static_cast<unsigned>(rank) * 31);
}

Bytes own(int rank, std::size_t from, std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = at(rank, from + i);
  return data;
}

Bytes sum(int size, std::size_t from, std::size_t bytes) {
  Bytes data(bytes);
  for (int rank = 0; rank < size; ++rank)
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(data[i] + at(rank, from + i));
  return data;
}

/// Describes the buffer: whole, or cut into three ranges that are neither equal nor aligned.
struct Described {
  sharp_coll_data_desc desc{};
  sharp_data_iov pieces[3]{};
  Described(Bytes& data, bool list) {
    desc.mem_type = SHARP_MEM_TYPE_HOST;
    if (!list) {
      desc.type = SHARP_DATA_BUFFER;
      desc.buffer.ptr = data.data();
      desc.buffer.length = data.size();
      return;
    }
    const std::size_t cuts[] = {0, data.size() / 7, data.size() / 2, data.size()};
    for (int i = 0; i < 3; ++i) pieces[i] = {data.data() + cuts[i], cuts[i + 1] - cuts[i], nullptr};
    desc.type = SHARP_DATA_IOV;
    desc.iov.count = 3;
    desc.iov.vector = pieces;
  }
};

constexpr std::size_t kSizes[] = {0, 1, 127, 128, 129, 1000, 16383, 16384, 65536, 65537, 300'001};

void reduce_everywhere(Rank& rank, sharp_coll_comm* comm) {
  for (const std::size_t bytes : kSizes) {
    const int root = static_cast<int>(bytes % 3);
    Bytes in = own(rank.rank, 0, bytes), out(bytes, 0xEE);
    const bool list = bytes % 2 == 1;
    Described from(in, list), to(out, list);
    sharp_coll_reduce_spec spec;
    std::memset(&spec, 0xA5, sizeof spec);  // At other ranks than the root the receive descriptor stays garbage.
    spec.root = root;
    spec.sbuf_desc = from.desc;
    if (rank.rank == root) spec.rbuf_desc = to.desc;
    spec.dtype = SHARP_DTYPE_UINT8;
    spec.op = SHARP_OP_SUM;
    spec.length = bytes;
    spec.aggr_mode = SHARP_AGGREGATION_NONE;
    RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), 0);
    RANK_CHECK(out == (rank.rank == root ? sum(3, 0, bytes) : Bytes(bytes, 0xEE)));
  }
}

void bcast_everywhere(Rank& rank, sharp_coll_comm* comm) {
  for (const std::size_t bytes : kSizes)
    for (int root = 0; root < 3; ++root) {
      Bytes data = rank.rank == root ? own(root, 0, bytes) : Bytes(bytes, 0xEE);
      Described buffer(data, root == 1);
      sharp_coll_bcast_spec spec{};
      spec.root = root;
      spec.buf_desc = buffer.desc;
      spec.size = bytes;
      void* handle = nullptr;
      RANK_EQUAL(sharp_coll_do_bcast_nb(comm, &spec, &handle), 0);
      RANK_EQUAL(sharp_coll_req_wait(handle), 0);
      RANK_CHECK(data == own(root, 0, bytes));
    }
}

/// Windows of `step` bytes over a vector of 3 x part bytes; the last one may be short.
void reduce_scatter_everywhere(Rank& rank, sharp_coll_comm* comm, std::size_t part, std::size_t step) {
  const std::size_t begin = static_cast<std::size_t>(rank.rank) * part;
  for (std::size_t offset = 0; offset < 3 * part; offset += step) {
    const std::size_t window = std::min(step, 3 * part - offset);
    Bytes in = own(rank.rank, offset, window), out(part, 0xEE);
    Described from(in, step % 2 == 1), to(out, step % 2 == 1);
    sharp_coll_reduce_spec spec;
    std::memset(&spec, 0xA5, sizeof spec);
    spec.sbuf_desc = from.desc;
    spec.rbuf_desc = to.desc;
    spec.dtype = SHARP_DTYPE_UINT8;
    spec.op = SHARP_OP_SUM;
    spec.offset = offset;
    spec.aggr_mode = SHARP_AGGREGATION_NONE;
    RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &spec), 0);
    const std::size_t from_byte = std::max(begin, offset), to_byte = std::min(begin + part, offset + window);
    Bytes expected = from_byte < to_byte ? sum(3, from_byte, to_byte - from_byte) : Bytes();
    expected.resize(part, 0xEE);
    RANK_CHECK(out == expected);
  }
}

/// In place as in MPI: this rank's part of the sum lies at the beginning of its input, which other parts of the sum
/// still need.
void reduce_scatter_onto_its_beginning(Rank& rank, sharp_coll_comm* comm, std::size_t part) {
  Bytes data = own(rank.rank, 0, 3 * part);
  sharp_coll_reduce_spec spec;
  std::memset(&spec, 0xA5, sizeof spec);
  for (auto* desc : {&spec.sbuf_desc, &spec.rbuf_desc}) {
    desc->type = SHARP_DATA_BUFFER;
    desc->mem_type = SHARP_MEM_TYPE_HOST;
    desc->buffer = {data.data(), desc == &spec.sbuf_desc ? data.size() : part, nullptr};
  }
  spec.dtype = SHARP_DTYPE_UINT8;
  spec.op = SHARP_OP_SUM;
  spec.offset = 0;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &spec), 0);
  data.resize(part);
  RANK_CHECK(data == sum(3, static_cast<std::size_t>(rank.rank) * part, part));
}

void allgather_everywhere(Rank& rank, sharp_coll_comm* comm, std::size_t part, std::size_t step) {
  const std::size_t begin = static_cast<std::size_t>(rank.rank) * part;
  for (std::size_t offset = 0; offset < 3 * part; offset += step) {
    const std::size_t window = std::min(step, 3 * part - offset);
    const std::size_t mine = std::max(begin, offset);
    // The buffer starts at the first byte of the contribution; bytes after it must not matter.
    Bytes in = own(rank.rank, mine, part), out(window, 0xEE);
    Described from(in, step % 2 == 1), to(out, step % 2 == 1);
    sharp_coll_gather_spec spec;
    std::memset(&spec, 0xA5, sizeof spec);
    spec.sbuf_desc = from.desc;
    spec.rbuf_desc = to.desc;
    spec.offset = offset;
    RANK_EQUAL(sharp_coll_do_allgather(comm, &spec), 0);
    Bytes expected(window);
    for (std::size_t i = 0; i < window; ++i) expected[i] = at(static_cast<int>((offset + i) / part), offset + i);
    RANK_CHECK(out == expected);
  }
}

void all_kinds(Rank& rank, std::uint64_t job) {
  auto* context = rank.init(job);
  auto* comm = rank.comm(context);
  reduce_everywhere(rank, comm);
  bcast_everywhere(rank, comm);
  static constexpr std::pair<std::size_t, std::size_t> kParts[] = {
      {1, 3},      {40, 120},        {40, 17},           {128, 384},       {1000, 3000},
      {1000, 999}, {20'000, 60'000}, {100'003, 300'009}, {100'003, 70'001}};
  for (const auto& [part, step] : kParts) {
    reduce_scatter_everywhere(rank, comm, part, step);
    reduce_scatter_onto_its_beginning(rank, comm, part);
    allgather_everywhere(rank, comm, part, step);
  }
  const auto stats = stats_of(context);
  RANK_EQUAL(stats.per_coll[SUMAC_STATS_BCAST].answered, 3 * std::size(kSizes));
  RANK_EQUAL(stats.per_coll[SUMAC_STATS_REDUCE].answered, std::size(kSizes));
  RANK_EQUAL(stats.per_coll[SUMAC_STATS_ALLGATHER].answered + std::size(kParts),
             stats.per_coll[SUMAC_STATS_REDUCE_SCATTER].answered);
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

TEST_F(World, EveryKindIsExactInFragments) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) { all_kinds(rank, job); });
}

TEST_F(World, EveryKindIsExactWhenItStreams) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) { all_kinds(rank, job); }, {{"SHARP_COLL_ENABLE_SAT", "1"}});
}

TEST_F(World, EveryKindIsExactWhenItIsStripedOverThreeGroups) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) { all_kinds(rank, job); },
              {{"SHARP_COLL_GROUPS_PER_COMM", "3"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}});
}

TEST_F(World, EveryKindIsExactWhenItStreamsOverThreeGroups) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) { all_kinds(rank, job); },
              {{"SHARP_COLL_GROUPS_PER_COMM", "3"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}, {"SHARP_COLL_ENABLE_SAT", "1"}});
}

TEST_F(World, RanksThatDisagreeOnTheRootGetAVerdict) {
  const auto job = new_job_id();
  const auto ended = run_ranks(on(*daemons_, 3), [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    Bytes data(10);
    Described buffer(data, false);
    sharp_coll_bcast_spec spec{};
    spec.root = rank.rank == 2 ? 1 : 0;
    spec.buf_desc = buffer.desc;
    spec.size = data.size();
    // A rank whose part is over when it is sent learns of the disagreement in its next operation.
    const int status = sharp_coll_do_bcast(comm, &spec);
    RANK_EQUAL(status == 0 ? sharp_coll_do_barrier(comm) : status, SHARP_COLL_ERROR);
    char text[256];
    RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
    RANK_CHECK(std::strstr(text, "rank 2") != nullptr && std::strstr(text, "root") != nullptr);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
}

}  // namespace
}  // namespace sumac::client::test
