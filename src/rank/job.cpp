// The tree's job: one sharp_coll context per process, from MPI_COMM_WORLD's first moment to the binding's last. It
// exists only if the user wants the tree and MPI_COMM_WORLD spans enough hosts, because no other communicator can
// span more.
#include "rank/job.h"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "client/tree/tree.h"
#include "rank/say.h"
#include "recorder/recorder.hpp"
#include "sharp/api/sumac_ext.h"

namespace {

using std::chrono::steady_clock;

/// In MPI_Finalize a member may be late, but not for long, because it has nothing left to compute.
constexpr std::chrono::seconds kLeaveWait{30}, kLeaveSay{5};
/// A process that nobody needs waits only until its own Leave has reached the node.
constexpr std::chrono::seconds kLeaveGo{1};

struct Leaving {
  sharp_coll_comm* group;
  void* request;  ///< Null: there is nothing to wait for.
};

struct Job {
  sharp_coll_context* context = nullptr;
  sumac_job_spec spec{};  ///< libsharp_coll may call through its world until the job has ended.
  int refused_with = 0;   ///< libsharp_coll's status of the latest job that was refused.
  bool closing = false;   ///< MPI is being shut down, so it must not be called any more.
  std::mutex lock;        ///< Guards the list.
  std::vector<Leaving> leaving;
};
/// Never destroyed: a program may end without MPI_Finalize.
Job& job = *new Job;

thread_local bool drives = true;

/// libsharp_coll calls this while it waits, so that messages of MPI advance whatever the collective waits for. Only
/// blocking calls wait, and a progress thread makes none.
int drive_mpi() {
  if (!drives) return 0;
  job.spec.progress(job.spec.progress_context);
  return 0;
}

/// The job ends while MPI is being shut down: an exchange that is asked for then returns an error.
template <auto Function, class... Arguments>
int exchange(void* context, Arguments... arguments) {
  const auto* comm = static_cast<const sumac_communicator*>(context);
  return !job.closing && (comm->*Function)(comm->context, arguments...) == 0 ? 0 : -1;
}

/// Returns this process's index among its host's leaders, if it is or may be one: the number of its domain, or of
/// itself, on the host.
int find_channel(const sumac_job_spec& spec) {
  const int leaders = sumac_team_options_leaders(spec.options), me = spec.world.rank;
  int channel = 0;
  if (leaders == SUMAC_LEADERS_OF_DOMAINS) {
    (void)sumac_team_domains(spec.places, spec.world.size, me, &channel);
  } else if (leaders == SUMAC_LEADERS_ALL) {
    for (int rank = 0; rank < me; ++rank) channel += spec.places[rank].host == spec.places[me].host ? 1 : 0;
  }
  return channel;
}

int begin(const sumac_job_spec& given) {
  sharp_coll_init_spec spec{};
  spec.job_id = given.id;
  spec.world_rank = given.world.rank;
  spec.world_size = given.world.size;
  spec.progress_func = drive_mpi;
  spec.config.ib_dev_list = given.settings->devices;
  spec.config.user_progress_num_polls = given.settings->polls;
  spec.config.coll_timeout = -1;
  spec.oob_colls = {.bcast = exchange<&sumac_communicator::bcast, void*, int, int>,
                    .gather = exchange<&sumac_communicator::gather, int, void*, void*, int>};
  spec.oob_ctx = &job.spec.world;
  spec.group_channel_idx = find_channel(given);
  spec.world_local_rank = given.local_rank;
  spec.enable_thread_support = given.threads;
  sumac_tree_has_team();
  return sharp_coll_init(&spec, &job.context);
}

void say_refused(int level, int status) {
  const bool first = job.spec.world.rank == 0;
  if (first)
    SUMAC_SAY("Failed to initialize SHArP collectives:%s(%d)  job ID:%" PRIu64, sharp_coll_strerror(status), status,
              job.spec.id);
  if (level >= HCOLL_FORCE) {
    if (job.spec.world.abort == nullptr) return;  // The caller sees that there is no job, and ends by its own means.
    sumac_communicator_abort(&job.spec.world);
  }
  if (first) SUMAC_SAY("SHArP: continuing without sharp (HCOLL_ENABLE_SHARP=1: use it if it is there)");
}

/// Called with the lock held, or by the only thread left.
void watch_leaves(bool any) {
  if (job.spec.watch_leaves != nullptr) job.spec.watch_leaves(any);
}

/// Frees the groups that have left, and returns their number. Called with the lock held.
int reap() {
  return static_cast<int>(std::erase_if(job.leaving, [](const Leaving& one) {
    if (one.request != nullptr) {
      if (sumac_req_status(one.request, nullptr, 0) == 0) return false;
      sharp_coll_req_free(one.request);
    }
    sharp_coll_comm_destroy(one.group);
    return true;
  }));
}

void sleep_until_something_happens(int ms) {
  pollfd on{sumac_coll_wait_fd(job.context), POLLIN, 0};
  if (sumac_coll_arm(job.context) == 1) (void)::poll(&on, 1, ms);  // The caller looks again in any case.
}

void wait_for_leaves() {
  const sumac_job_spec& spec = job.spec;
  const auto began = steady_clock::now();
  for (bool has_said = spec.waits_long == nullptr;; sleep_until_something_happens(10)) {
    {
      const std::lock_guard guard(job.lock);
      reap();
      if (job.leaving.empty()) return;
    }
    const auto waited = steady_clock::now() - began;
    if (spec.can_go && waited > kLeaveGo) return;
    if (!has_said && waited > kLeaveSay) {
      spec.waits_long(spec.waits_context);
      has_said = true;
    }
    if (spec.gives_up != nullptr && spec.gives_up(spec.waits_context)) return;
    if (waited > kLeaveWait)
      return SUMAC_SAY("SHArP: a group was not left by all its members in %d s: ending the job all the same",
                       static_cast<int>(kLeaveWait.count()));
  }
}

}  // namespace

