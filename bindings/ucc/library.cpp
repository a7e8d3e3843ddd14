#include "bindings/ucc/library.hpp"

#include <fmt/format.h>

#include "bindings/ucc/config.hpp"
#include "bindings/ucc/types.hpp"

namespace sumac::ucc {

std::shared_ptr<ucc_lib_info> find(ucc_lib_h handle) {
  auto found = Register<ucc_lib_info>::own().find(handle);
  if (!found) (void)refuse(UCC_ERR_INVALID_PARAM, "a library handle that ucc_init() has not returned, or is finalized");
  return found;
}

const sumac_process* process() {
  const sumac_process* const read = sumac_process_own();
  if (read == nullptr) return nullptr;
  if (read->settings.enable == 0) {
    (void)refuse(UCC_ERR_NOT_SUPPORTED, "SUMAC_ENABLE=0 switches this library off");
    return nullptr;
  }
  return read;
}

}  // namespace sumac::ucc

using sumac::ucc::guarded;
using sumac::ucc::Register;

extern "C" {

ucc_status_t ucc_init_version(unsigned api_major_version, unsigned api_minor_version, const ucc_lib_params_t* params,
                              const ucc_lib_config_h config, ucc_lib_h* lib_p) {
  if (params == nullptr || lib_p == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    if (api_major_version != UCC_API_MAJOR)
      return sumac::ucc::refuse(UCC_ERR_NOT_SUPPORTED,
                                fmt::format("the program was compiled with level {}.{} of the Teams API, and this "
                                            "library has {}.{}: compile it with the headers of level 1",
                                            api_major_version, api_minor_version, UCC_API_MAJOR, UCC_API_MINOR));
    if (sumac::ucc::process() == nullptr) return UCC_ERR_NOT_SUPPORTED;
    auto library = std::make_shared<ucc_lib_info>();
    library->api_minor = api_minor_version;
    if ((params->mask & UCC_LIB_PARAM_FIELD_THREAD_MODE) != 0) library->thread_mode = params->thread_mode;
    if ((params->mask & UCC_LIB_PARAM_FIELD_SYNC_TYPE) != 0) library->sync_type = params->sync_type;
    if (library->thread_mode > UCC_THREAD_MULTIPLE)
      return sumac::ucc::refuse(UCC_ERR_INVALID_PARAM, "ucc_lib_params_t: there is no such thread_mode");
    // The collectives that a program needs must exist; ucc_lib_get_attr() names all.
    if ((params->mask & UCC_LIB_PARAM_FIELD_COLL_TYPES) != 0 && (params->coll_types & ~sumac::ucc::kCollTypes) != 0)
      return sumac::ucc::refuse(UCC_ERR_NOT_SUPPORTED, "ucc_lib_params_t: coll_types has an unknown collective");
    if (config != nullptr && config->prefix != "UCC_")
      library->prefix = config->prefix.substr(0, config->prefix.size() - sizeof "_UCC_" + 1);
    *lib_p = Register<ucc_lib_info>::own().add(std::move(library));
    return UCC_OK;
  });
}

/// Contexts that are left keep what they need of it.
ucc_status_t ucc_finalize(ucc_lib_h lib_p) {
  return guarded([&] {
    return Register<ucc_lib_info>::own().take(lib_p)
               ? UCC_OK
               : sumac::ucc::refuse(UCC_ERR_INVALID_PARAM, "ucc_finalize: the library is finalized already");
  });
}

ucc_status_t ucc_lib_get_attr(ucc_lib_h lib_p, ucc_lib_attr_t* lib_attr) {
  if (lib_attr == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto library = sumac::ucc::find(lib_p);
    if (!library) return UCC_ERR_INVALID_PARAM;
    if ((lib_attr->mask & UCC_LIB_ATTR_FIELD_THREAD_MODE) != 0) lib_attr->thread_mode = library->thread_mode;
    if ((lib_attr->mask & UCC_LIB_ATTR_FIELD_COLL_TYPES) != 0) lib_attr->coll_types = sumac::ucc::kCollTypes;
    if ((lib_attr->mask & UCC_LIB_ATTR_FIELD_REDUCTION_TYPES) != 0)
      lib_attr->reduction_types = sumac::ucc::kReductionTypes;
    if ((lib_attr->mask & UCC_LIB_ATTR_FIELD_SYNC_TYPE) != 0) lib_attr->sync_type = library->sync_type;
    return UCC_OK;
  });
}

}  // extern "C"
