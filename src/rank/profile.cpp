#include "rank/profile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/boot_id.hpp"
#include "base/c_text.hpp"
#include "base/fd.hpp"
#include "base/fnv.hpp"
#include "rank/profile_table.hpp"
#include "rank/record.h"
#include "rank/say.h"
#include "rank/trace.hpp"

using namespace sumac::rank;

namespace {

struct Mine {
  const sumac_runtime& runtime;
  sumac_communicator world;
  std::string host;
  int hosts;
  std::int64_t start_ns = 0;
  std::mutex lock;  ///< Guards the members below.
  ProfileTable table;
  Trace trace;
};
/// Made by sumac_profile_begin(), and never destroyed: a program may end without MPI_Finalize.
Mine* mine = nullptr;

const sumac_communicator& world() { return mine->world; }
const char* folder() { return mine->runtime.settings->trace; }

std::uint16_t own_thread() {
  static std::atomic<unsigned> threads{0};
  thread_local const unsigned number = threads.fetch_add(1);
  return static_cast<std::uint16_t>(std::min<unsigned>(number, UINT16_MAX));
}

// ---- MPI_Finalize: each function returns 0, or the code of the MPI's function that failed ----

int sum(std::int64_t* values, int count) { return world().sum(world().context, values, count); }
int min(std::int64_t* values, int count) { return world().min(world().context, values, count); }

/// Finds for each value the largest one of all ranks and the lowest rank that has it.
int find_largest(std::vector<std::int64_t>& values, std::vector<std::int64_t>& who) {
  const auto own = values;
  for (auto& value : values) value = -value;
  const int count = static_cast<int>(values.size()), rc = min(values.data(), count);
  who.clear();
  for (auto& value : values) {
    value = -value;
    who.push_back(own[who.size()] == value ? world().rank : INT64_MAX);
  }
  return rc != 0 ? rc : min(who.data(), count);
}

/// Every rank calls it with the same rank.
int fill(ProfileRank& slowest, std::int64_t ns, std::int64_t rank) {
  slowest.ns = ns;
  slowest.rank = static_cast<int>(rank);
  sumac::copy_text(mine->host, slowest.host, sizeof slowest.host);
  return world().bcast(world().context, slowest.host, sizeof slowest.host, slowest.rank);
}

/// All ranks have the same sums, so all choose the same rows.
int fill_rows(Profile& profile) {
  const auto all = std::make_unique<ProfileTable>(mine->table);
  std::vector<std::int64_t> most, who;
  for (std::size_t i = 0; i < kProfileCells; ++i) most.push_back(mine->table.flat()[i].ns);
  int rc = sum(&all->flat()->calls, static_cast<int>(sizeof(ProfileTable) / sizeof(std::int64_t)));
  if (rc == 0) rc = find_largest(most, who);
  if (rc != 0) return rc;
  profile.total = all->total();
  profile.is_exact = mine->runtime.settings->profile > 1;
  static_cast<ProfileRows&>(profile) = profile_rows(*all, profile.is_exact ? kProfileCells : kProfileRowsMax);
  for (auto& row : profile.rows)
    if (rc == 0) rc = fill(row.slowest, most[row.cell], who[row.cell]);
  return rc;
}

int fill(Profile& profile, std::int64_t wall_ns) {
  profile.ranks = world().size;
  profile.hosts = mine->hosts;
  profile.next = mine->runtime.next;
  const std::int64_t own_ns = mine->table.total().ns;
  std::int64_t least[2] = {own_ns, -wall_ns};
  std::vector<std::int64_t> most{own_ns}, who;
  profile.wall_ns_sum = wall_ns;
  int rc = sum(&profile.wall_ns_sum, 1);
  if (rc == 0) rc = min(least, 2);
  if (rc == 0) rc = find_largest(most, who);
  if (rc != 0) return rc;
  profile.ns_min = least[0];
  profile.wall_ns_max = -least[1];
  rc = fill(profile.slowest, most[0], who[0]);
  return rc != 0 ? rc : fill_rows(profile);
}

// ---- the trace ----

/// CLOCK_MONOTONIC is the same for all processes since the kernel began, so ranks that share the kernel share the zero of
/// their traces: the earliest of their starts. Other kernels have other clocks; their starts lie a barrier apart. The host's name
/// stands for the kernel where /proc is not there.
struct Start {
  std::uint64_t kernel = 0;
  std::int64_t ns = 0;
};

/// Returns the zero of this rank's trace.
std::int64_t agree_on_zero() {
  const std::string boot = sumac::boot_id();
  Start own{sumac::fnv1a(boot.empty() ? mine->host : boot), mine->start_ns};
  std::vector<Start> all(static_cast<std::size_t>(world().size));
  constexpr int kBytes = sizeof(Start);
  if (world().gather(world().context, 0, &own, all.data(), kBytes) != 0 ||
      world().bcast(world().context, all.data(), kBytes * world().size, 0) != 0)
    return mine->start_ns;
  for (const Start& each : all)
    if (each.kernel == own.kernel) own.ns = std::min(own.ns, each.ns);
  return own.ns;
}

/// Writes a new file, which takes the name `name` in the folder once it is whole. In a folder that others may write, the
/// name may be a link to a file of ours elsewhere: a rename replaces the link. Returns 0, or the errno of what failed;
/// then no file of ours is left.
int write_file(const std::string& name, std::int64_t zero_ns, std::int64_t end_ns) {
  if (::mkdir(folder(), 0777) != 0 && errno != EEXIST) return errno;
  const sumac::UniqueFd in(::open(folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) return errno;
  const std::string fresh = fmt::format(".{}.{}", name, ::getpid());
  const int file = ::openat(in.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int failed = 0;
  if (std::FILE* out = ::fdopen(file, "w"); out != nullptr) {
    mine->trace.write({world().rank, ::getpid(), mine->host.c_str(), mine->runtime.next, zero_ns, end_ns},
                      [&](std::string_view text) {
                        if (failed == 0 && std::fwrite(text.data(), 1, text.size(), out) != text.size()) failed = errno;
                      });
    if (std::fclose(out) != 0 && failed == 0) failed = errno;
  } else {
    failed = errno;
    (void)::close(file);
  }
  if (failed == 0 && ::renameat(in.get(), fresh.c_str(), in.get(), name.c_str()) != 0) failed = errno;
  if (failed != 0) (void)::unlinkat(in.get(), fresh.c_str(), 0);
  return failed;
}

void write_trace(std::int64_t end_ns) {
  const std::string name = fmt::format("sumac-trace-{}.json", world().rank);
  const int failed = write_file(name, agree_on_zero(), end_ns);
  std::int64_t sums[2] = {failed != 0 ? 1 : 0, static_cast<std::int64_t>(mine->trace.dropped())};
  std::int64_t first = failed != 0 ? world().rank : INT64_MAX;
  if (sum(sums, 2) != 0 || min(&first, 1) != 0) {
    SUMAC_SAY("SUMAC_TRACE: the MPI's exchange failed");
  } else if (sums[0] == 0 && world().rank == 0) {
    std::string lost;
    if (sums[1] > 0)
      lost = fmt::format("; {} events were dropped, the oldest: a rank keeps its last {}", sums[1], Trace::kEventsMax);
    std::fprintf(stderr, "sumac: trace: %d files %s/sumac-trace-RANK.json for https://ui.perfetto.dev%s\n",
                 world().size, folder(), lost.c_str());
  } else if (first == world().rank) {
    SUMAC_SAY(
        "SUMAC_TRACE=%s: %d of %d ranks wrote no trace; this one cannot write %s/%s: %s: name a folder that every rank "
        "may write to",
        folder(), static_cast<int>(sums[0]), world().size, folder(), name.c_str(), std::strerror(failed));
  }
}

}  // namespace

std::int64_t sumac_profile_now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

void sumac_profile_begin(const sumac_runtime* runtime, const sumac_communicator* world_ranks, const char* host,
                         int hosts) {
  mine = new Mine{.runtime = *runtime, .world = *world_ranks, .host = host, .hosts = hosts};
  (void)world().barrier(world().context);  // The hosts' clocks are compared by the end of it.
  mine->start_ns = sumac_profile_now();
}

bool sumac_profile_traces() { return folder() != nullptr; }

void sumac_profile_add(const sumac_profile_call* call, const char* communicator) {
  const std::int64_t ns = sumac_profile_now() - call->start_ns;
  const std::lock_guard guard(mine->lock);
  mine->table.count(call->coll, call->form, call->way, call->bytes, ns);
  if (sumac_profile_traces())
    mine->trace.add({call->start_ns, ns, call->bytes, mine->trace.name(communicator), own_thread(),
                     static_cast<std::uint8_t>(call->coll), static_cast<std::uint8_t>(call->form),
                     static_cast<std::uint8_t>(call->way)});
}

int sumac_profile_way_of(const std::uint64_t ways[SUMAC_WAYS], std::uint64_t passed, int coll, std::uint64_t bytes) {
  for (int way = 0; way < SUMAC_WAYS; ++way)
    if (ways[way] > 0) return way;
  return passed > 0 || bytes > 0 || coll == SUMAC_COLL_BARRIER ? int{SUMAC_WAY_PASS} : int{SUMAC_PROFILE_NO_DATA};
}

void sumac_profile_end() {
  const std::int64_t end_ns = sumac_profile_now();
  if (mine->runtime.settings->profile != 0) {
    Profile profile;
    if (fill(profile, end_ns - mine->start_ns) != 0)
      SUMAC_SAY("SUMAC_PROFILE: the MPI's exchange failed");
    else if (world().rank == 0)
      std::fputs(to_string(profile).c_str(), stderr);  // One call: lines of other ranks do not mix with the table.
  }
  if (sumac_profile_traces()) write_trace(end_ns);
  mine->trace = Trace();
}