/// Rank 0 prints the reason and ends the job. The others wait to be ended with it and print nothing: they would repeat the
/// reason, or end the job before rank 0 has printed it. They go on only where rank 0 does not come here because it lacks the
/// binding.
void sumac_communicator_abort(const sumac_communicator* comm) {
  constexpr int kWaitMs = 10'000;
  if (comm->rank != 0) (void)::poll(nullptr, 0, kWaitMs);
  SUMAC_SAY("SHArP: Fallback disabled, exiting..");
  comm->abort(comm->context);
  std::exit(1);
}

void sumac_job_drives(bool now) { drives = now; }
bool sumac_job_stands() { return job.context != nullptr; }
const char* sumac_job_why_refused() { return sharp_coll_strerror(job.refused_with); }
sharp_coll_context* sumac_job_context() { return job.context; }
std::uint64_t sumac_job_id() { return job.spec.id; }

const char* sumac_job_refusal(const hcoll_settings* settings, int hosts) {
  if (settings->level == HCOLL_OFF) return "HCOLL_ENABLE_SHARP=0";
  return hosts < settings->hosts_min ? "fewer hosts than HCOLL_SHARP_NP asks for" : nullptr;
}

bool sumac_job_serves(const hcoll_settings* settings, int hosts) {
  return hosts >= settings->hosts_min && sumac_job_stands();
}

std::uint64_t sumac_job_draw_id() {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) return 0;
  return id >> 1 | 1;  // Positive however it is printed, and never 0.
}

int sumac_job_begin(const sumac_job_spec* spec) {
  job.spec = *spec;
  sumac::recorder::set_job(spec->id, spec->world.rank, spec->world.size);
  job.closing = false;  // An earlier job of this process may have ended.
  if (spec->id == 0) return -1;
  if (const int status = begin(*spec); status < 0) {
    job.context = nullptr;
    job.refused_with = status;
    say_refused(spec->settings->level, status);
    job.spec.id = 0;  // The last line must not name a job that nobody has.
  }
  return 0;
}

int sumac_group_make(const sumac_communicator* leaders, sharp_coll_comm** group_p) {
  sharp_coll_comm_init_spec spec{};
  spec.rank = leaders->rank;
  spec.size = leaders->size;
  spec.oob_ctx = const_cast<sumac_communicator*>(leaders);  // exchange() only reads it.
  const int status = sharp_coll_comm_init(job.context, &spec, group_p);
  if (status < 0) *group_p = nullptr;
  return status;
}

void sumac_group_limits(const hcoll_settings* settings, sharp_coll_comm* group, std::int64_t* limits) {
  sumac_tree_limits(group, limits, SUMAC_COLLS);
  if (settings->level == HCOLL_FORCE_ALL)
    std::replace_if(
        limits, limits + SUMAC_COLLS, [](std::int64_t limit) { return limit >= 0; }, INT64_MAX);
  else if (settings->allreduce_bytes_max >= 0)
    limits[SUMAC_COLL_ALLREDUCE] = settings->allreduce_bytes_max;
}

int sumac_job_reap() {
  const std::unique_lock guard(job.lock, std::try_to_lock);
  if (!guard) return 0;
  const int done = reap();
  if (job.leaving.empty()) watch_leaves(false);
  return done;
}

void sumac_group_leave(sharp_coll_comm* group) {
  void* request = nullptr;
  // A failure leaves nothing to wait for: the tree is gone, or the group never existed.
  if (sumac_comm_leave_nb(group, &request) < 0) request = nullptr;
  const std::lock_guard guard(job.lock);
  job.leaving.push_back({group, request});
  if (!job.closing) watch_leaves(true);
}

void sumac_job_end() {
  job.closing = true;
  sumac::recorder::forget_job();
  if (job.context == nullptr) return;
  watch_leaves(false);
  wait_for_leaves();
  {
    const std::lock_guard guard(job.lock);
    job.leaving.clear();  // Groups that not all members have left end with the job: the next one must not ask for them.
  }
  sharp_coll_finalize(job.context);
  job.context = nullptr;
}
