#pragma once
// Ranks as threads of one process, each with a library, a context and an allgather of its own: what the tests of libucc start.
#include <gtest/gtest.h>
#include <sched.h>
#include <ucc/api/ucc.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sumac::ucc::test {

/// An allgather among threads. Each rank's uses are numbered, so several may be under way.
class Allgather {
 public:
  explicit Allgather(int size) : size_(size) {}

  struct Rank {
    Allgather* all;
    int rank;
    std::size_t uses = 0;
  };
  struct Request {
    Allgather* all;
    std::size_t use;
    void* out;
    std::size_t bytes;
  };
  static ucc_oob_coll_t of(Rank& rank) {
    return {&Allgather::begin,
            &Allgather::test,
            &Allgather::free,
            &rank,
            static_cast<std::uint32_t>(rank.all->size_),
            static_cast<std::uint32_t>(rank.rank)};
  }

 private:
  struct Use {
    std::vector<char> bytes;
    int there = 0;
  };
  static ucc_status_t begin(void* in, void* out, std::size_t bytes, void* self, void** request) {
    auto& rank = *static_cast<Rank*>(self);
    auto& all = *rank.all;
    const std::lock_guard guard(all.lock_);
    const std::size_t use = rank.uses++;
    while (all.uses_.size() <= use) all.uses_.emplace_back();
    all.uses_[use].bytes.resize(bytes * static_cast<std::size_t>(all.size_));
    std::memcpy(all.uses_[use].bytes.data() + bytes * static_cast<std::size_t>(rank.rank), in, bytes);
    ++all.uses_[use].there;
    *request = new Request{&all, use, out, bytes};
    return UCC_OK;
  }
  static ucc_status_t test(void* handle) {
    const auto& request = *static_cast<Request*>(handle);
    const std::lock_guard guard(request.all->lock_);
    const Use& use = request.all->uses_[request.use];
    if (use.there < request.all->size_) return UCC_INPROGRESS;
    std::memcpy(request.out, use.bytes.data(), use.bytes.size());
    return UCC_OK;
  }
  static ucc_status_t free(void* handle) {
    delete static_cast<Request*>(handle);
    return UCC_OK;
  }

  int size_;
  std::mutex lock_;
  std::deque<Use> uses_;
};

/// One rank: its thread's objects.
struct Rank {
  int rank = 0, size = 1;
  ucc_lib_h library = nullptr;
  ucc_context_h context = nullptr;
  ucc_team_h team = nullptr;
  Allgather::Rank team_oob{};

  ucc_status_t make_team(const ucc_team_params_t& params, ucc_team_h& made) const {
    ucc_context_h own = context;
    ucc_status_t status = ucc_team_create_post(&own, 1, &params, &made);
    if (status != UCC_OK) return status;
    while ((status = ucc_team_create_test(made)) == UCC_INPROGRESS) ucc_context_progress(context);
    return status;
  }
  void end_team(ucc_team_h one) const {
    ucc_status_t status = UCC_INPROGRESS;
    while ((status = ucc_team_destroy(one)) == UCC_INPROGRESS) {
    }
    EXPECT_EQ(status, UCC_OK);
  }
  ucc_status_t wait(ucc_coll_req_h request) const {
    while (request->status == UCC_INPROGRESS) {
      ucc_context_progress(context);
      ::sched_yield();
    }
    return request->status;
  }
  /// Init, post, wait, finalize.
  ucc_status_t run(ucc_coll_args_t& args, ucc_team_h on = nullptr) const {
    ucc_coll_req_h request = nullptr;
    ucc_status_t status = ucc_collective_init(&args, &request, on == nullptr ? team : on);
    if (status != UCC_OK) return status;
    status = ucc_collective_post(request);
    if (status == UCC_OK) status = wait(request);
    EXPECT_EQ(ucc_collective_finalize(request), UCC_OK);
    return status;
  }
};

inline ucc_lib_h make_library(ucc_thread_mode_t mode = UCC_THREAD_SINGLE, unsigned minor = UCC_API_MINOR) {
  ucc_lib_params_t params;
  std::memset(&params, 0xa5, sizeof params);  // A field that the mask does not name is garbage.
  params.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = mode;
  ucc_lib_config_h config = nullptr;
  EXPECT_EQ(ucc_lib_config_read("TEST", nullptr, &config), UCC_OK);
  ucc_lib_h library = nullptr;
  EXPECT_EQ(ucc_init_version(UCC_API_MAJOR, minor, &params, config, &library), UCC_OK);
  ucc_lib_config_release(config);
  return library;
}

/// With an OOB, or without one if it is null.
inline ucc_context_h make_context(ucc_lib_h library, Allgather::Rank* oob) {
  ucc_context_params_t params;
  std::memset(&params, 0xa5, sizeof params);
  params.mask = 0;
  if (oob != nullptr) {
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = Allgather::of(*oob);
  }
  ucc_context_config_h config = nullptr;
  EXPECT_EQ(ucc_context_config_read(library, nullptr, &config), UCC_OK);
  ucc_context_h context = nullptr;
  EXPECT_EQ(ucc_context_create(library, &params, config, &context), UCC_OK);
  ucc_context_config_release(config);
  return context;
}

inline ucc_team_params_t blank_team_params() {
  ucc_team_params_t params;
  std::memset(&params, 0xa5, sizeof params);
  params.mask = 0;
  return params;
}

inline ucc_team_params_t params_by_oob(Rank& rank) {
  auto params = blank_team_params();
  params.mask = UCC_TEAM_PARAM_FIELD_OOB | UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE;
  params.oob = Allgather::of(rank.team_oob);
  params.ep = static_cast<std::uint64_t>(rank.rank);
  params.ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
  return params;
}

struct World {
  bool has_context_oob = true, has_team = true;
  ucc_thread_mode_t mode = UCC_THREAD_SINGLE;
  unsigned minor = UCC_API_MINOR;

  /// Runs `body` as each of `size` ranks. With `has_team` they have a team of all.
  void run(int size, const std::function<void(Rank&)>& body) const {
    Allgather contexts(size), teams(size);
    std::vector<std::thread> threads;
    for (int one = 0; one < size; ++one)
      threads.emplace_back([&, one] {
        SCOPED_TRACE(testing::Message() << "rank " << one << " of " << size);
        Rank rank{.rank = one, .size = size, .team_oob = {&teams, one}};
        Allgather::Rank oob{&contexts, one};
        rank.library = make_library(mode, minor);
        rank.context = make_context(rank.library, has_context_oob ? &oob : nullptr);
        ASSERT_NE(rank.context, nullptr);
        if (has_team) {
          ASSERT_EQ(rank.make_team(params_by_oob(rank), rank.team), UCC_OK);
        }
        body(rank);
        if (has_team) rank.end_team(rank.team);
        EXPECT_EQ(ucc_context_destroy(rank.context), UCC_OK);
        EXPECT_EQ(ucc_finalize(rank.library), UCC_OK);
      });
    for (auto& thread : threads) thread.join();
  }
};

/// Nothing is set but what the mask names.
inline ucc_coll_args_t blank(ucc_coll_type_t type) {
  ucc_coll_args_t args;
  std::memset(&args, 0xa5, sizeof args);
  args.mask = 0;
  args.coll_type = type;
  return args;
}

}  // namespace sumac::ucc::test
