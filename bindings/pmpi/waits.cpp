// The functions that complete, start and free requests. While nothing of ours is under way they are the MPI's own; while
// something is, a wait is a loop of tests that also moves our operations.
//
// The MPI never sees a persistent request of ours: in its place it finds MPI_REQUEST_NULL, which is what an inactive
// request is to it.
#include <algorithm>
#include <vector>

#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/errors.hpp"
#include "bindings/pmpi/idups.hpp"
#include "bindings/pmpi/progress.hpp"
#include "bindings/pmpi/requests.hpp"

namespace sumac::pmpi {
namespace {

/// True if the MPI's own function does not do.
bool concerns_us() { return library.on && (anything_posted() || persistent_exist() || idups_noted()); }

bool is_pending(const Request& request) { return request.is_active && !request.is_done.load(); }
bool is_ready(const Request& request) { return request.is_active && request.is_done.load(); }

/// The program completes an active request that is done. Returns what the wait is to return.
int complete(Request& request) {
  request.is_active = false;
  return request.code;
}

/// Fills what MPI calls an empty status.
void clear(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Request none = MPI_REQUEST_NULL;
  int done = 0;
  (void)mpi.Test(&none, &done, status);
}

/// The program's array of requests, and the MPI's view of it.
class Requests {
 public:
  Requests(int count, MPI_Request* theirs) : theirs_(theirs), count_(std::max(count, 0)) {
    ours_.resize(persistent_exist() ? size() : 0);
    for (std::size_t i = 0; i < ours_.size(); ++i) ours_[i] = find_persistent(theirs_[i]);
    has_ours_ = std::any_of(ours_.begin(), ours_.end(), [](const Request* each) { return each != nullptr; });
    if (!has_ours_) return;
    shown_.assign(theirs_, theirs_ + size());
    for (std::size_t i = 0; i < size(); ++i)
      if (ours_[i] != nullptr) shown_[i] = MPI_REQUEST_NULL;
  }
  ~Requests() {  // Whatever the MPI has completed is the program's to know.
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (ours_[i] == nullptr) theirs_[i] = shown_[i];
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  bool has_ours() const { return has_ours_; }
  int count() const { return count_; }
  MPI_Request* shown() { return has_ours_ ? shown_.data() : theirs_; }

  bool any_pending() const { return any_of_ours(is_pending); }
  bool any_active() const {
    return any_of_ours([](const Request& each) { return each.is_active; });
  }
  /// Returns the index of one of ours that the program may complete, from `first` on; -1: there is none.
  int ready_from(int first) const {
    for (auto i = static_cast<std::size_t>(first); i < ours_.size(); ++i)
      if (ours_[i] != nullptr && is_ready(*ours_[i])) return static_cast<int>(i);
    return -1;
  }
  int complete_at(int index) { return complete(*ours_[static_cast<std::size_t>(index)]); }
  int complete_all() {
    int code = MPI_SUCCESS;
    for (int i = ready_from(0); i >= 0; i = ready_from(i + 1))
      if (const int rc = complete_at(i); rc != MPI_SUCCESS) code = rc;
    return code;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  template <class Is>
  bool any_of_ours(const Is& is) const {
    return std::any_of(ours_.begin(), ours_.end(), [&](const Request* each) { return each != nullptr && is(*each); });
  }

  MPI_Request* theirs_;
  int count_;
  std::vector<Request*> ours_;
  std::vector<MPI_Request> shown_;  ///< Empty if none is ours.
  bool has_ours_ = false;
};

/// Repeats `look`, which returns true when the wait is over. Between two looks our operations move.
template <class Look>
void wait_until(const Look& look) {
  for (unsigned looks = 0;; ++looks) {
    advance();
    if (look()) return;
    pause(looks);
  }
}

/// A persistent collective's failure comes without a communicator: as every error of a request without one, it goes to
/// MPI_COMM_SELF's handler. The reason names the collective.
int with_code(int rc, int code) {
  if (rc != MPI_SUCCESS || code == MPI_SUCCESS) return rc;
  return raise(MPI_COMM_SELF, code, "the completion of a persistent collective");
}

/// Tests all once. `rc` is the MPI's answer.
bool test_all(Requests& requests, MPI_Status* statuses, int& rc) {
  if (requests.any_pending()) {
    drive(nullptr);
    return false;
  }
  int done = 0;
  rc = mpi.Testall(requests.count(), requests.shown(), &done, statuses);
  if (rc == MPI_SUCCESS && done == 0) return false;
  rc = with_code(rc, requests.complete_all());
  return true;
}

bool test_any(Requests& requests, int* index, MPI_Status* status, int& rc) {
  if (const int ready = requests.ready_from(0); ready >= 0) {
    *index = ready;
    clear(status);
    rc = with_code(MPI_SUCCESS, requests.complete_at(ready));
    return true;
  }
  int done = 0;
  rc = mpi.Testany(requests.count(), requests.shown(), index, &done, status);
  return rc != MPI_SUCCESS || (done != 0 && (*index != MPI_UNDEFINED || !requests.any_active()));
}

/// Returns true if at least one is completed, or none is active.
bool test_some(Requests& requests, int* count, int* indices, MPI_Status* statuses, int& rc) {
  const bool any_active = requests.any_active();
  rc = mpi.Testsome(requests.count(), requests.shown(), count, indices, statuses);
  if (rc != MPI_SUCCESS || (*count == MPI_UNDEFINED && !any_active)) return true;
  if (*count == MPI_UNDEFINED) *count = 0;
  int code = MPI_SUCCESS;
  for (int i = requests.ready_from(0); i >= 0; i = requests.ready_from(i + 1)) {
    indices[*count] = i;
    if (statuses != MPI_STATUSES_IGNORE) clear(&statuses[*count]);
    ++*count;
    if (const int each = requests.complete_at(i); each != MPI_SUCCESS) code = each;
  }
  rc = with_code(rc, code);
  return *count > 0;
}

/// Not more than the MPI's own wait does once nothing of ours is left.
bool may_sleep_in_mpi(const Requests& requests) { return !anything_posted() && !requests.has_ours(); }

int wait_all(int count, MPI_Request* array, MPI_Status* statuses) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (!may_sleep_in_mpi(requests)) return test_all(requests, statuses, rc);
    rc = mpi.Waitall(count, array, statuses);
    return true;
  });
  return rc;
}

int wait_any(int count, MPI_Request* array, int* index, MPI_Status* status) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (!may_sleep_in_mpi(requests)) return test_any(requests, index, status, rc);
    rc = mpi.Waitany(count, array, index, status);
    return true;
  });
  return rc;
}

