// CUDA buffers with a library that stands in for the driver: copies while earlier chunks travel, each of the driver's
// calls failing once, and no driver at all. cuda_kinds_test.cpp tests every kind of operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/world/test_cuda.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

/// `count` numbers in device memory (or the host's), readable by the test.
struct Numbers {
  Numbers(const Fake& fake, std::size_t count, bool on_device)
      : fake_(fake),
        pointer(on_device ? fake.malloc(count * 4 + 4) : ::operator new(count * 4 + 4)),
        data(static_cast<std::int32_t*>(on_device ? fake.view(pointer) : pointer)),
        on_device_(on_device) {}
  ~Numbers() {
    if (on_device_)
      fake_.free(pointer);
    else
      ::operator delete(pointer);
  }
  sharp_coll_data_desc desc(std::size_t count) const {
    return {
        SHARP_DATA_BUFFER, on_device_ ? SHARP_MEM_TYPE_CUDA : SHARP_MEM_TYPE_HOST, {}, {{pointer, count * 4, nullptr}}};
  }
  const Fake& fake_;
  void* pointer;
  std::int32_t* data;
  bool on_device_;
};

sharp_coll_reduce_spec spec_of(const Numbers& in, const Numbers& out, std::size_t count) {
  auto spec = reduce_spec(nullptr, nullptr, count, Dtype::int32, Op::sum);
  spec.sbuf_desc = in.desc(count);
  spec.rbuf_desc = out.desc(count);
  return spec;
}

TEST_F(World, CopiesFromTheDeviceGoOnWhileEarlierChunksTravel) {
  const auto job = new_job_id();
  expect_well(2,
              [&](Rank& rank) {
                const Fake fake;
                auto* context = rank.init(job);
                auto* comm = rank.comm(context);
                const std::size_t count = 6 << 20;  // 24 MiB: 24 copies, 4 at a time.
                Numbers in(fake, count, true);
                for (std::size_t i = 0; i < count; ++i) in.data[i] = value(rank.rank, i);
                auto spec = spec_of(in, in, count);
                void* handle = nullptr;
                RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handle), 0);
                // A small operation of host memory follows: the order of operations stays as posted.
                std::int32_t one = 1, ones = 0;
                auto small = reduce_spec(&one, &ones, 1, Dtype::int32, Op::sum);
                RANK_EQUAL(sharp_coll_do_allreduce(comm, &small), 0);
                RANK_EQUAL(ones, 2);
                sumac_coll_stats stats{};
                stats.struct_bytes = sizeof stats;
                RANK_EQUAL(sharp_coll_req_wait(handle), 0);
                for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(in.data[i], sum(2, i));
                RANK_EQUAL(fake.counts().to_host, 24);
                RANK_EQUAL(fake.counts().to_device, 1);
                RANK_CHECK(fake.counts().not_ready > 0);
                RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                RANK_EQUAL(sharp_coll_finalize(context), 0);
              },
              {{"SHARP_COLL_ENABLE_SAT", "1"}});
}

