#include "bindings/pmpi/requests.hpp"

#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/errors.hpp"

namespace sumac::pmpi {
namespace {

#if defined(OPEN_MPI)
constexpr bool kTestsPersistent = true;  ///< The MPI's own tests of arrays are right for its persistent collectives.
#else
constexpr bool kTestsPersistent = false;
#endif

std::mutex requests_lock;
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
  return state == nullptr ? MPI_SUCCESS : static_cast<Request*>(state)->code;
}

int release(void* state) {
  delete static_cast<Request*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // MPI does not allow it for collectives.

/// MPI_Ibarrier on MPI_COMM_SELF would be a request that is done, too, but some MPIs give every such request the same
/// handle.
int post_nothing(MPI_Request* handle) {
  const int rc = mpi.Grequest_start(query, release, cancel, nullptr, handle);
  return rc == MPI_SUCCESS ? mpi.Grequest_complete(*handle) : rc;
}

int take_handle(MPI_Request& handle) {
  {
    const std::lock_guard guard(requests_lock);
    if (!spare_handles.empty()) {
      handle = spare_handles.back();
      spare_handles.pop_back();
      return MPI_SUCCESS;
    }
  }
  return mpi.Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &handle);
}

void list_request(Request* request) {
  const std::lock_guard guard(requests_lock);
  persistent[bits_of(request->handle)] = request;
  persistent_count = static_cast<int>(persistent.size());
}

}  // namespace

Request::Request(Communicator& of, bool persistent) : owner(&of) {
  sumac_request_begin(this, &of, persistent);
  hold(of);
}

void Request::let_go() {
  if (owner == nullptr) return;
  if (library.on) {
    sumac_request_end(this);
    pmpi::let_go(*owner);
  } else {
    sumac_request_forget(this);
  }
  owner = nullptr;
}

Request::~Request() { let_go(); }

sumac_request* new_request(sumac_record* record, bool is_persistent) {
  return new (std::nothrow) Request(static_cast<Communicator&>(*record), is_persistent);
}

int begin_request(sumac_request* request) {
  auto& ours = static_cast<Request&>(*request);
  const int rc = mpi.Grequest_start(query, release, cancel, &ours, &ours.handle);
  ours.is_begun = rc == MPI_SUCCESS;
  return rc;
}

void drop_request(sumac_request* request) {
  auto* ours = static_cast<Request*>(request);
  if (!ours->is_begun) {
    delete ours;
    return;
  }
  ours->let_go();
  MPI_Request unused = ours->handle;
  (void)mpi.Grequest_complete(unused);
  (void)mpi.Request_free(&unused);  // This calls release().
}

int begun(sumac_request* made, MPI_Request* handle) {
  if (made == nullptr) return post_nothing(handle);
  *handle = static_cast<Request*>(made)->handle;
  return MPI_SUCCESS;
}

int list_persistent(sumac_request* made, Communicator& communicator, MPI_Request* handle) {
  auto* request = made != nullptr ? static_cast<Request*>(made) : new Request(communicator, true);
  if (const int rc = take_handle(request->handle); rc != MPI_SUCCESS) {
    delete request;
    return rc;
  }
  list_request(request);
  *handle = request->handle;
  return MPI_SUCCESS;
}

int note_the_mpis(int rc, const MPI_Request* handle) {
  if (rc != MPI_SUCCESS || kTestsPersistent || !library.on) return rc;
  auto* request = new Request();
  request->is_the_mpis = true;
  request->handle = *handle;
  list_request(request);
  return rc;
}

bool persistent_exist() noexcept { return persistent_count.load(std::memory_order_relaxed) > 0; }

Request* find_persistent(MPI_Request handle) {
  const std::lock_guard guard(requests_lock);
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
  return request.is_done ? MPI_SUCCESS : sumac_request_start(&request);
}

int free_persistent(Request& request) {
  MPI_Request handle = request.handle;
  const bool is_the_mpis = request.is_the_mpis;
  {
    const std::lock_guard guard(requests_lock);
    persistent.erase(bits_of(handle));
    if (!is_the_mpis) spare_handles.push_back(handle);
    persistent_count = static_cast<int>(persistent.size());
  }
  delete &request;
  return is_the_mpis ? mpi.Request_free(&handle) : MPI_SUCCESS;
}

void free_handles() {
  const std::lock_guard guard(requests_lock);
  for (MPI_Request& handle : spare_handles) (void)mpi.Request_free(&handle);
  spare_handles.clear();
}

void finish(Request& request) {
  request.code = sumac_request_result(&request);
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
