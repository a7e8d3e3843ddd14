// Runs and posts the client's collectives, and offers them.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "bindings/hcoll/operation.hpp"
#include "client/fork_guard.hpp"

namespace sumac::hcoll {
namespace {

/// Some ranks may have the result and some not. The interface has no word for this: after any status the client would do the
/// collective again, and ranks that have it would not come.
[[noreturn, gnu::cold]] void end_process(const Team& team, int coll) {
  const char* why = sumac_team_error(team.team());
  SUMAC_SAY("hcoll: %s failed: %s (communicator %s); the process ends", sumac_coll_name(coll),
            why[0] == '\0' ? "there is no memory" : why, team.name.c_str());
  ::_exit(EXIT_FAILURE);
}

/// The contexts whose blocking collectives this thread is in: while it waits there it drives the client, which may call anything.
thread_local std::vector<const Team*> waiting_in;

int run(Operation& operation) {
  const Team& team = *operation.team;
  waiting_in.push_back(&team);
  const int status = sumac_team_run(team.team(), &operation.call);
  waiting_in.pop_back();
  switch (status) {
    case SUMAC_TEAM_OK: operation.conclude(); return HCOLL_SUCCESS;
    case SUMAC_TEAM_PASS: return HCOLL_ERR_NOT_AVAILABLE;
    case SUMAC_TEAM_INVALID: return HCOLL_ERR_BAD_PARAM;
    default: end_process(team, operation.call.coll);
  }
}

/// An operation under way. It ends in the thread that moves its team.
struct Posted {
  Operation operation;
  void* handle = nullptr;  ///< The client's.
  sumac_op_t* op = nullptr;