TEST_F(World, EachCallOfTheDriverMayFail) {
  const struct {
    const char* function;
    int after;
    int status;           ///< At the rank whose driver fails.
    bool reaches_others;  ///< They get a verdict; else the result.
  } rows[] = {
      {"cuCtxPushCurrent", 0, SHARP_COLL_ENOMEM, true},   {"cuMemHostAlloc", 0, SHARP_COLL_ENOMEM, true},
      {"cuStreamCreate", 0, SHARP_COLL_ENOMEM, true},     {"cuEventCreate", 2, SHARP_COLL_ENOMEM, true},
      {"cuEventRecord", 0, SHARP_COLL_ENOMEM, true},      {"cuMemcpyDtoHAsync", 0, SHARP_COLL_ENOMEM, true},
      {"cuEventQuery", 6, SHARP_COLL_ERROR, true},        {"cuMemcpyDtoHAsync", 5, SHARP_COLL_ERROR, true},
      {"cuMemcpyHtoDAsync", 0, SHARP_COLL_ENOMEM, false}, {"cuStreamSynchronize", 0, SHARP_COLL_ENOMEM, false},
  };
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_ENABLE_SAT", "1"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    const Fake fake;
    auto* context = rank.init(job);
    for (const auto& row : rows) {
      auto* comm = rank.comm(context);
      const std::size_t count = 3 << 20;  // This makes 12 copies.
      Numbers in(fake, count, true), out(fake, count, true);
      std::fill(in.data, in.data + count, rank.rank + 1);
      auto spec = spec_of(in, out, count);
      if (rank.rank == 1) fake.fail(row.function, row.after);
      const int status = sharp_coll_do_allreduce(comm, &spec);
      const int expected = rank.rank == 1 ? row.status : row.reaches_others ? SHARP_COLL_ERROR : 0;
      if (status != expected) std::fprintf(stderr, "%s after %d\n", row.function, row.after);
      RANK_EQUAL(status, expected);
      if (status == 0) RANK_CHECK(out.data[0] == 3 && out.data[count - 1] == 3);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    }
    RANK_EQUAL(sharp_coll_finalize(context), 0);
    fake.check_all_given_back();
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[1].err, HasSubstr("cuMemcpyDtoHAsync: out of memory (2)"));
  EXPECT_THAT(ended[0].err, HasSubstr("rank 1 (host h2) gave up (its own output says why)"));
}

/// A list of three ranges of device memory (or the host's), each an allocation of its own, neither equal nor in the
/// order of addresses.
struct Pieces {
  Pieces(const Fake& fake, std::size_t count, bool on_device)
      : sizes{count / 7, count / 2, count - count / 7 - count / 2},
        numbers{Numbers(fake, sizes[0], on_device), Numbers(fake, sizes[1], on_device),
                Numbers(fake, sizes[2], on_device)} {
    for (std::size_t i = 0; i < 3; ++i) vector[i] = {numbers[i].pointer, sizes[i] * 4, nullptr};
    desc = {SHARP_DATA_IOV, on_device ? SHARP_MEM_TYPE_CUDA : SHARP_MEM_TYPE_HOST, {}, {}};
    desc.iov.count = 3;
    desc.iov.vector = vector;
  }
  std::int32_t& operator[](std::size_t i) const {
    std::size_t piece = 0;
    for (; i >= sizes[piece]; ++piece) i -= sizes[piece];
    return numbers[piece].data[i];
  }
  std::size_t sizes[3];
  Numbers numbers[3];
  sharp_data_iov vector[3];
  sharp_coll_data_desc desc;
};

void lists_in_every_kind(Rank& rank, const Fake& fake, sharp_coll_comm* comm, std::size_t count, bool in_device,
                         bool out_device) {
  const auto size = static_cast<std::size_t>(rank.size);
  const Pieces in(fake, count, in_device), out(fake, count, out_device), whole(fake, count * size, in_device),
      gathered(fake, count * size, out_device);
  for (std::size_t i = 0; i < count; ++i) in[i] = value(rank.rank, i);
  for (std::size_t i = 0; i < count * size; ++i) whole[i] = value(rank.rank, i);
  auto spec = reduce_spec(nullptr, nullptr, count, Dtype::int32, Op::sum);
  spec.sbuf_desc = in.desc;
  spec.rbuf_desc = out.desc;
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(out[i], sum(rank.size, i));
  for (std::size_t i = 0; i < count; ++i) out[i] = -1;
  spec.root = 1;
  RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), 0);
  for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(out[i], rank.rank == 1 ? sum(rank.size, i) : -1);
  spec.sbuf_desc = whole.desc;
  spec.offset = 0;
  RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &spec), 0);
  const std::size_t mine = static_cast<std::size_t>(rank.rank) * count;
  for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(out[i], sum(rank.size, mine + i));
  sharp_coll_gather_spec gather{};
  gather.sbuf_desc = in.desc;
  gather.rbuf_desc = gathered.desc;
  RANK_EQUAL(sharp_coll_do_allgather(comm, &gather), 0);
  for (std::size_t i = 0; i < count * size; ++i) RANK_EQUAL(gathered[i], value(static_cast<int>(i / count), i % count));
  sharp_coll_bcast_spec bcast{};
  bcast.root = 2;
  bcast.size = count * 4;
  bcast.buf_desc = in.desc;
  RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), 0);
  for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(in[i], value(2, i));
}

