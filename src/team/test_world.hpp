#pragma once
// For tests: a communicator of ranks that are threads or forked processes. Its out-of-band functions and the operations
// between its hosts use plain shared memory. The latter are slow on purpose: each operation is done only after a random
// number of polls, so that successive chunks overtake each other. The hosts are those of the sumac_place_t list: in
// truth all are this one.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "coll/canonical_fold.hpp"
#include "shm/task.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"
#include "team/c_types.hpp"
#include "team/options_handle.hpp"
#include "team/team.hpp"

namespace sumac::team {

inline constexpr std::size_t kSlots = 32, kSlotBytes = 96 * 1024, kLeadersMax = 8, kOobBytes = 1 << 18;
inline constexpr std::size_t kRanksMax = 64, kMessageBytes = 16 * 1024;

/// The memory that all ranks share; made before they start.
struct Common {
  pthread_barrier_t barrier;
  std::byte oob[kOobBytes];
  struct Slot {
    std::atomic<std::uint64_t> posted[kLeadersMax], finished[kLeadersMax];
    std::byte data[kLeadersMax][kSlotBytes];
  };
  Slot slots[kSlots];
  /// From rank to rank: a message of one block, there while `length` is not 0.
  struct Message {
    std::atomic<std::uint64_t> length;
    std::byte data[kMessageBytes];
  };
  Message messages[kRanksMax][kRanksMax];
  std::atomic<std::uint64_t> notes[64];  ///< For the tests themselves.
};

struct CommonDelete {
  void operator()(Common* common) const {
    ::pthread_barrier_destroy(&common->barrier);
    ::munmap(common, sizeof(Common));
  }
};
using CommonMemory = std::unique_ptr<Common, CommonDelete>;

inline CommonMemory make_common(int size) {
  void* memory = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* common = static_cast<Common*>(memory);
  pthread_barrierattr_t attributes;
  ::pthread_barrierattr_init(&attributes);
  ::pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&common->barrier, &attributes, static_cast<unsigned>(size));
  ::pthread_barrierattr_destroy(&attributes);
  return CommonMemory(common);
}

/// The leaders' collectives, slow on purpose. Sequence numbers continue from team to team of one world.
class SlowAcross {
 public:
  SlowAcross(Common& common, int rank, std::uint64_t seed) : common_(common), random_(seed), rank_(rank) {}

  bool has_tree = false;               ///< There is a tree that takes operations,
  bool is_network = false;             ///< An object that never calls the MPI does what the MPI would.
  bool adds_canonically = false;       ///< that says that it adds along the canonical tree,
  std::size_t tree_max = SIZE_MAX;     ///< but only up to this size, and only folds with a kernel.
  std::string no_hop{};                ///< The reason why nothing goes by the hop.
  std::optional<std::size_t> hop_max;  ///< Up to this size the kernels of the tree's nodes answer.
  std::size_t last_bytes = 0;          ///< The size of the operation that has ended last.
  std::uint64_t fail_at = UINT64_MAX;  ///< The operation with this number fails here.
  int most_in_flight = 0;
  int corked = 0;                   ///< cork() calls of the tree without their uncork(),
  int started_corked = 0;           ///< and the operations that began meanwhile.
  std::uint64_t looks_least = 0;    ///< Each operation is polled so often before it moves.
  std::uint64_t started_least = 0;  ///< None is done before this leader has started so many.
  int ranks = 0;                    ///< The size of the world.
  int directs = 0;                  ///< Times that blocks went from rank to rank.
  int sleeps = 0;                   ///< Times that a rank slept on it.
  std::vector<int> looks;           ///< For each operation started: the polls before the first sleep on it.
  bool sleeps_really = false;       ///< Otherwise a sleep only yields the core.
  std::vector<int> slept_us;        ///< The durations asked for.
  int in_vain = 0;                  ///< So many sleeps find nothing before one does.
  int tests = 0;                    ///< The number of all polls.
  std::optional<int> given_up_for;  ///< give_up() was told this.
  int lost_after = 0;               ///< After so many calls of the MPI's test a member is lost; 0: none is.
  std::atomic<int> calls{0};        ///< The number of calls of the MPI's collectives among leaders.
  std::atomic<int> by_others{0};  ///< The number of those that came from another thread than the maker of this object.

