#pragma once
// The three forms of every collective (rank/forms.h) at the names of MPI: the communicator's record is found, failures go to its
// error handler, and `next`, the MPI's own function, gets `arguments` where the MPI is to do the call.
#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/errors.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/watch.hpp"
#include "rank/forms.h"

namespace sumac::pmpi {

/// The answer for a blocking call that the team has not done: the MPI does it, or it has failed.
template <class Next, class... Arguments>
[[gnu::noinline, gnu::cold]] int not_served(Communicator& communicator, sumac_coll coll, int rc, Next next,
                                            Arguments... arguments) {
  return rc == SUMAC_TO_NEXT ? sumac_form_passed(&communicator, next(arguments...))
                             : raise(communicator.handle.load(), rc, function_of(coll, SUMAC_FORM_BLOCKING));
}

template <class Next, class... Arguments>
int serve_blocking(sumac_coll coll, MPI_Comm comm, const sumac_arguments& given, Next next, Arguments... arguments) {
  Communicator* communicator = find(comm);
  if (communicator == nullptr) [[unlikely]]
    return next(arguments...);
  const int rc = sumac_form_run(communicator, coll, &given);
  return rc == MPI_SUCCESS ? rc : not_served(*communicator, coll, rc, next, arguments...);
}

/// A collective that is always the MPI's has a number behind those of teams.
constexpr bool is_left(int coll) { return coll >= SUMAC_COLLS; }

/// The same if a profile measures each call, or another profiling library has called us.
template <class Next, class... Arguments>
int blocking(int coll, MPI_Comm comm, const sumac_arguments& given, Next next, Arguments... arguments) {
  const auto serve = [&] {
    return is_left(coll) ? next(arguments...)
                         : serve_blocking(static_cast<sumac_coll>(coll), comm, given, next, arguments...);
  };
  return library.watches ? watched(coll, SUMAC_FORM_BLOCKING, comm, nullptr, given, serve) : serve();
}

/// The code of a call that the team has taken.
inline int taken(MPI_Comm comm, int rc, int coll, sumac_form form) {
  return rc == MPI_SUCCESS ? rc : raise(comm, rc, function_of(coll, form));
}

template <class Next, class... Arguments>
int serve_nonblocking(int coll, MPI_Comm comm, MPI_Request* handle, const sumac_arguments& given, Next next,
                      Arguments... arguments) {
  Communicator* communicator = is_left(coll) ? nullptr : find(comm);
  if (communicator == nullptr) return next(arguments...);
  sumac_request* made = nullptr;
  const int rc = sumac_form_post(communicator, static_cast<sumac_coll>(coll), &given, &made);
  if (rc == SUMAC_TO_NEXT) return sumac_form_spared(communicator, next(arguments...));
  return taken(comm, rc == MPI_SUCCESS ? begun(made, handle) : rc, coll, SUMAC_FORM_NONBLOCKING);
}

template <class Next, class... Arguments>
int nonblocking(int coll, MPI_Comm comm, MPI_Request* handle, const sumac_arguments& given, Next next,
                Arguments... arguments) {
  if (!library.on) return next(arguments...);
  const auto serve = [&] { return serve_nonblocking(coll, comm, handle, given, next, arguments...); };
  return library.watches ? watched(coll, SUMAC_FORM_NONBLOCKING, comm, handle, given, serve) : serve();
}

template <class Next, class... Arguments>
int serve_persistent(int coll, MPI_Comm comm, MPI_Request* handle, const sumac_arguments& given, Next next,
                     Arguments... arguments) {
  Communicator* communicator = is_left(coll) ? nullptr : find(comm);
  if (communicator == nullptr) return note_the_mpis(next(arguments...), handle);
  sumac_request* made = nullptr;
  const int rc = sumac_form_make(communicator, static_cast<sumac_coll>(coll), &given, &made);
  if (rc == SUMAC_TO_NEXT) return note_the_mpis(next(arguments...), handle);
  return taken(comm, rc == MPI_SUCCESS ? list_persistent(made, *communicator, handle) : rc, coll,
               SUMAC_FORM_PERSISTENT);
}

template <class Next, class... Arguments>
int persistent(int coll, MPI_Comm comm, MPI_Request* handle, const sumac_arguments& given, Next next,
               Arguments... arguments) {
  if (!library.on) return next(arguments...);
  const auto serve = [&] { return serve_persistent(coll, comm, handle, given, next, arguments...); };
  return library.watches ? watched(coll, SUMAC_FORM_PERSISTENT, comm, handle, given, serve) : serve();
}

}  // namespace sumac::pmpi
