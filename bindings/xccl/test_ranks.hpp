#pragma once
// Ranks as processes with a library, a context and a team of all, and an allgather of ranges: what the tests of libxccl start.
#include <api/xccl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "rank/test_hosts.hpp"

namespace sumac::xccl::test {

/// An allgather among processes, by memory that they share: each rank has a slot for each other.
struct SharedOob {
  static constexpr std::size_t kBytes = 1 << 16;
  static constexpr int kRanks = 4;
  struct Slot {
    std::atomic<bool> is_full;
    char bytes[kBytes];
  };
  Slot slots[kRanks][kRanks];
};

struct Rank {
  SharedOob* shared = nullptr;
  int rank = 0, size = 1;
  xccl_lib_h library = nullptr;
  xccl_context_h context = nullptr;
  xccl_team_h team = nullptr;

  xccl_oob_collectives_t oob() { return {&begin, &step, &free, this, rank, size}; }

  xccl_status_t make_team(xccl_team_params_t params, xccl_team_h& made) const {
    xccl_status_t status = xccl_team_create_post(context, &params, &made);
    if (status != XCCL_OK) return status;
    while ((status = xccl_team_create_test(made)) == XCCL_INPROGRESS) ::sched_yield();
    return status;
  }
  xccl_status_t run(xccl_coll_op_args_t& args, xccl_team_h on = nullptr) const {
    xccl_coll_req_h request = nullptr;
    xccl_status_t status = xccl_collective_init(&args, &request, on == nullptr ? team : on);
    if (status != XCCL_OK) return status;
    status = xccl_collective_post(request);
    if (status == XCCL_OK) status = xccl_collective_wait(request);
    EXPECT_EQ(xccl_collective_finalize(request), XCCL_OK);
    return status;
  }

 private:
  struct Use {
    Rank* of;
    void* in;
    void* out;
    std::size_t bytes;
    int rank;
    xccl_ep_range_t range;
    unsigned sent = 0, received = 0;  ///< Bits of ranks.
  };
  static int begin(void* in, void* out, std::size_t bytes, int rank, xccl_ep_range_t range, void* self,
                   void** request) {
    if (bytes > SharedOob::kBytes) return XCCL_ERR_NO_RESOURCE;
    *request = new Use{static_cast<Rank*>(self), in, out, bytes, rank, range};
    return XCCL_OK;
  }
  static xccl_status_t step(void* request) {
    auto& use = *static_cast<Use*>(request);
    const bool is_all = use.range.type == XCCL_EP_RANGE_UNDEFINED;
    const int count = is_all ? use.of->size : use.range.ep_num;
    for (int one = 0; one < count; ++one) {
      const int peer = is_all ? one : xccl_range_to_rank(use.range, one);
      auto& to = use.of->shared->slots[use.of->rank][peer];
      auto& from = use.of->shared->slots[peer][use.of->rank];
      if ((use.sent >> one & 1) == 0 && !to.is_full.load(std::memory_order_acquire)) {
        std::memcpy(to.bytes, use.in, use.bytes);
        to.is_full.store(true, std::memory_order_release);
        use.sent |= 1u << one;
      }
      if ((use.received >> one & 1) == 0 && from.is_full.load(std::memory_order_acquire)) {
        std::memcpy(static_cast<char*>(use.out) + static_cast<std::size_t>(one) * use.bytes, from.bytes, use.bytes);
        from.is_full.store(false, std::memory_order_release);
        use.received |= 1u << one;
      }
    }
    const unsigned all = (1u << count) - 1;
    return use.sent == all && use.received == all ? XCCL_OK : XCCL_INPROGRESS;
  }
  static xccl_status_t free(void* request) {
    delete static_cast<Use*>(request);
    return XCCL_OK;
  }
};

/// Nothing is set but what its mask names.
template <class Params>
Params blank() {
  Params params;
  std::memset(&params, 0xa5, sizeof params);
  params.field_mask = 0;
  return params;
}

inline xccl_coll_op_args_t blank_args(xccl_collective_type_t type, int root = 0) {
  auto args = blank<xccl_coll_op_args_t>();
  args.coll_type = type;
  args.root = root;
  return args;
}

inline xccl_lib_h make_library() {
  const auto params = blank<xccl_lib_params_t>();
  xccl_lib_h library = nullptr;
  EXPECT_EQ(xccl_lib_init(&params, reinterpret_cast<xccl_lib_config_t*>(8), &library), XCCL_OK);
  return library;
}

inline xccl_context_h make_context(Rank& rank, std::uint64_t tls = XCCL_TL_ALL) {
  auto params = blank<xccl_context_params_t>();
  params.field_mask = XCCL_CONTEXT_PARAM_FIELD_OOB | XCCL_CONTEXT_PARAM_FIELD_TLS;
  params.oob = rank.oob();
  params.tls = tls;
  xccl_context_config_t* config = nullptr;
  EXPECT_EQ(xccl_context_config_read(rank.library, "TEST", nullptr, &config), XCCL_OK);
  xccl_context_h context = nullptr;
  EXPECT_EQ(xccl_context_create(rank.library, &params, config, &context), XCCL_OK);
  xccl_context_config_release(config);
  return context;
}

/// Runs `body` as a rank for each letter of `hosts`. The rank `killed` kills itself.
inline void run(const std::string& hosts, const std::function<void(Rank&)>& body, std::uint64_t tls = XCCL_TL_ALL,
                int killed = -1) {
  auto* const shared = static_cast<SharedOob*>(
      ::mmap(nullptr, sizeof(SharedOob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const auto started = rank::test::start_on_hosts(hosts, [&](int one) {
    Rank rank{shared, one, static_cast<int>(hosts.size())};
    rank.library = make_library();
    rank.context = make_context(rank, tls);
    ASSERT_EQ(rank.make_team(blank<xccl_team_params_t>(), rank.team), XCCL_OK);
    body(rank);
    xccl_team_destroy(rank.team);
    EXPECT_EQ(xccl_context_destroy(rank.context), XCCL_OK);
    xccl_lib_cleanup(rank.library);
  });
  ::munmap(shared, sizeof(SharedOob));
  std::vector<int> ends(hosts.size());
  if (killed >= 0) ends[static_cast<std::size_t>(killed)] = SIGKILL;
  rank::test::await_ranks(started, ends);
}

}  // namespace sumac::xccl::test
