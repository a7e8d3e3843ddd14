#include "bindings/xccl/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace sumac::xccl {

xccl_status_t status_of(ucc_status_t status) noexcept {
  switch (status) {
    case UCC_OK: return XCCL_OK;
    case UCC_INPROGRESS:
    case UCC_OPERATION_INITIALIZED: return XCCL_INPROGRESS;
    case UCC_ERR_NOT_SUPPORTED: return XCCL_ERR_UNSUPPORTED;
    case UCC_ERR_NOT_IMPLEMENTED: return XCCL_ERR_NOT_IMPLEMENTED;
    case UCC_ERR_INVALID_PARAM: return XCCL_ERR_INVALID_PARAM;
    case UCC_ERR_NO_MEMORY: return XCCL_ERR_NO_MEMORY;
    case UCC_ERR_NO_RESOURCE: return XCCL_ERR_NO_RESOURCE;
    case UCC_ERR_NOT_FOUND: return XCCL_ERR_NO_ELEM;
    case UCC_ERR_TIMED_OUT: return XCCL_ERR_NO_PROGRESS;
    default: return XCCL_ERR_NO_MESSAGE;
  }
}

/// The program's OOB answers with it.
ucc_status_t status_of(xccl_status_t status) noexcept {
  return status == XCCL_OK ? UCC_OK : status == XCCL_INPROGRESS ? UCC_INPROGRESS : UCC_ERR_NO_MESSAGE;
}

const TeamLibrary* team_library_of(std::uint64_t id) noexcept {
  const auto* found = std::find_if(std::begin(kTeamLibraries), std::end(kTeamLibraries),
                                   [&](const TeamLibrary& one) { return one.id == id; });
  return found == std::end(kTeamLibraries) ? nullptr : found;
}

}  // namespace sumac::xccl

using sumac::xccl::find;
using sumac::xccl::guarded;
using sumac::xccl::kTeamLibraries;
using sumac::xccl::refuse;
using sumac::xccl::Register;

extern "C" {

/// The configuration is not looked at: some programs (XCCL's own tests) hand in a pointer that they never set.
xccl_status_t xccl_lib_init(const xccl_lib_params_t* params, const xccl_lib_config_t*, xccl_lib_h* lib_p) {
  if (params == nullptr || lib_p == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto has = [&](std::uint64_t bit) { return (params->field_mask & bit) != 0; };
    constexpr std::uint64_t kUsage =
        XCCL_LIB_PARAMS_TEAM_USAGE_HW_COLLECTIVES | XCCL_LIB_PARAMS_TEAM_USAGE_SW_COLLECTIVES;
    auto library = std::make_shared<xccl_lib>();
    if (has(XCCL_LIB_PARAM_FIELD_THREAD_MODE)) library->thread_mode = params->thread_mode;
    if (!sumac::xccl::is_thread_mode(library->thread_mode))
      return refuse(XCCL_ERR_INVALID_PARAM, "xccl_lib_params_t: there is no such thread_mode");
    if (has(XCCL_LIB_PARAM_FIELD_COLL_TYPES) && (params->coll_types & ~std::uint64_t{XCCL_COLL_CAP_ALL}) != 0)
      return refuse(XCCL_ERR_UNSUPPORTED, "xccl_lib_params_t: coll_types has an unknown collective");
    if (has(XCCL_LIB_PARAM_FIELD_TEAM_USAGE) && (params->team_usage & ~kUsage) != 0)
      return refuse(XCCL_ERR_UNSUPPORTED, "xccl_lib_params_t: team_usage has an unknown bit");
    *lib_p = Register<xccl_lib>::own().add(std::move(library));
    return XCCL_OK;
  });
}

/// Contexts that are left keep what they need of it.
void xccl_lib_cleanup(xccl_lib_h lib) {
  (void)guarded([&] { return Register<xccl_lib>::own().take(lib) ? XCCL_OK : XCCL_ERR_INVALID_PARAM; });
}

xccl_status_t xccl_get_tl_list(xccl_lib_h lib, xccl_tl_id_t** tls, unsigned* tl_count) {
  if (tls == nullptr || tl_count == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    if (!find(lib, "library")) return XCCL_ERR_INVALID_PARAM;
    *tls = static_cast<xccl_tl_id_t*>(std::malloc(std::size(kTeamLibraries) * sizeof **tls));
    if (*tls == nullptr) return XCCL_ERR_NO_MEMORY;
    *tl_count = static_cast<unsigned>(std::size(kTeamLibraries));
    std::transform(std::begin(kTeamLibraries), std::end(kTeamLibraries), *tls, [](const auto& one) { return one.id; });
    return XCCL_OK;
  });
}

void xccl_free_tl_list(xccl_tl_id_t* tls) { std::free(tls); }

xccl_status_t xccl_tl_query(xccl_lib_h lib, xccl_tl_id_t* tl, xccl_tl_attr_t* tl_attr) {
  if (tl == nullptr || tl_attr == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    if (!find(lib, "library")) return XCCL_ERR_INVALID_PARAM;
    const auto* const found = sumac::xccl::team_library_of(*tl);
    if (found == nullptr)
      return refuse(XCCL_ERR_INVALID_PARAM, fmt::format("xccl_tl_query: there is no team library {}; ucx, hier, sharp "
                                                        "and shmseg are there",
                                                        static_cast<unsigned>(*tl)));
    if ((tl_attr->field_mask & XCCL_TL_ATTR_FIELD_CONTEXT_CREATE_MODE) != 0) tl_attr->context_create_mode = found->mode;
    if ((tl_attr->field_mask & XCCL_TL_ATTR_FIELD_DEVICES_COUNT) != 0) tl_attr->devices_count = 0;
    if ((tl_attr->field_mask & XCCL_TL_ATTR_FILED_DEVICES) != 0) tl_attr->devices = nullptr;
    return XCCL_OK;
  });
}

/// Its devices are always null.
void xccl_free_tl_attr(xccl_tl_attr_t*) {}

}  // extern "C"
