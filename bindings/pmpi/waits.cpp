// The functions that complete, look at, start and free requests. While nothing of ours is under way they are the MPI's own; while
// something is, a wait is a loop of tests that also moves our operations, and once nothing of ours is left the MPI's own
// function finishes it.
//
// The MPI never sees a persistent request of ours: in its place it finds MPI_REQUEST_NULL, which is what an inactive
// request is to it. A loop of tests also keeps the MPI's own persistent collectives from its tests of arrays
// (note_the_mpis() says why): each is tested alone.
#include <algorithm>
#include <functional>
#include <vector>

#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/errors.hpp"
#include "bindings/pmpi/idups.hpp"
#include "bindings/pmpi/progress.hpp"
#include "bindings/pmpi/requests.hpp"

namespace sumac::pmpi {
namespace {

/// True if the MPI's own function does not do.
bool concerns_us() { return library.on && (sumac_progress_is_posted() || persistent_exist() || idups_noted()); }

/// Asks the MPI whether its persistent collective has ended. This drives the MPI.
void look_at(Request& request) {
  int done = 0;
  const int rc = mpi.Request_get_status(request.handle, &done, MPI_STATUS_IGNORE);
  if (rc != MPI_SUCCESS || done != 0) request.is_done = true;  // An error is for the call that completes it.
}

bool is_pending(Request& request) {
  if (!request.is_active) return false;
  if (request.is_the_mpis && !request.is_done.load()) look_at(request);
  return !request.is_done.load();
}
bool is_ready(Request& request) { return request.is_active && !is_pending(request); }
bool is_ours(const Request& request) { return !request.is_the_mpis; }

/// Fills what MPI calls an empty status.
void clear(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Request none = MPI_REQUEST_NULL;
  int done = 0;
  (void)mpi.Test(&none, &done, status);
}

/// A persistent collective's failure comes without a communicator: as every error of a request without one, it goes to
/// MPI_COMM_SELF's handler. The reason names the collective.
int with_code(int rc, int code) {
  if (rc != MPI_SUCCESS || code == MPI_SUCCESS) return rc;
  return raise(MPI_COMM_SELF, code, "the completion of a persistent collective");
}

/// The program completes an active request that is done. Returns what the wait is to return.
int complete(Request& request, MPI_Status* status) {
  request.is_active = false;
  if (request.is_the_mpis) {
    MPI_Request handle = request.handle;
    return mpi.Wait(&handle, status);
  }
  clear(status);
  return with_code(MPI_SUCCESS, request.code);
}

MPI_Status* status_at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/// The program's array of requests, and the MPI's view of it.
class Requests {
 public:
  Requests(int count, MPI_Request* theirs) : theirs_(theirs), count_(std::max(count, 0)) {
    listed_.resize(persistent_exist() ? size() : 0);
    for (std::size_t i = 0; i < listed_.size(); ++i) listed_[i] = find_persistent(theirs_[i]);
    if (!any([](const Request&) { return true; })) return;
    shown_.assign(theirs_, theirs_ + size());
    for (std::size_t i = 0; i < size(); ++i)
      if (listed_[i] != nullptr) shown_[i] = MPI_REQUEST_NULL;
  }
  ~Requests() {  // Whatever the MPI has completed is the program's to know.
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (listed_[i] == nullptr) theirs_[i] = shown_[i];
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  int count() const { return count_; }
  /// The array without any persistent collective, for the MPI's tests.
  MPI_Request* shown() { return shown_.empty() ? theirs_ : shown_.data(); }
  const MPI_Request* shown() const { return shown_.empty() ? theirs_ : shown_.data(); }
  /// The array without ours, for the MPI's waits.
  MPI_Request* shown_to_wait() {
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (listed_[i] != nullptr && listed_[i]->is_the_mpis) shown_[i] = theirs_[i];
    return shown();
  }

  bool any_pending() const { return any(is_pending); }
  bool any_active() const {
    return any([](const Request& each) { return each.is_active; });
  }
  bool ours_active() const {
    return any([](const Request& each) { return each.is_active && is_ours(each); });
  }
  bool ours_pending() const {
    return any([](Request& each) { return is_ours(each) && is_pending(each); });
  }
  /// Returns the index of a persistent collective that the program may complete, from `first` on; -1: there is none.
  int ready_from(int first) const {
    for (auto i = static_cast<std::size_t>(first); i < listed_.size(); ++i)
      if (listed_[i] != nullptr && is_ready(*listed_[i])) return static_cast<int>(i);
    return -1;
  }
  int complete_at(int index, MPI_Status* status) { return complete(*listed_[static_cast<std::size_t>(index)], status); }
  int complete_all(MPI_Status* statuses) {
    int code = MPI_SUCCESS;
    for (int i = ready_from(0); i >= 0; i = ready_from(i + 1))
      if (const int rc = complete_at(i, status_at(statuses, i)); rc != MPI_SUCCESS) code = rc;
    return code;
  }
  /// The MPI has completed this request of the array.
  void completed(int index) {
    if (index < 0 || index >= static_cast<int>(listed_.size())) return;
    Request* request = listed_[static_cast<std::size_t>(index)];
    if (request != nullptr && request->is_the_mpis) request->is_active = false;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  template <class Is>
  bool any(const Is& is) const {
    return std::any_of(listed_.begin(), listed_.end(), [&](Request* each) { return each != nullptr && is(*each); });
  }

  MPI_Request* theirs_;
  int count_;
  std::vector<Request*> listed_;    ///< The persistent collectives; empty if there is none in the whole program.
  std::vector<MPI_Request> shown_;  ///< Empty if none is in the array.
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

/// Tests all once. `rc` is the MPI's answer.
bool test_all(Requests& requests, MPI_Status* statuses, int& rc) {
  if (requests.any_pending()) {
    drive(nullptr);
    return false;
  }
  int done = 0;
  rc = mpi.Testall(requests.count(), requests.shown(), &done, statuses);
  if (rc == MPI_SUCCESS && done == 0) return false;
  const int code = requests.complete_all(statuses);
  if (rc == MPI_SUCCESS) rc = code;
  return true;
}

bool test_any(Requests& requests, int* index, MPI_Status* status, int& rc) {
  if (const int ready = requests.ready_from(0); ready >= 0) {
    *index = ready;
    rc = requests.complete_at(ready, status);
    return true;
  }
  int done = 0;
  rc = mpi.Testany(requests.count(), requests.shown(), index, &done, status);
  if (rc != MPI_SUCCESS || (done != 0 && *index != MPI_UNDEFINED)) return true;
  if (done == 0) return false;
  if (!requests.any_active()) return true;
  drive(nullptr);  // The MPI finds nothing to do in its part.
  return false;
}

/// Returns true if at least one is completed, or none is active.
bool test_some(Requests& requests, int* count, int* indices, MPI_Status* statuses, int& rc) {
  const bool any_active = requests.any_active();
  rc = mpi.Testsome(requests.count(), requests.shown(), count, indices, statuses);
  if (rc != MPI_SUCCESS || (*count == MPI_UNDEFINED && !any_active)) return true;
  if (*count == MPI_UNDEFINED) {
    drive(nullptr);  // The MPI finds nothing to do in its part.
    *count = 0;
  }
  int code = MPI_SUCCESS;
  for (int i = requests.ready_from(0); i >= 0; i = requests.ready_from(i + 1)) {
    indices[*count] = i;
    if (const int each = requests.complete_at(i, status_at(statuses, *count)); each != MPI_SUCCESS) code = each;
    ++*count;
  }
  if (rc == MPI_SUCCESS) rc = code;
  return *count > 0;
}

// The program's waits, once nothing of ours is under way.

int wait_all_in_mpi(Requests& requests, MPI_Status* statuses) {
  const int rc = mpi.Waitall(requests.count(), requests.shown_to_wait(), statuses);
  for (int i = 0; rc == MPI_SUCCESS && i < requests.count(); ++i) requests.completed(i);
  const int code = requests.complete_all(statuses);  // Ours, which have ended before.
  return rc == MPI_SUCCESS ? code : rc;
}

int wait_any_in_mpi(Requests& requests, int* index, MPI_Status* status) {
  const int rc = mpi.Waitany(requests.count(), requests.shown_to_wait(), index, status);
  if (rc == MPI_SUCCESS) requests.completed(*index);
  return rc;
}

int wait_some_in_mpi(Requests& requests, int* done, int* indices, MPI_Status* statuses) {
  const int rc = mpi.Waitsome(requests.count(), requests.shown_to_wait(), done, indices, statuses);
  for (int i = 0; rc == MPI_SUCCESS && i < *done; ++i) requests.completed(indices[i]);
  return rc;
}

/// Waits for requests of an array by `test`, and by `in_mpi` once nothing of ours is left in it: `is_ours_left` says so.
template <class IsLeft, class Test, class InMpi>
int wait_in(int count, MPI_Request* array, const IsLeft& is_ours_left, const Test& test, const InMpi& in_mpi) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (sumac_progress_is_posted() || is_ours_left(requests)) return test(requests, rc);
    rc = in_mpi(requests);
    return true;
  });
  return rc;
}

/// Tests requests of an array once.
template <class Test>
int test_in(int count, MPI_Request* array, int* flag, const Test& test) {
  const IdupWatch watch(count, array);
  Requests requests(count, array);
  int rc = MPI_SUCCESS;
  advance();
  *flag = test(requests, rc) ? 1 : 0;
  return rc;
}

int wait_all(int count, MPI_Request* array, MPI_Status* statuses) {
  return wait_in(
      count, array, std::mem_fn(&Requests::ours_pending),
      [&](Requests& all, int& rc) { return test_all(all, statuses, rc); },
      [&](Requests& all) { return wait_all_in_mpi(all, statuses); });
}

int wait_any(int count, MPI_Request* array, int* index, MPI_Status* status) {
  return wait_in(
      count, array, std::mem_fn(&Requests::ours_active),
      [&](Requests& all, int& rc) { return test_any(all, index, status, rc); },
      [&](Requests& all) { return wait_any_in_mpi(all, index, status); });
}

int wait_some(int count, MPI_Request* array, int* done, int* indices, MPI_Status* statuses) {
  return wait_in(
      count, array, std::mem_fn(&Requests::ours_active),
      [&](Requests& all, int& rc) { return test_some(all, done, indices, statuses, rc); },
      [&](Requests& all) { return wait_some_in_mpi(all, done, indices, statuses); });
}

bool test_persistent(Request& listed, MPI_Status* status, int& rc) {
  if (is_pending(listed)) {
    drive(nullptr);
    return false;
  }
  if (listed.is_active)
    rc = complete(listed, status);
  else
    clear(status);
  return true;
}

/// For one request: none of the arrays' work.
bool test_one(MPI_Request* request, Request* listed, MPI_Status* status, int& rc) {
  if (listed != nullptr) return test_persistent(*listed, status, rc);
  int done = 0;
  rc = mpi.Test(request, &done, status);
  return rc != MPI_SUCCESS || done != 0;
}

int wait_one(MPI_Request* request, MPI_Status* status) {
  const IdupWatch watch(1, request);
  Request* listed = persistent_exist() ? find_persistent(*request) : nullptr;
  int rc = MPI_SUCCESS;
  wait_until([&] {
    if (sumac_progress_is_posted() || (listed != nullptr && is_ours(*listed)))
      return test_one(request, listed, status, rc);
    rc = mpi.Wait(request, status);
    if (listed != nullptr && rc == MPI_SUCCESS) listed->is_active = false;
    return true;
  });
  return rc;
}

int test_once(MPI_Request* request, int* flag, MPI_Status* status) {
  const IdupWatch watch(1, request);
  Request* listed = persistent_exist() ? find_persistent(*request) : nullptr;
  int rc = MPI_SUCCESS;
  advance();
  *flag = test_one(request, listed, status, rc) ? 1 : 0;
  return rc;
}

int test_all_once(int count, MPI_Request* array, int* flag, MPI_Status* statuses) {
  return test_in(count, array, flag, [&](Requests& all, int& rc) { return test_all(all, statuses, rc); });
}

int test_any_once(int count, MPI_Request* array, int* index, int* flag, MPI_Status* status) {
  const int rc =
      test_in(count, array, flag, [&](Requests& all, int& code) { return test_any(all, index, status, code); });
  if (*flag == 0) *index = MPI_UNDEFINED;
  return rc;
}

int test_some_once(int count, MPI_Request* array, int* done, int* indices, MPI_Status* statuses) {
  int any = 0;
  return test_in(count, array, &any,
                 [&](Requests& all, int& rc) { return test_some(all, done, indices, statuses, rc); });
}

int start(MPI_Request* request) {
  Request* listed = find_persistent(*request);
  return listed != nullptr ? start_persistent(*listed) : mpi.Start(request);
}

int start_all(int count, MPI_Request* array) {
  const auto is_listed = [](MPI_Request each) { return find_persistent(each) != nullptr; };
  if (std::none_of(array, array + std::max(count, 0), is_listed)) return mpi.Startall(count, array);
  for (int i = 0; i < count; ++i)
    if (const int rc = start(&array[i]); rc != MPI_SUCCESS) return rc;
  return MPI_SUCCESS;
}

int free_one(MPI_Request* request) {
  const IdupWatch watch(1, request);
  Request* listed = find_persistent(*request);
  if (listed == nullptr) return mpi.Request_free(request);
  if (listed->is_active && is_ours(*listed))
    return raise(MPI_COMM_SELF, MPI_ERR_REQUEST, "MPI_Request_free");  // MPI forbids it.
  *request = MPI_REQUEST_NULL;
  return free_persistent(*listed);
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Request* listed = persistent_exist() ? find_persistent(request) : nullptr;
  advance();
  if (listed == nullptr || listed->is_the_mpis) return mpi.Request_get_status(request, flag, status);
  *flag = is_pending(*listed) ? 0 : 1;
  if (*flag != 0)
    clear(status);
  else
    drive(nullptr);
  return MPI_SUCCESS;
}

// MPI 4.1's looks at several requests, which complete none of them.

/// As the constructor of Requests wants them; what it writes back is unchanged.
std::vector<MPI_Request> copy_of(int count, const MPI_Request* array) { return {array, array + std::max(count, 0)}; }

int get_status_all(int count, const MPI_Request* array, int* flag, MPI_Status* statuses) {
  auto copied = copy_of(count, array);
  const Requests requests(count, copied.data());
  advance();
  if (requests.any_pending()) {
    *flag = 0;
    drive(nullptr);
    return MPI_SUCCESS;
  }
  // The MPI sees MPI_REQUEST_NULL in place of a persistent collective, and an empty status is what that has too.
  return optional.Request_get_status_all(count, requests.shown(), flag, statuses);
}

int get_status_any(int count, const MPI_Request* array, int* index, int* flag, MPI_Status* status) {
  auto copied = copy_of(count, array);
  const Requests requests(count, copied.data());
  advance();
  if (const int ready = requests.ready_from(0); ready >= 0) {
    *index = ready;
    *flag = 1;
    clear(status);
    return MPI_SUCCESS;
  }
  const int rc = optional.Request_get_status_any(count, requests.shown(), index, flag, status);
  if (rc != MPI_SUCCESS || *flag == 0 || *index != MPI_UNDEFINED || !requests.any_active()) return rc;
  *flag = 0;
  drive(nullptr);  // The MPI finds nothing to do in its part.
  return MPI_SUCCESS;
}

int get_status_some(int count, const MPI_Request* array, int* done, int* indices, MPI_Status* statuses) {
  auto copied = copy_of(count, array);
  const Requests requests(count, copied.data());
  advance();
  const int rc = optional.Request_get_status_some(count, requests.shown(), done, indices, statuses);
  if (rc != MPI_SUCCESS || !requests.any_active()) return rc;
  if (*done == MPI_UNDEFINED) {
    drive(nullptr);  // The MPI finds nothing to do in its part.
    *done = 0;
  }
  for (int i = requests.ready_from(0); i >= 0; i = requests.ready_from(i + 1)) {
    indices[*done] = i;
    clear(status_at(statuses, *done));
    ++*done;
  }
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace sumac::pmpi

#define SUMAC_PMPI_REQUESTS(name, parameters, arguments, ours)                                       \
  SUMAC_PMPI_NAMES(name, parameters, arguments,                                                      \
                   __builtin_expect(sumac::pmpi::concerns_us(), false) ? sumac::pmpi::ours arguments \
                                                                       : sumac::pmpi::mpi.name arguments)

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

/// The standard has const here, and MPICH 4.2 declares these functions without it.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000 && MPICH_NUMVERSION < 40300000
#define SUMAC_PMPI_LOOKED MPI_Request
#else
#define SUMAC_PMPI_LOOKED const MPI_Request
#endif

/// An MPI of an earlier version has no such function, and then no program calls it.
#define SUMAC_PMPI_LOOKS(name, parameters, arguments, ours)                                 \
  SUMAC_PMPI_FUNCTION(static int, do_##name, parameters,                                    \
                      sumac::pmpi::optional.name == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION \
                      : sumac::pmpi::concerns_us()          ? sumac::pmpi::ours arguments   \
                                                            : sumac::pmpi::optional.name arguments)  \
  SUMAC_PMPI_NAME(PMPI_##name, parameters, do_##name arguments)                             \
  SUMAC_PMPI_NAME(MPI_##name, parameters, do_##name arguments)

SUMAC_PMPI_LOOKS(Request_get_status_all, (int count, SUMAC_PMPI_LOOKED* requests, int* flag, MPI_Status* statuses),
                 (count, requests, flag, statuses), get_status_all)
SUMAC_PMPI_LOOKS(Request_get_status_any,
                 (int count, SUMAC_PMPI_LOOKED* requests, int* index, int* flag, MPI_Status* status),
                 (count, requests, index, flag, status), get_status_any)
SUMAC_PMPI_LOOKS(Request_get_status_some,
                 (int count, SUMAC_PMPI_LOOKED* requests, int* done, int* indices, MPI_Status* statuses),
                 (count, requests, done, indices, statuses), get_status_some)
