#pragma once
// The MPI_Request of a nonblocking or persistent collective of ours is a request of the MPI itself, so a program may
// mix it with the MPI's own:
//   nonblocking  a generalized request; progress.cpp reports its end to the MPI.
//   persistent   a persistent receive from MPI_PROC_NULL that is never started: it lends us a handle that nobody else
//                has, and waits.cpp keeps it from the MPI.
#include <atomic>
#include <vector>

#include "bindings/pmpi/lane.hpp"
#include "bindings/pmpi/plan.hpp"

namespace sumac::pmpi {

struct Request {
  explicit Request(sumac_coll coll) : plan(coll) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// Frees what it holds of the MPI's. Not in a function that the MPI calls: MPICH 4.0 with MPI_THREAD_MULTIPLE ends the
  /// program when a generalized request's function calls MPI_Type_free.
  void let_go();

  Plan plan;
  Lane* lane = nullptr;
  sumac_op_t* op = nullptr;
  MPI_Request handle{};
  void* memory = nullptr;     ///< Packed data.
  std::vector<std::int64_t> sized;  ///< Room for our copy of counts and displacements: some programs free theirs at once.
  MPI_Datatype held[3] = {};  ///< Duplicates of types that the program may free before the end.
  MPI_Op held_op{};           ///< The program's own operation.
  bool is_persistent = false;
  bool is_active = false;  ///< Persistent: between MPI_Start and its completion by the program.
  std::atomic<bool> is_done{false};
  int code = MPI_SUCCESS;        ///< MPI_Wait returns it.
  Request* next_done = nullptr;  ///< In progress.cpp's stack.
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

/// True if a persistent request of ours exists: then calls that complete or start requests look for it.
bool persistent_exist() noexcept;
/// Returns our persistent request behind a handle; null: it is none.
Request* find_persistent(MPI_Request handle);
int start_persistent(Request& request);
/// Frees a persistent request that is not active. Its handle stays ours.
void free_persistent(Request& request);
/// Gives the handles of freed persistent requests back to the MPI; called once, at the end.
void free_handles();

/// Called by the program's thread when the operation is done: unpacks, and tells the MPI.
void finish(Request& request);

}  // namespace sumac::pmpi
