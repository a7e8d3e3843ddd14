#pragma once
// The three forms of every collective. `plan` is a function of (communicator, plan) that returns Planned; `next` calls
// the MPI's own function; `bytes` is a function of a Shape (watch.hpp), for profiles. Blocking collectives make a
// communicator's team (common/worth.h says when); a nonblocking one never waits for other ranks, so it never makes one.
#include <memory>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/errors.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/watch.hpp"

namespace sumac::pmpi {

/// A call that finds no team makes it: once the communicator is worth one, or in any case.
enum class Makes : std::uint8_t { if_worth, now };

/// Returns the record of a communicator whose team may be asked for a call that may wait for other ranks, and makes the
/// team first. Null: `next` does the call, or `rc` is an error.
Communicator* with_team_slowly(Communicator& communicator, sumac_coll coll, Makes makes, int& rc);

inline Communicator* with_team(MPI_Comm comm, sumac_coll coll, int& rc, Makes makes = Makes::if_worth) {
  Communicator* communicator = find(comm);
  if (communicator == nullptr) return nullptr;
  if (communicator->life == SUMAC_LIFE_TEAM) [[likely]]
    return communicator;
  return with_team_slowly(*communicator, coll, makes, rc);
}

/// Called with the code of a collective that the MPI did because there is no team; returns the code. It counts for the
/// team (common/worth.h) unless it failed: the MPI turns away a call with wrong arguments at the rank that made it alone.
int counted(MPI_Comm comm, int rc);

/// Returns an MPI error code for a call that the team did not do; `passed` is set if the MPI must do it.
int not_done(Communicator& communicator, const sumac_call_t& call, int status, bool& passed);

/// Runs a call; `passed` is set if the MPI must do it.
inline int run_call(Communicator& communicator, const sumac_call_t& call, bool& passed) {
  const int status = sumac_team_run(communicator.ordinary.team, &call);
  if (status == SUMAC_TEAM_OK) [[likely]]
    return MPI_SUCCESS;
  passed = status == SUMAC_TEAM_PASS;
  return passed ? MPI_SUCCESS : not_done(communicator, call, status, passed);
}

/// The same for a plan that packs.
int run_packed(Communicator& communicator, Plan& plan, bool& passed);

template <class MakePlan, class Next>
[[gnu::always_inline]] inline int serve_blocking(sumac_coll coll, MPI_Comm comm, const MakePlan& make_plan,
                                                 const Next& next) {
  int rc = MPI_SUCCESS;
  Communicator* communicator = with_team(comm, coll, rc);
  if (communicator == nullptr) [[unlikely]]
    return rc != MPI_SUCCESS ? raise(comm, rc, function_of(coll, SUMAC_FORM_BLOCKING)) : counted(comm, next());
  Plan plan(coll);
  switch (make_plan(*communicator, plan)) {
    case Planned::run: break;
    case Planned::nothing: return MPI_SUCCESS;
    case Planned::not_ours: ++communicator->passed[coll][SUMAC_WHY_FUNCTION]; return next();
    case Planned::wrong: return next();
  }
  bool passed = false;
  rc = plan.packs() ? run_packed(*communicator, plan, passed) : run_call(*communicator, plan.call, passed);
  if (!passed) [[likely]]
    return rc;
  if ((rc = next()) == MPI_SUCCESS) sumac_team_passed(communicator->ordinary.team);
  return rc;
}

/// The same where a profile measures each call.
template <class MakePlan, class Next, class Bytes>
int blocking(sumac_coll coll, MPI_Comm comm, const MakePlan& make_plan, const Next& next, const Bytes& bytes) {
  if (library.plain) return serve_blocking(coll, comm, make_plan, next);  // Another profiling library called us.
  return watched(coll, SUMAC_FORM_BLOCKING, comm, nullptr, bytes,
                 [&] { return serve_blocking(coll, comm, make_plan, next); });
}

/// Returns the lane for a nonblocking call; null: the MPI does it.
Lane* lane_for_post(MPI_Comm comm, sumac_coll coll);
/// Returns whether a nonblocking call may be posted to the lane's team: our thread must be able to move it to its end.
inline bool may_be_posted(const Lane& lane, const sumac_call_t& call) {
  return lane.record->hosts == 1 || sumac_team_goes_apart(lane.team, &call);
}
/// A nonblocking collective without data is done when it begins. Returns an MPI error code.
int post_nothing(MPI_Request* handle);

template <class MakePlan, class Next>
int serve_nonblocking(sumac_coll coll, MPI_Comm comm, MPI_Request* handle, const MakePlan& make_plan,
                      const Next& next) {
  Lane* lane = lane_for_post(comm, coll);
  if (lane == nullptr) return counted(comm, next());
  auto request = std::make_unique<Request>(coll);
  switch (make_plan(owner_of(*lane), request->plan)) {
    case Planned::run: break;
    case Planned::nothing: return post_nothing(handle);
    case Planned::not_ours: ++lane->record->passed[coll][SUMAC_WHY_FUNCTION]; return next();
    case Planned::wrong: return next();
  }
  if (!may_be_posted(*lane, request->plan.call)) {
    ++lane->record->passed[coll][SUMAC_WHY_HOSTS];
    return next();
  }
  bool passed = false;
  const int rc = post(request.release(), *lane, handle, passed);
  if (passed) return next();
  return rc == MPI_SUCCESS ? rc : raise(comm, rc, function_of(coll, SUMAC_FORM_NONBLOCKING));
}

template <class MakePlan, class Next, class Bytes>
int nonblocking(sumac_coll coll, MPI_Comm comm, MPI_Request* handle, const MakePlan& make_plan, const Next& next,
                const Bytes& bytes) {
  if (library.plain) [[likely]]
    return serve_nonblocking(coll, comm, handle, make_plan, next);
  if (!library.on) return next();
  return watched(coll, SUMAC_FORM_NONBLOCKING, comm, handle, bytes,
                 [&] { return serve_nonblocking(coll, comm, handle, make_plan, next); });
}

/// A persistent collective's init may wait for other ranks, so it makes the team.
template <class MakePlan, class Next>
int serve_persistent(sumac_coll coll, MPI_Comm comm, MPI_Request* handle, const MakePlan& make_plan,
                     const Next& in_mpi) {
  const auto next = [&] { return note_the_mpis(in_mpi(), handle); };
  int rc = MPI_SUCCESS;
  Communicator* communicator = with_team(comm, coll, rc, Makes::now);
  if (communicator == nullptr)
    return rc != MPI_SUCCESS ? raise(comm, rc, function_of(coll, SUMAC_FORM_PERSISTENT)) : next();
  auto request = std::make_unique<Request>(coll);
  request->is_persistent = true;
  switch (make_plan(*communicator, request->plan)) {
    case Planned::run: break;
    case Planned::nothing: return make_persistent_nothing(request.release(), handle);
    case Planned::not_ours: ++communicator->passed[coll][SUMAC_WHY_FUNCTION]; return next();
    case Planned::wrong: return next();
  }
  Lane* lane = sumac_lane_take(communicator, &rc);
  if (lane == nullptr) {
    if (rc != MPI_SUCCESS) return raise(comm, rc, function_of(coll, SUMAC_FORM_PERSISTENT));
    ++communicator->passed[coll][SUMAC_WHY_ORDER];
    return next();
  }
  bool passed = false;
  rc = make_persistent(request.release(), *lane, handle, passed);
  if (passed) return next();
  return rc == MPI_SUCCESS ? rc : raise(comm, rc, function_of(coll, SUMAC_FORM_PERSISTENT));
}

template <class MakePlan, class Next, class Bytes>
int persistent(sumac_coll coll, MPI_Comm comm, MPI_Request* handle, const MakePlan& make_plan, const Next& next,
               const Bytes& bytes) {
  if (library.plain) return serve_persistent(coll, comm, handle, make_plan, next);
  if (!library.on) return next();
  return watched(coll, SUMAC_FORM_PERSISTENT, comm, handle, bytes,
                 [&] { return serve_persistent(coll, comm, handle, make_plan, next); });
}

}  // namespace sumac::pmpi
