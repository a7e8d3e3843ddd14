#include "machine/hwloc_library.hpp"

#include <dlfcn.h>

namespace sumac::machine {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& to) noexcept {
  to = reinterpret_cast<Function>(::dlsym(library, name));
  return to != nullptr;
}

Error failed(const char* what) {
  return {
      Errc::unsupported,
      fmt::format("a description of the machine (HWLOC_*) is read by hwloc 2: {}: install it (libhwloc15, hwloc-libs)",
                  what)};
}

}  // namespace

Result<HwlocLibrary> open_hwloc(const char* file) {
  // The library is never closed: what it loaded itself may have handlers that run when the process ends.
  void* const library = ::dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return tl::unexpected(failed(::dlerror()));
  HwlocLibrary found;
  const bool complete = find(library, "hwloc_topology_init", found.topology_init) &&
                        find(library, "hwloc_topology_destroy", found.topology_destroy) &&
                        find(library, "hwloc_topology_set_synthetic", found.topology_set_synthetic) &&
                        find(library, "hwloc_topology_set_xml", found.topology_set_xml) &&
                        find(library, "hwloc_topology_set_flags", found.topology_set_flags) &&
                        find(library, "hwloc_topology_set_type_filter", found.topology_set_type_filter) &&
                        find(library, "hwloc_topology_load", found.topology_load) &&
                        find(library, "hwloc_topology_is_thissystem", found.topology_is_thissystem) &&
                        find(library, "hwloc_get_type_depth", found.get_type_depth) &&
                        find(library, "hwloc_get_obj_by_depth", found.get_obj_by_depth) &&
                        find(library, "hwloc_obj_type_is_dcache", found.obj_type_is_dcache) &&
                        find(library, "hwloc_bitmap_isset", found.bitmap_isset) &&
                        find(library, "hwloc_bitmap_weight", found.bitmap_weight);
  if (!complete) return tl::unexpected(failed(fmt::format("{} is another version", file).c_str()));
  return found;
}

Result<const HwlocLibrary*> HwlocLibrary::load() {
  static const Result<HwlocLibrary> loaded = open_hwloc("libhwloc.so.15");
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace sumac::machine
