#pragma once
// The MPI_Request of a nonblocking or persistent collective of ours is a request of the MPI itself, so a program may
// mix it with the MPI's own:
//   nonblocking  a generalized request; progress.cpp reports its end to the MPI.
//   persistent   a persistent receive from MPI_PROC_NULL that is never started: it lends us a handle that nobody else
//                has, and waits.cpp keeps it from the MPI.
#include <atomic>
#include <vector>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/plan.hpp"
#include "rank/progress.h"

namespace sumac::pmpi {

struct Request : sumac_done {
  explicit Request(sumac_coll coll) : plan(coll) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// From now on the lane's teams live until let_go().
  void take(Lane& used);
  /// Frees what it holds of the MPI's and of the lane. Not in a function that the MPI calls: MPICH 4.0 with
  /// MPI_THREAD_MULTIPLE ends the program when a generalized request's function calls MPI_Type_free.
  void let_go();

  Plan plan;
  Lane* lane = nullptr;
  sumac_op_t* op = nullptr;
  MPI_Request handle{};
  void* memory = nullptr;             ///< Packed data.
  std::vector<std::int64_t> numbers;  ///< Our copy of counts and displacements: some programs free theirs at once.
  MPI_Datatype held[3] = {};          ///< Duplicates of types that the program may free before the end.
  MPI_Op held_op{};                   ///< The program's own operation.
  bool is_persistent = false;
  bool is_the_mpis = false;  ///< Persistent, and the MPI does it: see note_the_mpis().
  bool is_active = false;    ///< Persistent: between MPI_Start and its completion by the program.
  std::atomic<bool> is_done{false};
  int code = MPI_SUCCESS;  ///< MPI_Wait returns it.
};

/// Takes what the plan refers to into the request's own hands. Returns an MPI error code.
int keep_data(Request& request, const Communicator& communicator);

/// Posts it to the lane's team; `*handle` is set on MPI_SUCCESS. `passed` is set if the MPI must do it. The request is
/// freed on any other end.
int post(Request* request, Lane& lane, MPI_Request* handle, bool& passed);
/// Makes a persistent request in its lane, with the same answers.
int make_persistent(Request* request, Lane& lane, MPI_Request* handle, bool& passed);

/// Makes a persistent request without data: it is done when it is started.
int make_persistent_nothing(Request* request, MPI_Request* handle);
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