  sumac_across_t functions(int leaders, int me) {
    leaders_ = leaders;
    me_ = me;
    sumac_across_t table{};
    table.context = this;
    if (is_network) table.network = reinterpret_cast<sumac_network_t*>(static_cast<coll::Across*>(&tree_));
    if (has_tree) table.tree = reinterpret_cast<sumac_tree_t*>(static_cast<coll::Across*>(&tree_));
    table.no_tree = "there is none";
    table.takes = [](void*, int, std::size_t, const sumac_fold_t*) { return 1; };
    table.start = [](void* self, const sumac_call_t* call, void** request) {
      return static_cast<SlowAcross*>(self)->called()->start(operation_of(*call), request);
    };
    table.start_direct = [](void* self, const sumac_call_t* call, void** request) {
      return static_cast<SlowAcross*>(self)->called()->start_direct(operation_of(*call), request);
    };
    table.test = [](void* self, void* request) {
      return static_cast<SlowAcross*>(self)->called()->test(static_cast<Request*>(request));
    };
    table.error = [](void*) { return "the network is gone"; };
    table.close = [](void* self) { static_cast<SlowAcross*>(self)->close(); };
    return table;
  }

 private:
  /// The same operations, as the tree does them.
  class Tree final : public coll::Across {
   public:
    explicit Tree(SlowAcross& slow) : slow_(slow) {}
    bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override {
      return bytes <= slow_.tree_max && (fold == nullptr || fold->function == nullptr) && index_of(kind) < coll::kKinds;
    }
    std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override {
      if (takes(kind, bytes, fold)) return "";
      return bytes > slow_.tree_max ? "too large" : "no such type";
    }
    bool adds_canonically(coll::Kind) const noexcept override { return slow_.adds_canonically; }
    std::string no_hop() const override { return slow_.no_hop; }
    std::string about_hop(coll::Kind, std::size_t bytes, const coll::Fold*) const override {
      if (!slow_.hop_max) return "";
      return bytes <= *slow_.hop_max ? "by the hop" : "not by the hop: too large";
    }
    bool went_by_hop() const noexcept override { return slow_.hop_max && slow_.last_bytes <= *slow_.hop_max; }
    Progress start(const coll::Operation& operation, void*& request) override {
      return slow_.start(operation, &request) == 0 ? Progress::pending : Progress::failed;
    }
    Progress test(void* request) override {
      const int answer = slow_.test(static_cast<Request*>(request));
      return answer == 0 ? Progress::done : answer == SUMAC_TEAM_PENDING ? Progress::pending : Progress::failed;
    }
    void give_up(std::string_view, int dead) override { slow_.given_up_for = dead; }
    bool has_lost_member() override { return slow_.lost_after > 0 && slow_.calls > slow_.lost_after; }
    void cork() override { ++slow_.corked; }
    void uncork() override { --slow_.corked; }
    Sleep sleep(int us) override { return slow_.sleep(us) > 0 ? Sleep::test : Sleep::in_vain; }
    std::string_view error() const noexcept override { return "the network is gone"; }

   private:
    SlowAcross& slow_;
  };
  struct Request {
    const coll::Operation* operation;
    std::uint64_t number;
    std::uint64_t looks;
    bool is_posted;
    std::vector<int> sends, gets;  ///< For direct blocks: the ranks that still have to be served.
  };

