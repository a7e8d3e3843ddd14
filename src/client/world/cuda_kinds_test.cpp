// CUDA buffers are exact in every kind of operation and in mixtures with host memory: with a library that stands in for
// the driver, where a host access to them is deadly, and with a real GPU if there is one. The test itself calls both by
// the driver's own functions.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "client/world/test_cuda.hpp"

namespace sumac::client::test {
namespace {

constexpr const char* kRealCuda = "libcuda.so.1";
constexpr auto kUntouched = static_cast<std::int32_t>(0xEEEEEEEE);

/// In a rank: the first GPU of a driver's library. Make it after the fork, because a driver does not survive one.
struct Gpu {
  explicit Gpu(const char* path) : library(::dlopen(path, RTLD_NOW)) {
    if (library == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
    RANK_CHECK(library != nullptr);
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    take_symbol(library, init, "cuInit");
    take_symbol(library, retain, "cuDevicePrimaryCtxRetain");
    take_symbol(library, set_current, "cuCtxSetCurrent");
    take_symbol(library, alloc, "cuMemAlloc_v2");
    take_symbol(library, free, "cuMemFree_v2");
    take_symbol(library, to_device, "cuMemcpyHtoD_v2");
    take_symbol(library, to_host, "cuMemcpyDtoH_v2");
    void* context = nullptr;
    RANK_EQUAL(init(0), 0);
    RANK_EQUAL(retain(&context, 0), 0);
    RANK_EQUAL(set_current(context), 0);
  }
  void* library;
  int (*alloc)(unsigned long long* memory, std::size_t bytes) = nullptr;
  int (*free)(unsigned long long memory) = nullptr;
  int (*to_device)(unsigned long long to, const void* from, std::size_t bytes) = nullptr;
  int (*to_host)(void* to, unsigned long long from, std::size_t bytes) = nullptr;
};

/// Returns the reason why no GPU can be used here, or "". It asks in a process of its own, so that our process has no
/// driver in it when it forks ranks.
std::string why_no_gpu() {
  const char* const reasons[] = {"", "there is no libcuda.so.1", "the driver finds no device",
                                 "the driver does not start"};
  const pid_t pid = ::fork();
  if (pid == 0) {
    void* library = ::dlopen(kRealCuda, RTLD_NOW);
    if (library == nullptr) ::_exit(1);
    const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
    const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDeviceGetCount"));
    constexpr int kNoDevice = 100;
    int devices = 0;
    const int code = init == nullptr || count == nullptr ? -1 : init(0);
    if (code != 0) ::_exit(code == kNoDevice ? 2 : 3);
    ::_exit(count(&devices) == 0 && devices > 0 ? 0 : 2);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 2) return reasons[3];
  return reasons[WEXITSTATUS(status)];
}

/// `count` numbers in device memory (or the host's).
class Numbers {
 public:
  Numbers(const Gpu& gpu, std::size_t count, bool on_device) : gpu_(gpu), host_(count), on_device_(on_device) {
    if (on_device) RANK_EQUAL(gpu.alloc(&device_, bytes()), 0);
    pointer = on_device ? reinterpret_cast<void*>(device_) : host_.data();
  }
  ~Numbers() {
    if (on_device_) RANK_EQUAL(gpu_.free(device_), 0);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  template <class F>
  void set(F&& number) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = number(i);
    if (on_device_) RANK_EQUAL(gpu_.to_device(device_, host_.data(), bytes()), 0);
  }
  template <class F>
  void expect(F&& number) {
    if (on_device_) {
      std::fill(host_.begin(), host_.end(), ~kUntouched);
      RANK_EQUAL(gpu_.to_host(host_.data(), device_, bytes()), 0);
    }
    for (std::size_t i = 0; i < host_.size(); ++i) RANK_EQUAL(host_[i], number(i));
  }
  sharp_coll_data_desc desc() const {
    return {
        SHARP_DATA_BUFFER, on_device_ ? SHARP_MEM_TYPE_CUDA : SHARP_MEM_TYPE_HOST, {}, {{pointer, bytes(), nullptr}}};
  }
  void* pointer = nullptr;

