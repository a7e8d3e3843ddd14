#include "bindings/pmpi/requests.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/errors.hpp"
#include "bindings/pmpi/job.hpp"
#include "bindings/pmpi/ops.hpp"
#include "bindings/pmpi/progress.hpp"
#include "rank/progress.h"

namespace sumac::pmpi {
namespace {

#if defined(OPEN_MPI)
constexpr bool kTestsPersistent = true;  ///< The MPI's own tests of arrays are right for its persistent collectives.
#else
constexpr bool kTestsPersistent = false;
#endif

std::mutex lock;
std::unordered_map<std::uintptr_t, Request*> persistent;
std::atomic<int> persistent_count{0};
/// Handles that the program has freed, for the next persistent requests. They are not given back to the MPI: in MPICH 4.0
/// and Intel MPI its own persistent collectives hang once a persistent receive was freed.
std::vector<MPI_Request> spare_handles;

// ---- the functions of a generalized request ----

int query(void* state, MPI_Status* status) {
  (void)mpi.Status_set_elements(status, MPI_BYTE, 0);
  (void)mpi.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return static_cast<Request*>(state)->code;
}

int release(void* state) {
  delete static_cast<Request*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // MPI does not allow it for collectives.

/// Called by the thread that moves the team.
void on_done(void* user, int status) {
  auto& request = *static_cast<Request*>(user);
  if (status != SUMAC_TEAM_OK)
    request.code = sumac_lane_failed(request.lane, static_cast<sumac_coll>(request.plan.call.coll), status);
  sumac_progress_done(&request);
}

/// The program may free a derived type before the end.
int keep_type(std::uintptr_t& type, MPI_Datatype& held) {
  const int rc = mpi.Type_dup(handle_from<MPI_Datatype>(type), &held);
  if (rc == MPI_SUCCESS) type = bits_of(held);
  return rc;
}

int keep_fold(Request& request) {
  Fold& fold = request.plan.own;
  if (!sumac_plan_is_own(&request.plan)) return MPI_SUCCESS;  // An entry of the table.
  request.held_op = op_of(fold);
  hold_op(request.held_op);
  return keep_type(fold.type, request.held[2]);
}

int discard(Request* request, int rc) {
  delete request;
  return rc;
}

int take_handle(MPI_Request& handle) {
  {
    const std::lock_guard guard(lock);
    if (!spare_handles.empty()) {
      handle = spare_handles.back();
      spare_handles.pop_back();
      return MPI_SUCCESS;
    }
  }
  return mpi.Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &handle);
}

void list(Request* request) {
  const std::lock_guard guard(lock);
  persistent[bits_of(request->handle)] = request;
  persistent_count = static_cast<int>(persistent.size());
}

/// Gives a persistent request its handle, and lists it.
int lend_handle(Request* request, MPI_Request* handle) {
  if (const int rc = take_handle(request->handle); rc != MPI_SUCCESS) return discard(request, rc);
  list(request);
  *handle = request->handle;
  return MPI_SUCCESS;
}

}  // namespace

void Request::take(Lane& used) {
  lane = &used;
  hold(owner_of(used));
}

void Request::let_go() {
  if (lane != nullptr && library.on) {
    if (op != nullptr) sumac_op_free(op);
    if (is_persistent) sumac_lane_give(lane);
    pmpi::let_go(owner_of(*lane));
  }
  op = nullptr;
  lane = nullptr;
  for (MPI_Datatype& type : held)
    if (type != MPI_Datatype{}) {
      if (library.on) (void)mpi.Type_free(&type);
      type = MPI_Datatype{};
    }
  if (held_op != MPI_Op{}) {
    if (library.on) release_op(held_op);
    held_op = MPI_Op{};
  }
}

Request::~Request() {
  let_go();
  std::free(memory);
}

int keep_data(Request& request, const Communicator& communicator) {
  Plan& plan = request.plan;
  if (sumac_plan_has_numbers(&plan)) {
    request.numbers.resize(SUMAC_PLAN_NUMBERS(communicator.size));
    sumac_plan_keep_numbers(&plan, communicator.size, request.numbers.data());
  }
  int at = 0;
  for (auto* side : {&plan.send, &plan.receive})
    if (side->is_packed && (side == &plan.receive || request.is_persistent))
      if (const int rc = keep_type(side->layout.type, request.held[at++]); rc != MPI_SUCCESS) return rc;
  if (const int rc = keep_fold(request); rc != MPI_SUCCESS) return rc;
  if (!plan.packs()) return MPI_SUCCESS;
  request.memory = std::aligned_alloc(64, plan.memory_bytes);
  if (request.memory == nullptr) return MPI_ERR_NO_MEM;
  return plan.pack_into(request.memory);
}

int post(Request* request, Lane& lane, MPI_Request* handle, bool& passed) {
  request->take(lane);
  if (const int rc = keep_data(*request, owner_of(lane)); rc != MPI_SUCCESS) return discard(request, rc);
  if (const int rc = mpi.Grequest_start(query, release, cancel, request, &request->handle); rc != MPI_SUCCESS)
    return discard(request, rc);
  const MPI_Request made = request->handle;
  const bool by_tree = lane.record->hosts > 1 || owner_of(lane).has_tree;
  if (by_tree) share_job();
  sumac_progress_enter(&lane);
  const int status = sumac_team_post(lane.team, &request->plan.call, on_done, request, &request->op);
  if (status == SUMAC_TEAM_OK) [[likely]] {
    *handle = made;
    // This rank sends its part before the program computes, and without waiting for the thread to get a core.
    if (by_tree) (void)sumac_team_progress(lane.team);
    sumac_progress_kick();
    return MPI_SUCCESS;
  }
  sumac_progress_leave_once(&lane);
  passed = status == SUMAC_TEAM_PASS;
  const int rc =
      passed ? MPI_SUCCESS : sumac_lane_failed(&lane, static_cast<sumac_coll>(request->plan.call.coll), status);
  MPI_Request unused = made;
  request->let_go();
  (void)mpi.Grequest_complete(made);
  (void)mpi.Request_free(&unused);  // This calls release().
  return rc;
}

int make_persistent(Request* request, Lane& lane, MPI_Request* handle, bool& passed) {
  request->is_persistent = true;
  request->take(lane);
  if (const int rc = keep_data(*request, owner_of(lane)); rc != MPI_SUCCESS) return discard(request, rc);
  const int status = sumac_op_create(lane.team, &request->plan.call, on_done, request, &request->op);
  if (status != SUMAC_TEAM_OK) {
    passed = status == SUMAC_TEAM_PASS;
    return discard(request, passed
                                ? MPI_SUCCESS
                                : sumac_lane_failed(&lane, static_cast<sumac_coll>(request->plan.call.coll), status));
  }
  return lend_handle(request, handle);
}

int make_persistent_nothing(Request* request, MPI_Request* handle) {
  request->is_persistent = true;
  return lend_handle(request, handle);
}

int note_the_mpis(int rc, const MPI_Request* handle) {
  if (rc != MPI_SUCCESS || kTestsPersistent || !library.on) return rc;
  auto* request = new Request(SUMAC_COLL_BARRIER);
  request->is_persistent = request->is_the_mpis = true;
  request->handle = *handle;
  list(request);
  return rc;
}

bool persistent_exist() noexcept { return persistent_count.load(std::memory_order_relaxed) > 0; }

Request* find_persistent(MPI_Request handle) {
  const std::lock_guard guard(lock);
  const auto found = persistent.find(bits_of(handle));
  return found == persistent.end() ? nullptr : found->second;
}

int start_persistent(Request& request) {
  request.is_active = true;
  if (request.is_the_mpis) {
    request.is_done = false;
    MPI_Request handle = request.handle;
    return mpi.Start(&handle);
  }
  request.is_done = request.op == nullptr;
  request.code = MPI_SUCCESS;
  if (request.is_done) return MPI_SUCCESS;
  if (request.plan.packs())
    if (const int rc = request.plan.pack_again(); rc != MPI_SUCCESS) return rc;
  sumac_progress_enter(request.lane);
  const int status = sumac_op_start(request.op);
  if (status != SUMAC_TEAM_OK) on_done(&request, status);
  sumac_progress_kick();
  return MPI_SUCCESS;
}

int free_persistent(Request& request) {
  MPI_Request handle = request.handle;
  const bool is_the_mpis = request.is_the_mpis;
  {
    const std::lock_guard guard(lock);
    persistent.erase(bits_of(handle));
    if (!is_the_mpis) spare_handles.push_back(handle);
    persistent_count = static_cast<int>(persistent.size());
  }
  delete &request;
  return is_the_mpis ? mpi.Request_free(&handle) : MPI_SUCCESS;
}

void free_handles() {
  const std::lock_guard guard(lock);
  for (MPI_Request& handle : spare_handles) (void)mpi.Request_free(&handle);
  spare_handles.clear();
}

void finish(Request& request) {
  if (request.code == MPI_SUCCESS && request.plan.packs()) request.code = request.plan.unpack();
  Lane& lane = *request.lane;
  if (request.is_persistent) {
    sumac_progress_leave_once(&lane);
    request.is_done = true;
    return;
  }
  // The request is complete before sumac_progress_is_posted() is false: a thread that sees nothing posted waits in the MPI, and
  // MPICH 5 ends a program that waits there for a generalized request that nobody has completed.
  Communicator& owner = owner_of(lane);
  hold(owner);
  request.let_go();
  (void)mpi.Grequest_complete(request.handle);  // The program may free the request at once.
  sumac_progress_leave_once(&lane);
  let_go(owner);
}

}  // namespace sumac::pmpi