int wait_some(int count, MPI_Request* array, int* done, int* indices, MPI_Status* statuses) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (!may_sleep_in_mpi(requests)) return test_some(requests, done, indices, statuses, rc);
    rc = mpi.Waitsome(count, array, done, indices, statuses);
    return true;
  });
  return rc;
}

bool test_ours(Request& ours, MPI_Status* status, int& rc) {
  if (is_pending(ours)) {
    drive(nullptr);
    return false;
  }
  clear(status);
  if (ours.is_active) rc = with_code(MPI_SUCCESS, complete(ours));
  return true;
}

/// For one request: none of the arrays' work.
bool test_one(MPI_Request* request, Request* ours, MPI_Status* status, int& rc) {
  if (ours != nullptr) return test_ours(*ours, status, rc);
  int done = 0;
  rc = mpi.Test(request, &done, status);
  return rc != MPI_SUCCESS || done != 0;
}

int wait_one(MPI_Request* request, MPI_Status* status) {
  const IdupWatch watch(1, request);
  Request* ours = persistent_exist() ? find_persistent(*request) : nullptr;
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (ours != nullptr || anything_posted()) return test_one(request, ours, status, rc);
    rc = mpi.Wait(request, status);
    return true;
  });
  return rc;
}

int test_once(MPI_Request* request, int* flag, MPI_Status* status) {
  const IdupWatch watch(1, request);
  Request* ours = persistent_exist() ? find_persistent(*request) : nullptr;
  int rc = MPI_SUCCESS;
  advance();
  *flag = test_one(request, ours, status, rc) ? 1 : 0;
  return rc;
}

