#pragma once
// The MPI_Request of a nonblocking or persistent collective of ours is a request of the MPI itself, so a program may
// mix it with the MPI's own:
//   nonblocking  a generalized request; progress.cpp reports its end to the MPI.
//   persistent   a persistent receive from MPI_PROC_NULL that is never started: it lends us a handle that nobody else
//                has, and waits.cpp keeps it from the MPI.
#include <atomic>

#include "bindings/pmpi/communicator.hpp"
#include "rank/requests.h"

namespace sumac::pmpi {

/// `owner` is held until let_go(): the teams live as long.
struct Request : sumac_request {
  Request(Communicator& of, bool persistent);
  Request() = default;  ///< One of the MPI's.
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// Frees what it holds of the MPI's and of the lane. Not in a function that the MPI calls: MPICH 4.0 with
  /// MPI_THREAD_MULTIPLE ends the program when a generalized request's function calls MPI_Type_free.
  void let_go();

  Communicator* owner = nullptr;
  MPI_Request handle{};
  bool is_begun = false;     ///< The MPI has its generalized request.
  bool is_the_mpis = false;  ///< Persistent, and the MPI does it: see note_the_mpis().
  bool is_active = false;    ///< Persistent: between MPI_Start and its completion by the program.
  std::atomic<bool> is_done{false};
  int code = MPI_SUCCESS;  ///< MPI_Wait returns it.
};

/// These serve as the functions of the runtime.
sumac_request* new_request(sumac_record* record, bool is_persistent);
int begin_request(sumac_request* request);
void drop_request(sumac_request* request);

/// Returns the handle of a nonblocking request that is posted; null: there was nothing to do, so it is done when it begins.
/// Returns an MPI error code.
int begun(sumac_request* made, MPI_Request* handle);
/// Gives a persistent request its handle, and lists it. Null: it has no data, and is done when it is started.
int list_persistent(sumac_request* made, Communicator& communicator, MPI_Request* handle);
/// Lists a persistent collective that the MPI has made, if `rc` is MPI_SUCCESS; returns `rc`. MPICH 4.0's MPI_Testall, MPI_Testany and
/// MPI_Testsome fail on them, so waits.cpp, where it tests a program's array in place of a wait, tests them one by one.
int note_the_mpis(int rc, const MPI_Request* handle);

/// True if a listed persistent request exists: then calls that complete or start requests look for it.
bool persistent_exist() noexcept;
/// Returns the listed persistent request behind a handle; null: it is none.
Request* find_persistent(MPI_Request handle);
int start_persistent(Request& request);
/// Frees a persistent request that is not active. The handle of one of ours stays ours.
int free_persistent(Request& request);
/// Gives the handles of freed persistent requests back to the MPI; called once, at the end.
void free_handles();

/// Called by the program's thread when the operation is done: unpacks, and tells the MPI.
void finish(Request& request);

}  // namespace sumac::pmpi
