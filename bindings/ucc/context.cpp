#include "bindings/ucc/context.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "base/host_name.hpp"
#include "bindings/ucc/config.hpp"
#include "bindings/ucc/oob.hpp"
#include "bindings/ucc/request.hpp"
#include "bindings/ucc/team.hpp"
#include "client/fork_guard.hpp"
#include "rank/explain.h"
#include "rank/job.h"
#include "rank/last_line.hpp"
#include "rank/served.h"

namespace sumac::ucc {

void Ended::push(Request& request) noexcept {
  Request* newest = newest_.load(std::memory_order_relaxed);
  // A release: the thread that takes it sees what the operation wrote.
  do request.next_ended = newest;
  while (!newest_.compare_exchange_weak(newest, &request, std::memory_order_release, std::memory_order_relaxed));
}

Request* Ended::take() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Request* oldest = nullptr;
  for (Request* one = newest_.exchange(nullptr, std::memory_order_acquire); one != nullptr;) {
    Request* const next = std::exchange(one->next_ended, oldest);
    oldest = one;
    one = next;
  }
  return oldest;
}

std::shared_ptr<ucc_context> find(ucc_context_h handle) {
  auto found = Register<ucc_context>::own().find(handle);
  if (!found || found->is_closed) {
    (void)refuse(UCC_ERR_INVALID_PARAM, "a context that ucc_context_create() has not returned, or that is destroyed");
    return nullptr;
  }
  if (client::same_process(found->mark)) return found;
  (void)refuse(UCC_ERR_INVALID_PARAM, "a forked process can't use its parent's context: make one after the fork");
  return nullptr;
}

Duration time_limit() {
  const auto* settings = process();
  return settings == nullptr || settings->settings.timeout_ms == 0 ? Duration::max()
                                                                   : Duration(Millis{settings->settings.timeout_ms});
}

}  // namespace sumac::ucc

using sumac::Duration;
using sumac::ucc::find;
using sumac::ucc::guarded;
using sumac::ucc::refuse;
using sumac::ucc::Register;

std::uint32_t ucc_context::attempt(std::uint64_t team) {
  const std::lock_guard guard(lock);
  return ++attempts_[team];
}

void ucc_context::progress() {
  {
    std::unique_lock guard(lock, std::defer_lock);
    if (!has_threads || guard.try_lock()) {
      for (std::size_t i = 0; i < teams.size(); ++i) teams[i]->progress();
    }
  }
  if (peers && peers->is_busy()) (void)peers->progress();
  for (sumac::ucc::Request* one = ended.take(); one != nullptr;) {
    sumac::ucc::Request* const next = one->next_ended;  // A callback may free the request.
    one->conclude();
    one = next;
  }
}

namespace {

ucc_status_t meet(ucc_context& context, const ucc_oob_coll_t& oob) {
  if (const char* flaw = sumac::ucc::OobExchange::flaw(oob))
    return refuse(UCC_ERR_INVALID_PARAM, fmt::format("ucc_context_create: {}", flaw));
  // Ranks may be threads: lines bear the number of the first one.
  static std::once_flag named;
  std::call_once(named, [&] { sumac_say_as(sumac::host_name().c_str(), oob.oob_ep); });
  sumac::ucc::OobExchange exchange(oob, true, sumac::ucc::time_limit());
  const auto told = exchange.bcast(0, sumac::rank::bytes_of(sumac_job_draw_id()));
  if (!told || told->size() != sizeof context.address.job)
    return refuse(told ? UCC_ERR_INVALID_PARAM : sumac::ucc::status_of(told.error().code),
                  fmt::format("ucc_context_create: {}", told ? exchange.other_job() : told.error().context));
  std::memcpy(&context.address.job, told->data(), told->size());
  context.address.rank = exchange.rank();
  if (exchange.size() == 1) return UCC_OK;
  auto peers = sumac::rank::Peers::make(exchange, "libucc");
  if (!peers)
    return refuse(sumac::ucc::status_of(peers.error().code),
                  fmt::format("ucc_context_create: {}", peers.error().context));
  context.peers = std::move(*peers);
  return UCC_OK;
}

/// Open MPI's coll/ucc gives this prefix. Its communicators are served once; teams of the program's own are another matter. That
/// component prints an error at each rank if it gets no context, and passes on the calls that are not supported.
bool is_served(const ucc_lib_info& library, const ucc_context_params_t& params) {
  const char* const by = library.prefix == "OMPI" ? sumac_served_by() : nullptr;
  if (by == nullptr) return false;
  if ((params.mask & UCC_CONTEXT_PARAM_FIELD_OOB) != 0 && params.oob.oob_ep == 0)
    sumac_explain_none(sumac::ucc::process()->options, "", static_cast<int>(params.oob.n_oob_eps), by);
  return true;
}

}  // namespace

