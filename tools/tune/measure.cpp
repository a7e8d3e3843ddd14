#include "tools/tune/measure.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/tell.hpp"
#include "machine/cpu_share.hpp"
#include "shm/segment/segment.hpp"
#include "shm/single/cma.hpp"
#include "shm/task.hpp"

namespace sumac::tools {
namespace {

constexpr int kRounds = 9, kRoundsCrowded = 5;  // The rounds of each algorithm at one size.
// From this size on the input is written again before each call, as programs do.
constexpr std::size_t kRefillFrom = 16 * 1024;
constexpr std::size_t kBytesMin = 64, kBytesMax = 4 << 20;
constexpr std::size_t kCurvesMax = 8, kSizesMax = 32;

/// The collectives whose choice depends on a size that all ranks know.
constexpr coll::Kind kKinds[] = {coll::Kind::allreduce,
                                 coll::Kind::reduce,
                                 coll::Kind::bcast,
                                 coll::Kind::allgather,
                                 coll::Kind::allgatherv,
                                 coll::Kind::alltoall,
                                 coll::Kind::reduce_scatter_block,
                                 coll::Kind::gather,
                                 coll::Kind::scatter,
                                 coll::Kind::scan,
                                 coll::Kind::exscan};
constexpr std::size_t kKindCount = std::size(kKinds);

/// With more ranks a block becomes large earlier: at 4 MiB, 16 ranks measure the memory and no algorithm.
std::vector<std::size_t> sizes(int ranks) {
  std::vector<std::size_t> out;
  const std::size_t most = std::min(kBytesMax, 4 * kBytesMax / static_cast<std::size_t>(ranks));
  for (std::size_t bytes = kBytesMin; bytes <= most; bytes *= 2) out.push_back(bytes);
  return out;
}

std::vector<const shm::Algorithm*> algorithms_of(coll::Kind kind, const shm::Group& group) {
  std::vector<const shm::Algorithm*> out;
  for (const auto& algorithm : shm::algorithms())
    if (algorithm.kind == kind && (algorithm.usable == nullptr || algorithm.usable(group))) out.push_back(&algorithm);
  return out;
}

/// Memory beside the segment, zero at the beginning: ranks find the segment through it and store their times there.
struct Scratch {
  std::atomic<int> has_segment;
  std::atomic<int> attached;
  shm::Handle handle;
  alignas(64) std::atomic<std::uint64_t> ball;
  double nanos[kTunedRanksMax];
  double ns[kKindCount][kCurvesMax][kSizesMax];
  double round_trip_ns;
  bool single_copy;  ///< Determined as by a job's ranks; the built-in choice depends on it.
};

/// Returns the lower quartile, because a round in which another process had the core, or the machine was in its slow
/// state, does not show the algorithm's time.
double typical(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// One rank's view while it measures.
class Rank {
 public:
  Rank(const TunedTeam& team, shm::Group& group, Scratch& scratch, int rank, int report)
      : team_(team), group_(group), scratch_(scratch), rank_(rank), report_(report) {
    fold_.kernel = reduce::kernel_for(Op::sum, Dtype::float32);
    fold_.element_bytes = sizeof(float);
    const std::size_t room = kBytesMax * static_cast<std::size_t>(team.ranks);
    in_.resize(room), out_.resize(room);
  }

  bool measure() {
    const auto every = sizes(team_.ranks);
    const shm::Tuning built_in = group_.tuning();
    std::vector<double> trips;
    for (std::size_t c = 0; c < kKindCount; ++c) {
      const auto algorithms = algorithms_of(kKinds[c], group_);
      for (std::size_t s = 0; s < every.size(); ++s) {
        std::vector<std::vector<double>> turns(algorithms.size());
        for (int round = -1; round < (team_.crowded ? kRoundsCrowded : kRounds); ++round) {
          for (std::size_t a = 0; a < algorithms.size(); ++a) {
            shm::Tuning forced = built_in;
            if (!forced.force(kKinds[c], algorithms[a]->name)) return false;
            group_.set_tuning(forced);
            const double ns = algorithms[a]->bytes_max < every[s] ? 0 : time_calls(kKinds[c], every[s]);
            if (ns < 0) return false;
            if (round >= 0) turns[a].push_back(ns);
          }
        }
        if (rank_ == 0)
          for (std::size_t a = 0; a < algorithms.size(); ++a) scratch_.ns[c][a][s] = typical(turns[a]);
        trips.push_back(round_trip_ns());
        if (!tell_progress(static_cast<double>(c * every.size() + s + 1) /
                           static_cast<double>(kKindCount * every.size())))
          return false;
      }
    }
    if (rank_ == 0) scratch_.round_trip_ns = typical(trips);
    return true;
  }

 private:
  int iterations(std::size_t bytes) const {
    if (team_.crowded) return bytes <= 4096 ? 20 : bytes <= 65536 ? 8 : 3;
    return bytes <= 4096 ? 400 : bytes <= 65536 ? 60 : static_cast<int>(std::max<std::size_t>(3, (8 << 20) / bytes));
  }

  bool barrier() {
    const coll::Operation operation;
    return shm::run(group_, operation) == Errc::ok;
  }

  /// Returns the mean over ranks of a call, or -1 if the group is broken. Small calls run back to back; before each
  /// large one its input is written again, and a barrier precedes each call in which a rank may run ahead.
  double time_calls(coll::Kind kind, std::size_t bytes) {
    const int n = team_.ranks, times = iterations(bytes);
    std::vector<int> counts(static_cast<std::size_t>(n), static_cast<int>(bytes)), displacements;
    for (int m = 0; m < n; ++m) displacements.push_back(m * static_cast<int>(bytes));
    const coll::Blocks blocks{counts.data(), displacements.data(), 1};
    coll::Operation operation{.kind = kind,
                              .in = in_.data(),
                              .out = out_.data(),
                              .bytes = bytes,
                              .fold = &fold_,
                              .in_blocks = blocks,
                              .out_blocks = blocks};
    const coll::Collective& row = coll::collective(kind);
    const bool alone = !row.waits_for_all, refill = bytes >= kRefillFrom;
    std::byte* input = kind == coll::Kind::bcast ? out_.data() : in_.data();
    const std::size_t input_bytes = row.gives == coll::Share::blocks ? bytes * static_cast<std::size_t>(n) : bytes;
    if (!barrier()) return -1;
    Duration timed{};
    Time from = monotonic_now();
    for (int i = 0; i < times; ++i) {
      if (refill) std::memset(input, i & 1, input_bytes);
      if (alone && !barrier()) return -1;
      if (alone || refill) from = monotonic_now();
      if (shm::run(group_, operation) != Errc::ok) return -1;
      if (alone || refill) timed += monotonic_now() - from;
    }
    if (!alone && !refill) timed = monotonic_now() - from;
    scratch_.nanos[rank_] = static_cast<double>(timed.count()) / times;
    if (!barrier()) return -1;
    double sum = 0;
    for (int m = 0; m < n; ++m) sum += scratch_.nanos[m];
    return barrier() ? sum / n : -1;
  }

  double round_trip_ns() {
    constexpr int kTrips = 300;
    if (team_.crowded || rank_ > 1) return 0;
    const Time from = monotonic_now();
    for (int i = 0; i < kTrips; ++i) {
      const std::uint64_t mine = ball_ + 2 * static_cast<std::uint64_t>(i) + static_cast<std::uint64_t>(rank_);
      while (scratch_.ball.load(std::memory_order_acquire) != mine) continue;
      scratch_.ball.store(mine + 1, std::memory_order_release);
    }
    ball_ += 2 * kTrips;
    return static_cast<double>((monotonic_now() - from).count()) / kTrips;
  }

  /// Writes one byte to the pipe per size: returns false if nobody reads any more.
  bool tell_progress(double share) const {
    if (rank_ != 0) return true;
    const auto percent = static_cast<unsigned char>(share * 100);
    return ::write(report_, &percent, 1) == 1;
  }

  const TunedTeam& team_;
  shm::Group& group_;
  Scratch& scratch_;
  int rank_, report_;
  std::uint64_t ball_ = 0;
  coll::Fold fold_;
  std::vector<std::byte> in_, out_;
};

shm::Shape shape_of(const TunedTeam& team) {
  shm::Shape shape;
  shape.members = team.ranks;
  shape.group_sizes = {team.ranks};
  return shape;
}

shm::Tuning built_in_tuning(const TunedTeam& team, const shm::Shape& shape, bool single_copy = false) {
  return shm::default_tuning({.size = team.ranks,
                              .crowded = team.crowded,
                              .eager_bytes = shape.eager_bytes,
                              .large_bytes = shape.large_bytes,
                              .single_copy = single_copy});
}

/// Determines the facts that a job's ranks determine when they make a group.
Errc learn(shm::Group& group, Scratch& scratch, int rank) {
  if (const Errc code = shm::agree_on_single_copy(group); code != Errc::ok) return code;
  if (rank == 0) scratch.single_copy = group.turning.single_copy;
  return Errc::ok;
}

/// Shares the segment like the ranks of a job: the first makes it, the others attach.
Result<shm::Segment> share_segment(const TunedTeam& team, Scratch& scratch, int rank) {
  if (rank == 0) {
    auto made = shm::Segment::create(shape_of(team), shm::Backing::memfd);
    if (made) scratch.handle = made->handle();
    scratch.has_segment.store(made ? 1 : -1, std::memory_order_release);
    return made;
  }
  while (scratch.has_segment.load(std::memory_order_acquire) == 0) sched_yield();
  if (scratch.has_segment.load(std::memory_order_acquire) < 0) return fail(Errc::io, "rank 0 has no segment");
  return shm::Segment::attach(scratch.handle, shape_of(team), rank);
}

int rank_main(const TunedTeam& team, double cpus, Scratch& scratch, int rank, int report,
              const std::vector<int>& cores) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A terminal's Ctrl-C reaches the ranks as well, but the first process handles it for all.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  if (!team.crowded) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(rank)]), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return std::perror("sumac: tune: pin a rank"), 1;
  }
  auto segment = share_segment(team, scratch, rank);
  if (!segment) return tell("sumac: tune: {}", segment.error().context), 1;
  scratch.attached.fetch_add(1, std::memory_order_acq_rel);
  while (scratch.attached.load(std::memory_order_acquire) < team.ranks) sched_yield();
  segment->all_attached();
  const shm::WaitSettings waiting{.ranks_on_host = team.ranks, .cpus = cpus};
  std::vector<shm::Member> members;
  for (int m = 0; m < team.ranks; ++m) members.push_back({m, m});
  shm::Group group(*segment, 0, members, rank, waiting, built_in_tuning(team, segment->shape()));
  if (learn(group, scratch, rank) == Errc::ok && Rank(team, group, scratch, rank, report).measure()) return 0;
  if (group.broken() != Errc::ok) tell("sumac: tune: rank {}: {}", rank, group.error());
  return 1;
}

struct Unmap {
  void operator()(Scratch* scratch) const noexcept { munmap(scratch, sizeof *scratch); }
};

/// The forked ranks; none of them outlives this object.
class Children {
 public:
  ~Children() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  void add(pid_t pid) { pids_.push_back(pid); }
  /// Returns true once a rank has failed; ranks that ended well are forgotten.
  bool failed() {
    bool any = false;
    std::erase_if(pids_, [&](pid_t pid) {
      int status = 0;
      if (waitpid(pid, &status, WNOHANG) != pid) return false;
      any = any || status != 0;
      return true;
    });
    return any;
  }
  /// Waits for the remaining ranks.
  bool end_well() {
    bool well = true;
    for (const pid_t pid : pids_) {
      int status = 0;
      well = waitpid(pid, &status, 0) == pid && status == 0 && well;
    }
    pids_.clear();
    return well;
  }