 private:
  std::size_t bytes() const { return host_.size() * sizeof(std::int32_t); }
  const Gpu& gpu_;
  unsigned long long device_ = 0;
  std::vector<std::int32_t> host_;
  bool on_device_;
};

sharp_coll_reduce_spec spec_of(const Numbers& in, const Numbers& out, std::size_t count) {
  auto spec = reduce_spec(nullptr, nullptr, count, Dtype::int32, Op::sum);
  spec.sbuf_desc = in.desc();
  spec.rbuf_desc = out.desc();
  return spec;
}

void every_kind(Rank& rank, const Gpu& gpu, sharp_coll_context* context, sharp_coll_comm* comm, std::size_t count,
                bool in_device, bool out_device) {
  const auto fill = [&](Numbers& numbers) { numbers.set([&](std::size_t i) { return value(rank.rank, i); }); };
  const auto clear = [&](Numbers& numbers) { numbers.set([](std::size_t) { return kUntouched; }); };
  const auto size = static_cast<std::size_t>(rank.size);
  const auto all = [&](std::size_t i) { return sum(rank.size, i); };
  Numbers in(gpu, count, in_device), out(gpu, count, out_device);
  fill(in);
  clear(out);
  auto spec = spec_of(in, out, count);
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  out.expect(all);
  spec = spec_of(in, in, count);  // In place.
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  in.expect(all);

  fill(in);
  clear(out);
  spec = spec_of(in, out, count);
  spec.root = rank.size - 1;
  RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), 0);
  out.expect([&](std::size_t i) { return rank.rank == spec.root ? all(i) : kUntouched; });

  sharp_coll_bcast_spec bcast{};
  bcast.root = 1;
  bcast.size = count * 4;
  bcast.buf_desc = in.desc();
  RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), 0);
  in.expect([](std::size_t i) { return value(1, i); });

  Numbers whole(gpu, count * size, in_device);
  fill(whole);
  spec = spec_of(whole, out, count);
  spec.offset = 0;
  RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &spec), 0);
  const std::size_t mine = static_cast<std::size_t>(rank.rank) * count;
  out.expect([&](std::size_t i) { return all(mine + i); });

  // The descriptors of an allgather have no reliable memory type, so it is tried by handle and without one.
  Numbers gathered(gpu, count * size, out_device);
  fill(in);
  void *from = nullptr, *to = nullptr;
  RANK_EQUAL(sharp_coll_reg_mr(context, in.pointer, count * 4, &from), 0);
  RANK_EQUAL(sharp_coll_reg_mr(context, gathered.pointer, count * 4 * size, &to), 0);
  for (const bool by_handle : {true, false}) {
    sharp_coll_gather_spec gather;
    std::memset(&gather, 0xA5, sizeof gather);
    gather.sbuf_desc.type = gather.rbuf_desc.type = SHARP_DATA_BUFFER;
    gather.sbuf_desc.buffer = {in.pointer, count * 4, by_handle ? from : nullptr};
    gather.rbuf_desc.buffer = {gathered.pointer, count * 4 * size, by_handle ? to : nullptr};
    gather.offset = 0;
    clear(gathered);
    RANK_EQUAL(sharp_coll_do_allgather(comm, &gather), 0);
    gathered.expect([&](std::size_t i) { return value(static_cast<int>(i / count), i % count); });
  }
  RANK_EQUAL(sharp_coll_dereg_mr(context, from), 0);
  RANK_EQUAL(sharp_coll_dereg_mr(context, to), 0);
}

/// Each rank uses another combination, because the memory of one member does not concern the others.
void every_way(Rank& rank, const Gpu& gpu, std::uint64_t job, const std::vector<std::size_t>& counts) {
  auto* context = rank.init(job);
  auto* comm = rank.comm(context);
  for (const auto count : counts)
    for (int way = 0; way < 4; ++way) {
      const int mine = (way + rank.rank) % 4;
      every_kind(rank, gpu, context, comm, count, mine % 2 == 0, mine / 2 == 0);
    }
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

const std::vector<std::size_t> kSmall = {1, 20, 40, 1000}, kAll = {1, 20, 40, 1000, 600'000};

TEST_F(World, CudaBuffersAreExactInEveryKind) {
  const struct {
    const char *sat, *groups;
    std::vector<std::size_t> counts;
  } rows[] = {{"0", "1", kSmall}, {"1", "1", kAll}, {"0", "3", {1, 1000}}, {"1", "3", {1, 1000, 600'000}}};
  for (const auto& row : rows) {
    const auto job = new_job_id();
    expect_well(3,
                [&](Rank& rank) {
                  const Gpu gpu(kFakeCuda);
                  decltype(&fake_cuda_counts) counts = nullptr;
                  take_symbol(gpu.library, counts, "fake_cuda_counts");
                  every_way(rank, gpu, job, row.counts);
                  const auto left = counts();
                  RANK_CHECK(left.to_host > 0 && left.to_device > 0);
                  RANK_CHECK(left.pinned == 0 && left.streams == 0 && left.events == 0);
                },
                {{"SHARP_COLL_ENABLE_SAT", row.sat}, {"SHARP_COLL_GROUPS_PER_COMM", row.groups}});
  }
}

TEST_F(World, ARealGpuIsExactInEveryKind) {
  if (const auto why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU to test with: " << why;
  for (const char* sat : {"0", "1"}) {
    const auto job = new_job_id();
    expect_well(3, [&](Rank& rank) { every_way(rank, Gpu(kRealCuda), job, *sat == '0' ? kSmall : kAll); },
                {{"SHARP_COLL_ENABLE_SAT", sat}});
  }
}

}  // namespace
}  // namespace sumac::client::test