TEST_F(World, ListsOfCudaMemoryAreExactInEveryKind) {
  for (const char* sat : {"0", "1"}) {
    const auto job = new_job_id();
    expect_well(3,
                [&](Rank& rank) {
                  const Fake fake;
                  auto* context = rank.init(job);
                  auto* comm = rank.comm(context);
                  for (const std::size_t count : {7, 40, 1000, 600'000}) {
                    if (count > 1000 && *sat == '0') continue;
                    for (int way = 0; way < 3; ++way) {
                      const int mine = (way + rank.rank) % 3;  // Host to device, device to host, device to device.
                      lists_in_every_kind(rank, fake, comm, count, mine != 0, mine != 1);
                    }
                  }
                  RANK_CHECK(fake.counts().to_host > 0 && fake.counts().to_device > 0);
                  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                  RANK_EQUAL(sharp_coll_finalize(context), 0);
                  fake.check_all_given_back();
                },
                {{"SHARP_COLL_ENABLE_SAT", sat}});
  }
}

TEST_F(World, CudaBuffersAreExactWhereStripesGoToSeveralGroups) {
  for (const char* sat : {"0", "1"}) {
    const auto job = new_job_id();
    expect_well(3,
                [&](Rank& rank) {
                  const Fake fake;
                  auto* context = rank.init(job);
                  auto* comm = rank.comm(context);
                  RANK_EQUAL(info_of(comm).groups, 3u);
                  for (const std::size_t count : {1, 1000, 600'000}) {
                    if (count > 1000 && *sat == '0') continue;
                    lists_in_every_kind(rank, fake, comm, count + 6, rank.rank != 0, rank.rank != 1);
                  }
                  // The later stripes are posted long before their data are on the host: none may overtake its copy.
                  const std::size_t large = 6 << 20;
                  const bool streams = *sat == '1';
                  if (streams) {
                    const auto before = fake.counts();
                    Numbers in(fake, large, true), out(fake, large, true);
                    for (std::size_t i = 0; i < large; ++i) in.data[i] = value(rank.rank, i);
                    auto spec = spec_of(in, out, large);
                    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
                    for (std::size_t i = 0; i < large; ++i) RANK_EQUAL(out.data[i], sum(3, i));
                    RANK_EQUAL(fake.counts().to_host - before.to_host, 24);
                    RANK_CHECK(fake.counts().not_ready > before.not_ready);
                  }
                  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                  RANK_EQUAL(sharp_coll_finalize(context), 0);
                  fake.check_all_given_back();
                },
                {{"SHARP_COLL_ENABLE_SAT", sat}, {"SHARP_COLL_GROUPS_PER_COMM", "3"}});
  }
}

TEST_F(World, CudaMemoryIsRefusedInEveryKindWhereItIsSwitchedOff) {
  const auto job = new_job_id();
  const auto ended = run(2, {{"SHARP_COLL_ENABLE_CUDA", "0"}}, [&](Rank& rank) {
    const Fake fake;
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    constexpr std::size_t kCount = 100;
    const Numbers device(fake, 2 * kCount, true), host(fake, 2 * kCount, false);
    void* handle = nullptr;
    RANK_EQUAL(sharp_coll_reg_mr(context, device.pointer, kCount * 4, &handle), 0);
    for (const bool sends_device : {true, false}) {
      const Numbers &in = sends_device ? device : host, &out = sends_device ? host : device;
      auto spec = spec_of(in, out, kCount);
      spec.root = rank.rank;  // Each is the root of its own call: refused at every rank alike.
      spec.offset = 0;
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ENOT_SUPP);
      RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), SHARP_COLL_ENOT_SUPP);
      RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &spec), SHARP_COLL_ENOT_SUPP);
      for (void* by : {handle, static_cast<void*>(nullptr)}) {
        sharp_coll_gather_spec gather{};
        gather.sbuf_desc = in.desc(kCount);
        gather.rbuf_desc = out.desc(2 * kCount);
        (sends_device ? gather.sbuf_desc : gather.rbuf_desc).buffer.mem_handle = by;
        RANK_EQUAL(sharp_coll_do_allgather(comm, &gather), SHARP_COLL_ENOT_SUPP);
      }
    }
    sharp_coll_bcast_spec bcast{};
    bcast.size = kCount * 4;
    bcast.buf_desc = device.desc(kCount);
    RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), SHARP_COLL_ENOT_SUPP);
    const auto counts = fake.counts();
    RANK_CHECK(counts.to_host == 0 && counts.to_device == 0 && counts.pinned == 0);
    // All ranks refused, so the group goes on.
    for (std::size_t i = 0; i < kCount; ++i) host.data[i] = value(rank.rank, i);
    auto spec = spec_of(host, host, kCount);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    for (std::size_t i = 0; i < kCount; ++i) RANK_EQUAL(host.data[i], sum(2, i));
    RANK_EQUAL(sharp_coll_dereg_mr(context, handle), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(ended[0].err, "") << "that it is not offered is no error";
}

