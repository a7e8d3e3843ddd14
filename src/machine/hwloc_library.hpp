#pragma once
// hwloc, opened when a description stands for the machine. No other process loads it: ours would then be the hwloc of an
// MPI program, whose MPI may need another version, and old systems have none.
#include <hwloc.h>

#include "base/result.hpp"

namespace sumac::machine {

struct HwlocLibrary {
  decltype(&hwloc_topology_init) topology_init = nullptr;
  decltype(&hwloc_topology_destroy) topology_destroy = nullptr;
  decltype(&hwloc_topology_set_synthetic) topology_set_synthetic = nullptr;
  decltype(&hwloc_topology_set_xml) topology_set_xml = nullptr;
  decltype(&hwloc_topology_set_flags) topology_set_flags = nullptr;
  decltype(&hwloc_topology_set_type_filter) topology_set_type_filter = nullptr;
  decltype(&hwloc_topology_load) topology_load = nullptr;
  decltype(&hwloc_topology_is_thissystem) topology_is_thissystem = nullptr;
  decltype(&hwloc_get_type_depth) get_type_depth = nullptr;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth = nullptr;
  decltype(&hwloc_obj_type_is_dcache) obj_type_is_dcache = nullptr;
  decltype(&hwloc_bitmap_isset) bitmap_isset = nullptr;
  decltype(&hwloc_bitmap_weight) bitmap_weight = nullptr;

  /// Returns the library of this process, opened at the first call.
  static Result<const HwlocLibrary*> load();
};

/// The same for a given file, for tests.
Result<HwlocLibrary> open_hwloc(const char* file);

}  // namespace sumac::machine