extern "C" {

ucc_status_t ucc_context_create(ucc_lib_h lib_handle, const ucc_context_params_t* params, const ucc_context_config_h,
                                ucc_context_h* context) {
  if (params == nullptr || context == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    auto library = find(lib_handle);
    if (!library) return UCC_ERR_INVALID_PARAM;
    auto made = std::make_shared<ucc_context>();
    made->stands_aside = is_served(*library, *params);
    made->has_threads = library->thread_mode == UCC_THREAD_MULTIPLE;
    made->library = std::move(library);
    made->mark = sumac::client::process_mark();
    if ((params->mask & UCC_CONTEXT_PARAM_FIELD_TYPE) != 0) made->type = params->type;
    if ((params->mask & UCC_CONTEXT_PARAM_FIELD_SYNC_TYPE) != 0) made->sync_type = params->sync_type;
    if ((params->mask & UCC_CONTEXT_PARAM_FIELD_OOB) != 0 && !made->stands_aside)
      if (const ucc_status_t status = meet(*made, params->oob); status != UCC_OK) return status;
    *context = Register<ucc_context>::own().add(std::move(made));
    return UCC_OK;
  });
}

ucc_status_t ucc_context_progress(ucc_context_h context) {
  if (context == nullptr) return UCC_ERR_INVALID_PARAM;
  // Its handle stays readable after its end (ucc_context_destroy).
  if (context->is_closed.load(std::memory_order_relaxed) || !sumac::client::same_process(context->mark))
    return guarded([&] { return find(context) ? UCC_OK : UCC_ERR_INVALID_PARAM; });
  return guarded([&] {
    context->progress();
    return UCC_OK;
  });
}

/// The messages end here; the handle itself stays, so that a later use is refused.
ucc_status_t ucc_context_destroy(ucc_context_h context) {
  return guarded([&] {
    const auto found = find(context);
    if (!found) return UCC_ERR_INVALID_PARAM;
    found->is_closed = true;
    found->end_teams();
    const int left = found->team_count.load();
    if (left == 0 && found->peers)
      sumac::rank::say_last_line(found->peers, found->tally, found->job_id, sumac::ucc::process()->settings);
    found->peers.reset();  // Teams that are left have it too.
    if (left > 0 && !found->stands_aside)
      return refuse(UCC_ERR_INVALID_PARAM,
                    fmt::format("ucc_context_destroy: {} of its teams are left, which run nothing any more: destroy "
                                "teams before their context",
                                left));
    return UCC_OK;
  });
}

ucc_status_t ucc_context_get_attr(ucc_context_h context, ucc_context_attr_t* context_attr) {
  if (context_attr == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto found = find(context);
    if (!found) return UCC_ERR_INVALID_PARAM;
    const std::uint64_t mask = context_attr->mask;
    if ((mask & UCC_CONTEXT_ATTR_FIELD_TYPE) != 0) context_attr->type = found->type;
    if ((mask & UCC_CONTEXT_ATTR_FIELD_SYNC_TYPE) != 0) context_attr->sync_type = found->sync_type;
    if ((mask & UCC_CONTEXT_ATTR_FIELD_CTX_ADDR) != 0) context_attr->ctx_addr = &found->address;
    if ((mask & UCC_CONTEXT_ATTR_FIELD_CTX_ADDR_LEN) != 0) context_attr->ctx_addr_len = sizeof found->address;
    // None is needed, but programs allocate as much as this and take 0 bytes for a failure.
    if ((mask & UCC_CONTEXT_ATTR_FIELD_WORK_BUFFER_SIZE) != 0) context_attr->global_work_buffer_size = 8;
    return UCC_OK;
  });
}

}  // extern "C"