  SlowAcross* called() {
    ++calls;
    by_others += std::this_thread::get_id() != maker_ ? 1 : 0;
    return this;
  }
  int sleep(int us) {
    ++sleeps;
    slept_us.push_back(us);
    has_slept_ = true;
    if (sleeps_really) {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    } else {
      ::sched_yield();
    }
    return ++slept_in_row_ % (in_vain + 1) == 0 ? 1 : 0;
  }
  int start(const coll::Operation& operation, void** request) {
    auto made =
        std::make_unique<Request>(Request{&operation, number_++, looks_least + random_.below(12), false, {}, {}});
    *request = made.get();
    requests_.push_back(std::move(made));
    looks.push_back(0);
    started_corked += corked > 0 ? 1 : 0;
    has_slept_ = false;
    most_in_flight = std::max(most_in_flight, static_cast<int>(requests_.size()));
    return 0;
  }
  int start_direct(const coll::Operation& operation, void** request) {
    // Without an address a buffer would be "in place", and the blocks that come would be sent as well.
    if (operation.in_place()) std::abort();
    auto made = std::make_unique<Request>(Request{&operation, 0, 0, false, {}, {}});
    for (int r = 0; r < ranks; ++r) {
      if (operation.in_blocks.count(r) > 0) made->sends.push_back(r);
      if (operation.out_blocks.count(r) > 0) made->gets.push_back(r);
    }
    if (made->sends.empty() && made->gets.empty()) std::abort();  // A rank without a direct block must not start one.
    ++directs;
    *request = made.get();
    requests_.push_back(std::move(made));
    return 0;
  }
  bool send_one(const coll::Operation& operation, int to) {
    Common::Message& message = common_.messages[rank_][to];
    if (message.length.load(std::memory_order_acquire) != 0) return false;
    const std::size_t bytes = operation.in_blocks.bytes(to);
    if (bytes > kMessageBytes) std::abort();
    std::memcpy(message.data, static_cast<const std::byte*>(operation.in) + operation.in_blocks.offset(to), bytes);
    message.length.store(bytes, std::memory_order_release);
    return true;
  }
  bool get_one(const coll::Operation& operation, int from) {
    Common::Message& message = common_.messages[from][rank_];
    const std::uint64_t length = message.length.load(std::memory_order_acquire);
    if (length == 0) return false;
    if (length != operation.out_blocks.bytes(from)) std::abort();
    std::memcpy(static_cast<std::byte*>(operation.out) + operation.out_blocks.offset(from), message.data, length);
    message.length.store(0, std::memory_order_release);
    return true;
  }
  int test_direct(Request* request) {
    std::erase_if(request->sends, [&](int r) { return send_one(*request->operation, r); });
    std::erase_if(request->gets, [&](int r) { return get_one(*request->operation, r); });
    return request->sends.empty() && request->gets.empty() ? drop(request, 0) : SUMAC_TEAM_PENDING;
  }
  Common::Slot& slot(const Request& request) { return common_.slots[request.number % kSlots]; }
  bool all(const std::atomic<std::uint64_t>* marks, std::uint64_t least) const {
    for (int l = 0; l < leaders_; ++l)
      if (marks[l].load(std::memory_order_acquire) < least) return false;
    return true;
  }
  /// Returns the offset in a leader's slot at which its block for another leader lies.
  std::size_t part(int leader) const {
    return static_cast<std::size_t>(leader) * (kSlotBytes / static_cast<std::size_t>(leaders_));
  }
  static std::size_t own_bytes(const coll::Operation& operation, int me) {
    if (operation.kind == coll::Kind::alltoallv) return 0;
    return operation.kind == coll::Kind::allgatherv ? operation.out_blocks.bytes(me) : operation.bytes;
  }
  void post(Request& request) {
    const coll::Operation& operation = *request.operation;
    std::byte* mine = slot(request).data[me_];
    const void* from = operation.in != nullptr ? operation.in : operation.out;
    if (operation.kind == coll::Kind::allgatherv)
      from = static_cast<std::byte*>(operation.out) + operation.out_blocks.offset(me_);
    if (operation.kind == coll::Kind::bcast) from = operation.out;
    for (int l = 0; operation.kind == coll::Kind::alltoallv && l < leaders_; ++l) {
      const std::size_t bytes = operation.in_blocks.bytes(l);
      if (bytes > part(1)) std::abort();
      std::memcpy(mine + part(l), static_cast<const std::byte*>(operation.in) + operation.in_blocks.offset(l), bytes);
    }
    if (own_bytes(operation, me_) > kSlotBytes) std::abort();
    if (own_bytes(operation, me_) > 0) std::memcpy(mine, from, own_bytes(operation, me_));
    slot(request).posted[me_].store(request.number + 1, std::memory_order_release);
    request.is_posted = true;
  }
  void collect(Request& request) {
    const coll::Operation& operation = *request.operation;
    auto* out = static_cast<std::byte*>(operation.out);
    Common::Slot& from = slot(request);
    if (operation.kind == coll::Kind::bcast && me_ != operation.root)
      std::memcpy(out, from.data[operation.root], operation.bytes);
    if (operation.kind == coll::Kind::allreduce || (operation.kind == coll::Kind::reduce && me_ == operation.root)) {
      std::vector<std::byte> sum(operation.bytes), spare(coll::spare_buffers(leaders_) * operation.bytes);
      // Without the promise, the leaders' values are combined in the opposite order.
      coll::fold_canonical(*operation.fold, leaders_, sum.data(), sum.data(), spare.data(), operation.bytes,
                           [&](int l) { return from.data[adds_canonically ? l : leaders_ - 1 - l]; });
      std::memcpy(out, sum.data(), operation.bytes);
    }
    for (int l = 0; operation.kind == coll::Kind::alltoallv && l < leaders_; ++l)
      std::memcpy(out + operation.out_blocks.offset(l), from.data[l] + part(me_), operation.out_blocks.bytes(l));
    for (int l = 0; operation.kind == coll::Kind::allgatherv && l < leaders_; ++l)
      std::memcpy(out + operation.out_blocks.offset(l), from.data[l], own_bytes(operation, l));
  }
  int test(Request* request) {
    if (!request->sends.empty() || !request->gets.empty()) return test_direct(request);
    Common::Slot& at = slot(*request);
    looks.back() += !has_slept_;
    ++tests;
    if (request->number == fail_at) return drop(request, SUMAC_TEAM_BROKEN);
    if (!request->is_posted) {
      if (request->number >= kSlots && !all(at.finished, request->number - kSlots + 1)) return SUMAC_TEAM_PENDING;
      post(*request);
    }
    if (request->looks > 0) return --request->looks, SUMAC_TEAM_PENDING;
    if (number_ < started_least) return SUMAC_TEAM_PENDING;
    const coll::Operation& operation = *request->operation;
    const bool needs_root = operation.kind == coll::Kind::bcast;
    const bool needs_all = !needs_root && (operation.kind != coll::Kind::reduce || me_ == operation.root);
    if (needs_all && !all(at.posted, request->number + 1)) return SUMAC_TEAM_PENDING;
    if (needs_root && at.posted[operation.root].load(std::memory_order_acquire) < request->number + 1)
      return SUMAC_TEAM_PENDING;
    collect(*request);
    at.finished[me_].store(request->number + 1, std::memory_order_release);
    return drop(request, 0);
  }
  int drop(Request* request, int status) {
    last_bytes = request->operation->bytes;
    std::erase_if(requests_, [&](const auto& one) { return one.get() == request; });
    return status;
  }
  void close() { requests_.clear(); }

