#include <fmt/format.h>

#include <utility>

#include "base/host_name.hpp"
#include "bindings/xccl/team.hpp"

namespace sumac::xccl {

const char* Oob::flaw(const xccl_oob_collectives_t& oob) noexcept {
  if (oob.allgather == nullptr || oob.req_test == nullptr || oob.req_free == nullptr) return "the OOB lacks a function";
  if (oob.size < 1 || oob.rank < 0 || oob.rank >= oob.size) return "the OOB's rank is not one of its ranks";
  return nullptr;
}

ucc_oob_coll_t Oob::as_ucc() {
  // The requests are the program's own, whose functions take nothing else; so the first function's pointer finds the others.
  struct Pending {
    Oob* oob;
    void* request;
  };
  return {.allgather =
              [](void* src, void* recv, size_t bytes, void* self, void** request) {
                auto& oob = *static_cast<Oob*>(self);
                auto pending = std::make_unique<Pending>(Pending{&oob, nullptr});
                if (oob.program.allgather(src, recv, bytes, oob.rank, oob.range, oob.program.coll_context,
                                          &pending->request) < 0)
                  return UCC_ERR_NO_MESSAGE;
                *request = pending.release();
                return UCC_OK;
              },
          .req_test =
              [](void* request) {
                const auto& pending = *static_cast<Pending*>(request);
                return status_of(pending.oob->program.req_test(pending.request));
              },
          .req_free =
              [](void* request) {
                const std::unique_ptr<Pending> pending(static_cast<Pending*>(request));
                return status_of(pending->oob->program.req_free(pending->request));
              },
          .coll_info = this,
          .n_oob_eps = static_cast<std::uint32_t>(size),
          .oob_ep = static_cast<std::uint32_t>(rank)};
}

}  // namespace sumac::xccl

using sumac::xccl::find;
using sumac::xccl::guarded;
using sumac::xccl::Oob;
using sumac::xccl::refuse;
using sumac::xccl::Register;
using sumac::xccl::status_of;

xccl_status_t xccl_context::progress() {
  if (is_closed) return refuse(XCCL_ERR_INVALID_PARAM, "a context is used after its end");
  if (const xccl_status_t status = status_of(ucc_context_progress(context)); status != XCCL_OK) return status;
  // Another thread moves the same queues.
  if (const std::unique_lock guard(lock, std::try_to_lock); guard.owns_lock())
    for (xccl_team_h team : teams) {
      const std::lock_guard of_team(team->lock);
      team->step();
    }
  return XCCL_OK;
}

namespace {

/// Bits of the team libraries that the context has; 0: none.
std::uint64_t libraries_of(const xccl_context_params_t& params) {
  std::uint64_t found = 0;
  for (const auto& one : sumac::xccl::kTeamLibraries)
    if ((params.field_mask & XCCL_CONTEXT_PARAM_FIELD_TLS) == 0 || (params.tls & one.id) != 0) found |= one.id;
  return found;
}

xccl_status_t open(xccl_context& context, unsigned thread_mode) {
  ucc_lib_params_t lib{};
  lib.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE;
  lib.thread_mode = thread_mode == XCCL_THREAD_MODE_MULTIPLE ? UCC_THREAD_MULTIPLE : UCC_THREAD_SINGLE;
  if (const auto status = ucc_init(&lib, nullptr, &context.library); status != UCC_OK) return status_of(status);
  ucc_context_params_t params{};
  if (context.meets) {
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = context.oob.as_ucc();
  }
  const auto status = ucc_context_create(context.library, &params, nullptr, &context.context);
  if (status != UCC_OK) (void)ucc_finalize(context.library);
  return status_of(status);
}

}  // namespace

extern "C" {

xccl_status_t xccl_context_create(xccl_lib_h lib, const xccl_context_params_t* params, const xccl_context_config_t*,
                                  xccl_context_h* context) {
  if (params == nullptr || context == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto library = find(lib, "library");
    if (!library) return XCCL_ERR_INVALID_PARAM;
    const auto has = [&](std::uint64_t bit) { return (params->field_mask & bit) != 0; };
    const unsigned mode =
        has(XCCL_CONTEXT_PARAM_FIELD_THREAD_MODE) ? sumac::rank::number_of(params->thread_mode) : library->thread_mode;
    if (!sumac::xccl::is_thread_mode(mode))
      return refuse(XCCL_ERR_INVALID_PARAM, "xccl_context_params_t: there is no such thread_mode");
    if (has(XCCL_CONTEXT_PARAM_FIELD_TEAM_COMPLETION_TYPE) &&
        sumac::rank::number_of(params->completion_type) > XCCL_TEAM_COMPLETION_TYPE_SPLIT_PHASE)
      return refuse(XCCL_ERR_INVALID_PARAM, "xccl_context_params_t: there is no such completion_type");
    const std::uint64_t libraries = libraries_of(*params);
    if (libraries == 0)
      return refuse(XCCL_ERR_UNSUPPORTED,
                    "xccl_context_params_t: tls names none of ucx, hier, sharp and shmseg, which are there");
    auto made = std::make_shared<xccl_context>();
    made->has_oob = has(XCCL_CONTEXT_PARAM_FIELD_OOB);
    if (made->has_oob) {
      if (const char* flaw = Oob::flaw(params->oob))
        return refuse(XCCL_ERR_INVALID_PARAM, fmt::format("xccl_context_create: {}", flaw));
      made->oob = {params->oob, {}, params->oob.rank, params->oob.size};
      sumac_say_as(sumac::host_name().c_str(), static_cast<unsigned>(params->oob.rank));
    }
    // A context of local libraries alone may be made by some ranks only: its teams meet by themselves.
    const bool is_global = (libraries & (XCCL_TL_HIER | XCCL_TL_SHARP)) != 0;
    made->meets = made->has_oob && is_global && made->oob.size > 1;
    const xccl_status_t status = open(*made, mode);
    if (status == XCCL_OK) *context = Register<xccl_context>::own().add(std::move(made));
    return status;
  });
}

xccl_status_t xccl_context_progress(xccl_context_h handle) {
  return guarded([&] {
    const auto context = find(handle, "context");
    return context ? context->progress() : XCCL_ERR_INVALID_PARAM;
  });
}

xccl_status_t xccl_context_destroy(xccl_context_h handle) {
  return guarded([&] {
    const auto context = Register<xccl_context>::own().take(handle);
    if (!context) return refuse(XCCL_ERR_INVALID_PARAM, "xccl_context_destroy: the context is none, or has ended");
    context->is_closed = true;
    const auto status = ucc_context_destroy(context->context);
    (void)ucc_finalize(context->library);
    return status_of(status);
  });
}

xccl_status_t xccl_ctx_query(xccl_context_h handle, xccl_ctx_attr_t* attr) {
  if (attr == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    if (!find(handle, "context")) return XCCL_ERR_INVALID_PARAM;
    if ((attr->field_mask & XCCL_CTX_ATTR_FIELD_SUPPORTED_COLLS) != 0) attr->supported_colls = XCCL_COLL_CAP_ALL;
    return XCCL_OK;
  });
}

/// It holds nothing.
void xccl_free_ctx_attr(xccl_ctx_attr_t*) {}

}  // extern "C"