  static void done(void* self, int status) {
    const std::unique_ptr<Posted> own(static_cast<Posted*>(self));
    if (status != SUMAC_TEAM_OK) end_process(*own->operation.team, own->operation.call.coll);
    own->operation.conclude();
    sumac_op_free(own->op);
    posted.fetch_sub(1, std::memory_order_relaxed);
    complete(own->handle);
  }
};

int post(Operation operation, void** handle) {
  auto& client = hcoll_rte_functions;
  Team& team = *operation.team;
  if (operation.is_empty) {
    void* const made = client.rte_get_coll_handle_fn();
    if (made == nullptr) return HCOLL_ERR_OUT_OF_RESOURCE;
    *handle = made;
    client.rte_coll_handle_complete_fn(made);
    return HCOLL_SUCCESS;
  }
  auto own = std::make_unique<Posted>(Posted{std::move(operation)});
  switch (sumac_op_create(team.team(), &own->operation.call, &Posted::done, own.get(), &own->op)) {
    case SUMAC_TEAM_OK: break;
    case SUMAC_TEAM_PASS: return HCOLL_ERR_NOT_AVAILABLE;
    case SUMAC_TEAM_INVALID: return HCOLL_ERR_BAD_PARAM;
    default: end_process(team, own->operation.call.coll);
  }
  own->handle = client.rte_get_coll_handle_fn();
  if (own->handle == nullptr) {
    sumac_op_free(own->op);
    return HCOLL_ERR_OUT_OF_RESOURCE;
  }
  *handle = own->handle;
  posted.fetch_add(1, std::memory_order_relaxed);
  Posted* const started = own.release();  // done() may end it at once.
  const int coll = started->operation.call.coll;
  const Moving moving;
  if (sumac_op_begin(started->op) != SUMAC_TEAM_OK) end_process(team, coll);
  return HCOLL_SUCCESS;
}

/// Calls `use` with the operation of a context, once it has read the arguments.
template <class Read, class Use>
int with(void* context, Read read, Use use) noexcept {
  Team* const team = find(context);
  // An MPI may still call a barrier for a communicator whose context it has freed, and does that one itself.
  if (team == nullptr) return HCOLL_ERR_BAD_PARAM;
  if (!client::same_process(library().mark)) return check_process("a collective");
  return guarded([&] {
    Operation operation(*team);
    const int status = read(operation);
    return status == HCOLL_SUCCESS ? use(operation) : status;
  });
}

/// Ends what was posted, before a blocking collective begins: the client may call anything where its object completes, so that is here,
/// and not in the team.
void end_posted(void* context) {
  const Team* team = nullptr;
  while ((team = find(context)) != nullptr && client::same_process(library().mark) &&
         sumac_team_active(team->team()) != 0)
    if (progress() == 0) {
      drive(nullptr);
      ::sched_yield();
    }
}

template <class Read>
int blocking(void* context, Read read) noexcept {
  return guarded([&] {
    if (std::find(waiting_in.begin(), waiting_in.end(), find(context)) != waiting_in.end())
      return refuse(HCOLL_ERR_RESOURCE_BUSY, "a blocking collective is called inside another one of the same context");
    end_posted(context);
    return with(context, read,
                [](Operation& operation) { return operation.is_empty ? HCOLL_SUCCESS : run(operation); });
  });
}

template <class Read>
int nonblocking(void* context, void** handle, Read read) noexcept {
  if (handle == nullptr) return HCOLL_ERR_BAD_PARAM;
  return with(context, read, [&](Operation& operation) { return post(std::move(operation), handle); });
}

/// The member of hcoll_collectives for a function of Operation. The handle is the last argument.
template <auto Function>
struct Member;
template <class... Args, int (Operation::*Function)(Args...)>
struct Member<Function> {
  static int run(Args... args, void* context) {
    return blocking(context, [&](Operation& operation) { return (operation.*Function)(args...); });
  }
  static int post(Args... args, void* context, void** handle) {
    return nonblocking(context, handle, [&](Operation& operation) { return (operation.*Function)(args...); });
  }
};

/// Its handle comes before the context.
int ibcast(void* buffer, int count, Dte type, int root, void** handle, void* context) {
  return Member<&Operation::bcast>::post(buffer, count, type, root, context, handle);
}

/// MPICH from 4.0 on gives arrays of 64-bit numbers to functions that take int, and 4.0 has the tags of 3.4.
int no_alltoallv(void*, int*, int*, Dte, void*, int*, int*, Dte, void*) { return HCOLL_ERR_NOT_SUPPORTED; }

/// Offers these no more.
template <auto... Which>
void without(hcoll_collectives_t& offered) {
  ((offered.*Which = nullptr), ...);
}

constexpr hcoll_collectives_t kAll = {
    .coll_allgather = &Member<&Operation::equal_blocks<SUMAC_COLL_ALLGATHER>>::run,
    .coll_allgatherv = &Member<&Operation::allgatherv>::run,
    .coll_allreduce = &Member<&Operation::reduction<SUMAC_COLL_ALLREDUCE>>::run,
    .coll_alltoall = &Member<&Operation::equal_blocks<SUMAC_COLL_ALLTOALL>>::run,
    .coll_alltoallv = &Member<&Operation::alltoallv>::run,
    // Two ranks may have types that the others lack, so no answer would be the same at all ranks.
    .coll_alltoallw = nullptr,
    .coll_barrier = &Member<&Operation::barrier>::run,
    .coll_bcast = &Member<&Operation::bcast>::run,
    .coll_exscan = &Member<&Operation::reduction<SUMAC_COLL_EXSCAN>>::run,
    .coll_gather = &Member<&Operation::gather>::run,
    .coll_gatherv = &Member<&Operation::gatherv>::run,
    .coll_reduce = &Member<&Operation::reduce>::run,
    .coll_reduce_scatter = &Member<&Operation::reduce_scatter>::run,
    .coll_reduce_scatter_block = &Member<&Operation::reduction<SUMAC_COLL_REDUCE_SCATTER_BLOCK>>::run,
    .coll_scan = &Member<&Operation::reduction<SUMAC_COLL_SCAN>>::run,
    .coll_scatter = &Member<&Operation::scatter>::run,
    .coll_scatterv = &Member<&Operation::scatterv>::run,
    .coll_ibarrier = &Member<&Operation::barrier>::post,
    .coll_ibcast = &ibcast,
    .coll_iallgather = &Member<&Operation::equal_blocks<SUMAC_COLL_ALLGATHER>>::post,
    .coll_iallgatherv = &Member<&Operation::allgatherv>::post,
    .coll_iallreduce = &Member<&Operation::reduction<SUMAC_COLL_ALLREDUCE>>::post,
    .coll_ireduce = &Member<&Operation::reduce>::post,
    .coll_igatherv = &Member<&Operation::gatherv>::post,
    .coll_ialltoallv = &Member<&Operation::alltoallv>::post,
};

}  // namespace

void offer_collectives(int base_tag) {
  auto& offered = hcoll_collectives = kAll;
  if (is_of_mpich(base_tag)) offered.coll_alltoallv = &no_alltoallv;
  // Open MPI alone has negative tags. Its component does a call by itself where its own rank's type has no number here, or where a
  // root in place gives no type, and does not ask whether other ranks do. That is right only where all ranks have one type: in
  // reductions, and where it asks this library for derived types, which serves them.
  using C = hcoll_collectives_t;
  if (base_tag < 0)
    without<&C::coll_allgatherv, &C::coll_iallgatherv, &C::coll_alltoall, &C::coll_alltoallv, &C::coll_ialltoallv,
            &C::coll_gatherv, &C::coll_igatherv, &C::coll_scatterv>(offered);
  const auto& client = hcoll_rte_functions;
  if (client.rte_get_coll_handle_fn == nullptr || client.rte_coll_handle_complete_fn == nullptr)
    without<&C::coll_ibarrier, &C::coll_ibcast, &C::coll_iallgather, &C::coll_iallgatherv, &C::coll_iallreduce,
            &C::coll_ireduce, &C::coll_igatherv, &C::coll_ialltoallv>(offered);
  // The component also mistakes the next module where one of these refuses a call.
  const sumac_process* const process = sumac_process_own();
  const auto is_off = [&](sumac_coll coll) {
    return process != nullptr && process->options != nullptr &&
           sumac_team_options_disables(process->options, coll) != 0;
  };
  if (is_off(SUMAC_COLL_GATHERV)) offered.coll_gatherv = nullptr;
  if (is_off(SUMAC_COLL_REDUCE_SCATTER) || library().mistakes_long) offered.coll_reduce_scatter = nullptr;
  if (is_off(SUMAC_COLL_REDUCE_SCATTER_BLOCK) || library().mistakes_long) offered.coll_reduce_scatter_block = nullptr;
}

}  // namespace sumac::hcoll

#pragma GCC visibility push(default)
hcoll_collectives_t hcoll_collectives = sumac::hcoll::kAll;
#pragma GCC visibility pop

extern "C" int init_hcoll_collectives() {
  return sumac::hcoll::guarded([] {
    sumac::hcoll::offer_collectives(static_cast<int>(sumac::hcoll::library().tag));
    return HCOLL_SUCCESS;
  });
}