  Common& common_;
  Random random_;
  const int rank_;
  const std::thread::id maker_ = std::this_thread::get_id();
  int leaders_ = 0, me_ = -1;
  bool has_slept_ = false;
  int slept_in_row_ = 0;
  std::uint64_t number_ = 0;
  std::vector<std::unique_ptr<Request>> requests_;
  Tree tree_{*this};
};

/// One rank's view of the communicator.
class World {
 public:
  World(Common& memory, int me, int ranks, std::uint64_t seed)
      : rank(me), size(ranks), common(memory), across(memory, me, seed * 977 + static_cast<std::uint64_t>(me)) {}

  const int rank, size;
  Common& common;
  SlowAcross across;
  int allgathers = 0;
  Duration in_oob{};  ///< The time spent in the out-of-band functions, waiting for the others included.
  int hooks = 0;
  bool refuse_across = false;
  int dropped_offers = 0;
  std::string why;  ///< The text of the last create.

  void meet() { ::pthread_barrier_wait(&common.barrier); }

  sumac_team_spec_t spec(const std::vector<sumac_place_t>& places, const sumac_team_options_t* options) {
    sumac_team_spec_t spec{};
    spec.struct_bytes = sizeof spec;
    spec.rank = rank;
    spec.size = size;
    spec.places = places.data();
    spec.options = options;
    spec.oob.context = this;
    spec.oob.allgather = [](void* self, const void* in, void* out, std::size_t bytes) {
      return static_cast<World*>(self)->allgather(in, out, bytes);
    };
    spec.progress = [](void* self) { ++static_cast<World*>(self)->hooks; };
    spec.progress_context = this;
    spec.name = "test";
    // Each rank tells its number, and all agree on the least of 100 + rank.
    spec.offer_across = [](void* self, const int*, int, int, void* offer) {
      std::memcpy(offer, &static_cast<World*>(self)->rank, sizeof(int));
    };
    spec.offer_bytes = sizeof(int);
    spec.drop_offer = [](void* self) { ++static_cast<World*>(self)->dropped_offers; };
    spec.open_across = [](void* self, const int*, int leaders, int me, const void* offers, std::int64_t* agreed,
                          sumac_across_t* table) {
      auto& world = *static_cast<World*>(self);
      for (int r = 0; r < world.size; ++r) {
        int said = -1;
        std::memcpy(&said, static_cast<const std::byte*>(offers) + sizeof said * static_cast<std::size_t>(r),
                    sizeof said);
        if (said != r) std::abort();
      }
      if (world.refuse_across) return -1;
      for (int i = 0; i < SUMAC_AGREED; ++i) agreed[i] = 100 + world.rank;
      world.across.ranks = world.size;
      *table = world.across.functions(leaders, me);
      return 0;
    };
    spec.agree_across = [](void*, const std::int64_t* agreed, sumac_across_t*) {
      for (int i = 0; i < SUMAC_AGREED; ++i)
        if (agreed[i] != 100) return -1;
      return 0;
    };
    spec.open_context = this;
    return spec;
  }
  sumac_team_t* create(const sumac_team_spec_t& spec) {
    sumac_team_t* team = nullptr;
    char text[256] = "";
    const int rc = sumac_team_create(&spec, &team, text, sizeof text);
    why = text;
    return rc == SUMAC_TEAM_OK ? team : nullptr;
  }