int test_all_once(int count, MPI_Request* array, int* flag, MPI_Status* statuses) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  advance();
  *flag = test_all(requests, statuses, rc) ? 1 : 0;
  return rc;
}

int test_any_once(int count, MPI_Request* array, int* index, int* flag, MPI_Status* status) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  advance();
  *flag = test_any(requests, index, status, rc) ? 1 : 0;
  if (*flag == 0) *index = MPI_UNDEFINED;
  return rc;
}

int test_some_once(int count, MPI_Request* array, int* done, int* indices, MPI_Status* statuses) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  advance();
  (void)test_some(requests, done, indices, statuses, rc);
  return rc;
}

int start(MPI_Request* request) {
  Request* ours = find_persistent(*request);
  return ours != nullptr ? start_persistent(*ours) : mpi.Start(request);
}

int start_all(int count, MPI_Request* array) {
  for (int i = 0; i < count; ++i)
    if (const int rc = start(&array[i]); rc != MPI_SUCCESS) return rc;
  return MPI_SUCCESS;
}

int free_one(MPI_Request* request) {
  const IdupWatch watch(1, request);
  Request* ours = find_persistent(*request);
  if (ours != nullptr && ours->is_active)
    return raise(MPI_COMM_SELF, MPI_ERR_REQUEST, "MPI_Request_free");  // MPI forbids it.
  if (ours == nullptr) return mpi.Request_free(request);
  free_persistent(*ours);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Request* ours = persistent_exist() ? find_persistent(request) : nullptr;
  advance();
  if (ours == nullptr) return mpi.Request_get_status(request, flag, status);
  *flag = is_pending(*ours) ? 0 : 1;
  if (*flag != 0)
    clear(status);
  else
    drive(nullptr);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace sumac::pmpi

// clang-format off
#define SUMAC_PMPI_REQUESTS(name, parameters, arguments, ours)     \
  SUMAC_PMPI_NAMES(name, parameters, arguments,                    \
                   if (!sumac::pmpi::concerns_us()) [[likely]]     \
                     return sumac::pmpi::mpi.name arguments;       \
                   return sumac::pmpi::ours arguments;)
// clang-format on

SUMAC_PMPI_REQUESTS(Wait, (MPI_Request * request, MPI_Status* status), (request, status), wait_one)
SUMAC_PMPI_REQUESTS(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses),
                    wait_all)
SUMAC_PMPI_REQUESTS(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),
                    (count, requests, index, status), wait_any)
SUMAC_PMPI_REQUESTS(Waitsome, (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
                    (count, requests, done, indices, statuses), wait_some)
SUMAC_PMPI_REQUESTS(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), test_once)
SUMAC_PMPI_REQUESTS(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
                    (count, requests, flag, statuses), test_all_once)
SUMAC_PMPI_REQUESTS(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
                    (count, requests, index, flag, status), test_any_once)
SUMAC_PMPI_REQUESTS(Testsome, (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
                    (count, requests, done, indices, statuses), test_some_once)
SUMAC_PMPI_REQUESTS(Start, (MPI_Request * request), (request), start)
SUMAC_PMPI_REQUESTS(Startall, (int count, MPI_Request* requests), (count, requests), start_all)
SUMAC_PMPI_REQUESTS(Request_free, (MPI_Request * request), (request), free_one)
SUMAC_PMPI_REQUESTS(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status),
                    get_status)
