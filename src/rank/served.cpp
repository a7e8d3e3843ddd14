#include "rank/served.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace {

/// Open MPI keeps the symbols of a component from others, so the component is found by the name of its file. It is ours, and
/// serves, if it has set this variable.
int find_component(dl_phdr_info* info, std::size_t, void* serves) {
  if (!std::string_view(info->dlpi_name).ends_with("/mca_coll_hcoll.so")) return 0;
  void* const component = ::dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (component == nullptr) return 0;
  const auto* const found = static_cast<const char*>(::dlsym(component, "sumac_mpi_component_serves"));
  *static_cast<bool*>(serves) = found != nullptr && *found != 0;
  ::dlclose(component);
  return 1;
}

}  // namespace

extern "C" const char* sumac_served_by() {
  if (::dlsym(RTLD_DEFAULT, "sumac_mpi_interposed") != nullptr)
    return "the interposed library is loaded and serves all communicators";
  bool serves = false;
  ::dl_iterate_phdr(&find_component, &serves);
  return serves ? "Open MPI's component is loaded and serves all communicators" : nullptr;
}