 private:
  std::vector<pid_t> pids_;
};

TeamTimes collect(const TunedTeam& team, const Scratch& scratch, const shm::Group& shape_only) {
  TeamTimes out;
  out.round_trip_ns = scratch.round_trip_ns;
  const auto every = sizes(team.ranks);
  const auto tuning = built_in_tuning(team, shape_of(team), scratch.single_copy);
  for (std::size_t c = 0; c < kKindCount; ++c) {
    const auto algorithms = algorithms_of(kKinds[c], shape_only);
    if (algorithms.size() < 2) continue;
    Curves curves;
    curves.bytes = every;
    for (std::size_t a = 0; a < algorithms.size(); ++a)
      curves.curves.push_back({std::string(algorithms[a]->name), {scratch.ns[c][a], scratch.ns[c][a] + every.size()}});
    for (const std::size_t bytes : every) {
      const auto at = std::find(algorithms.begin(), algorithms.end(), tuning.pick(kKinds[c], bytes));
      curves.built_in.push_back(static_cast<std::size_t>(at - algorithms.begin()) % algorithms.size());
    }
    out.collectives.emplace_back(kKinds[c], std::move(curves));
  }
  return out;
}

}  // namespace

std::vector<TunedTeam> tuned_teams(int cores) {
  std::vector<TunedTeam> teams;
  for (int ranks = 2; ranks <= std::min(cores, kTunedRanksMax); ranks *= 2) teams.push_back({ranks, false});
  for (int ranks = std::max(2, 2 * cores); ranks <= 16; ranks *= 2) teams.push_back({ranks, true});
  return teams;
}