 private:
  int allgather(const void* in, void* out, std::size_t bytes) {
    if (bytes * static_cast<std::size_t>(size) > kOobBytes) std::abort();
    ++allgathers;
    const Time began = monotonic_now();
    std::memcpy(common.oob + static_cast<std::size_t>(rank) * bytes, in, bytes);
    meet();
    std::memcpy(out, common.oob, bytes * static_cast<std::size_t>(size));
    meet();
    in_oob += monotonic_now() - began;
    return 0;
  }
};

/// Returns "" or a description of the fault.
using RankTest = std::function<std::string(World& world)>;

inline std::string as_threads(int size, std::uint64_t seed, const RankTest& test) {
  const auto common = make_common(size);
  std::mutex mutex;
  std::string fault;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      World world(*common, rank, size, seed);
      std::string said = test(world);
      const std::lock_guard lock(mutex);
      if (fault.empty() && !said.empty()) fault = fmt::format("rank {}: {}", rank, said);
    });
  for (auto& thread : threads) thread.join();
  return fault;
}

/// Returns the text of each rank, or "signal 9".
inline std::vector<std::string> as_processes(int size, std::uint64_t seed, const RankTest& test) {
  const auto common = make_common(size);
  struct Child {
    pid_t pid;
    UniqueFd text;
  };
  std::vector<Child> children;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    if (::pipe(ends) != 0) return {"no pipe"};
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      std::string said;
      {
        World world(*common, rank, size, seed);
        said = test(world);
      }
      ::_exit(shm::write_all(ends[1], said.data(), said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    children.push_back({pid, UniqueFd(ends[0])});
  }
  std::vector<std::string> texts;
  for (auto& child : children) {
    std::string text;
    char part[512];
    for (ssize_t got; (got = ::read(child.text.get(), part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    texts.push_back(WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : text);
  }
  return texts;
}

/// Options as if these variables were set, whatever the test's own environment has.
inline OptionsHandle options_with(std::vector<std::pair<std::string, std::string>> variables) {
  const Source source{"test", [variables](std::string_view name) -> std::optional<std::string> {
                        for (const auto& [key, value] : variables)
                          if (key == name) return value;
                        return std::nullopt;
                      }};
  OptionsHandle handle;
  handle.options = load<Options>(kOptions, source).value();
  handle.levels = topo::parse_levels(handle.options.sbgp, handle.options.bcol).value();
  handle.share = machine::own_cpu_share();
  digest(handle);
  return handle;
}
inline const sumac_team_options_t* as_c(const OptionsHandle& handle) {
  return reinterpret_cast<const sumac_team_options_t*>(&handle);
}

inline const sumac_call_t* c_call(const shm::Exercise& exercise) { return as_c(exercise.operation()); }

inline std::string explained(const sumac_team_t* team) { return whole_explanation(*team); }

/// Returns `hosts` hosts of `sockets` sockets with `cores` ranks each. `cyclic`: rank 0 on host 0, rank 1 on host 1,
/// ...
inline std::vector<sumac_place_t> places_of(int hosts, int sockets, int cores, bool cyclic = false) {
  std::vector<sumac_place_t> places(static_cast<std::size_t>(hosts * sockets * cores));
  for (int r = 0; r < hosts * sockets * cores; ++r) {
    const int host = cyclic ? r % hosts : r / (sockets * cores);
    const int local = cyclic ? r / hosts : r % (sockets * cores);
    places[static_cast<std::size_t>(r)] = {host, local / cores, local / cores, local};
  }
  return places;
}

}  // namespace sumac::team