TEST_F(World, AGpusMemoryBehindADescriptorIsUsedByItsAddress) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    const Fake fake;
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    constexpr std::size_t kCount = 1000;
    const Numbers in(fake, kCount, true), out(fake, 2 * kCount, true), host(fake, kCount, false);
    for (std::size_t i = 0; i < kCount; ++i) in.data[i] = value(rank.rank, i);
    sharp_coll_reg_params params{};
    params.field_mask = SHARP_COLL_REG_FIELD_DMABUF_FD | SHARP_COLL_REG_FIELD_DMABUF_OFFSET;
    params.dmabuf_fd = 1 << 20;  // No such descriptor exists: it is not read.
    params.dmabuf_offset = 4096;
    void *from = nullptr, *to = nullptr, *none = nullptr;
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, in.pointer, kCount * 4, &params, &from), 0);
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, out.pointer, 2 * kCount * 4, &params, &to), 0);
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, host.pointer, kCount * 4, &params, &none), SHARP_COLL_ENOT_SUPP);
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, nullptr, kCount * 4, &params, &none), SHARP_COLL_ENOT_SUPP);
    RANK_CHECK(none == nullptr);
    sharp_coll_gather_spec gather{};
    gather.sbuf_desc = in.desc(kCount);
    gather.rbuf_desc = out.desc(2 * kCount);
    gather.sbuf_desc.buffer.mem_handle = from;
    gather.rbuf_desc.buffer.mem_handle = to;
    RANK_EQUAL(sharp_coll_do_allgather(comm, &gather), 0);
    for (std::size_t i = 0; i < 2 * kCount; ++i)
      RANK_EQUAL(out.data[i], value(static_cast<int>(i / kCount), i % kCount));
    auto spec = spec_of(in, in, kCount);
    spec.sbuf_desc.buffer.mem_handle = spec.rbuf_desc.buffer.mem_handle = from;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    for (std::size_t i = 0; i < kCount; ++i) RANK_EQUAL(in.data[i], sum(2, i));
    RANK_EQUAL(sharp_coll_dereg_mr(context, from), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, to), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, WithoutADriverCudaMemoryIsNotSupported) {
  if (void* real = ::dlopen("libcuda.so.1", RTLD_NOW); real != nullptr) GTEST_SKIP() << "this host has a driver";
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    spec.sbuf_desc.mem_type = SHARP_MEM_TYPE_CUDA;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ENOT_SUPP);
    spec.sbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_EQUAL(out, 2);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, HostMemorySaidToBeCudaIsFoundOut) {
  const auto job = new_job_id();
  const auto ended = run_ranks(on(*daemons_, 2), [&](Rank& rank) {
    const Fake fake;
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    spec.sbuf_desc.mem_type = SHARP_MEM_TYPE_CUDA;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("is said to be CUDA memory"));
}

}  // namespace
}  // namespace sumac::client::test