Result<TeamTimes> measure_team(const TunedTeam& team, double cpus, const std::function<void(double)>& progress,
                               const std::atomic<bool>& stop) {
  void* memory = mmap(nullptr, sizeof(Scratch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno("mmap");
  const std::unique_ptr<Scratch, Unmap> scratch(new (memory) Scratch{});
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  const UniqueFd read_end{ends[0]};
  UniqueFd write_end{ends[1]};
  std::vector<int> cores;
  for (const auto cpu : machine::own_affinity().numbers()) cores.push_back(cpu);
  if (!team.crowded && static_cast<int>(cores.size()) < team.ranks)
    return fail(Errc::unsupported, "{} ranks need as many cores", team.ranks);
  Children children;
  for (int rank = 0; rank < team.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) return fail_errno("fork");
    if (pid == 0) _exit(rank_main(team, cpus, *scratch, rank, write_end.get(), cores));
    children.add(pid);
  }
  write_end.reset();
  // The pipe ends when the last rank has ended; a rank that fails early is found by checking now and then.
  for (;;) {
    if (stop.load()) return fail(Errc::interrupted, "interrupted");
    pollfd watched{read_end.get(), POLLIN, 0};
    const int ready = poll(&watched, 1, 200);
    if (ready < 0 && errno != EINTR) return fail_errno("poll");
    if (children.failed()) return fail(Errc::internal, "a rank failed (its messages are above)");
    if (ready <= 0) continue;
    unsigned char percent = 0;
    const ssize_t got = read(read_end.get(), &percent, 1);
    if (got == 0) break;
    if (got == 1) progress(percent / 100.0);
  }
  if (!children.end_well()) return fail(Errc::internal, "a rank failed (its messages are above)");
  // A group of the same shape shows which algorithms such a group has.
  auto segment = shm::Segment::create(shape_of(team), shm::Backing::memfd);
  if (!segment) return tl::unexpected(segment.error());
  std::vector<shm::Member> members;
  for (int m = 0; m < team.ranks; ++m) members.push_back({m, m});
  const shm::WaitSettings waiting{.ranks_on_host = team.ranks, .cpus = cpus};
  shm::Group group(*segment, 0, members, 0, waiting, built_in_tuning(team, segment->shape()));
  group.turning.single_copy = scratch->single_copy;
  if (scratch->single_copy && team.ranks == 2) group.decisions = std::make_unique<shm::Decisions>();
  return collect(team, *scratch, group);
}

}  // namespace sumac::tools
