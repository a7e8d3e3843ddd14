// The thorough reader, for a machine that a text or an XML file describes, or for this machine with all its processors.
// It uses hwloc's logical numbers, because a description need not have others.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "machine/discover.hpp"
#include "machine/hwloc_library.hpp"

namespace sumac::machine {
namespace {

struct TopologyDelete {
  const HwlocLibrary* hwloc;
  void operator()(hwloc_topology_t topology) const noexcept { hwloc->topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDelete>;

const char* environment_text(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// The description is passed explicitly, although hwloc reads the variables itself: hwloc would silently fall back to
/// the real machine if it did not understand one.
Result<Topology> load(const HwlocLibrary& hwloc) {
  hwloc_topology_t raw = nullptr;
  if (hwloc.topology_init(&raw) != 0) return fail_errno("hwloc_topology_init");
  Topology topology{raw, TopologyDelete{&hwloc}};
  if (const char* text = environment_text("HWLOC_SYNTHETIC")) {
    if (hwloc.topology_set_synthetic(raw, text) != 0)
      return fail(Errc::invalid,
                  "HWLOC_SYNTHETIC={}: hwloc does not understand it: expected such as \"package:2 core:4 pu:1\"", text);
  } else if (const char* file = environment_text("HWLOC_XMLFILE")) {
    if (hwloc.topology_set_xml(raw, file) != 0)
      return fail(Errc::invalid, "HWLOC_XMLFILE={}: hwloc cannot read it: {}", file, std::strerror(errno));
  }
  hwloc.topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  for (const auto type : {HWLOC_OBJ_PCI_DEVICE, HWLOC_OBJ_OS_DEVICE, HWLOC_OBJ_BRIDGE, HWLOC_OBJ_MISC})
    hwloc.topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc.topology_load(raw) != 0) return fail_errno("hwloc_topology_load");
  return topology;
}

/// Returns the object of this type with this logical number, or nullptr behind the last one.
hwloc_obj_t object(const HwlocLibrary& hwloc, hwloc_topology_t topology, hwloc_obj_type_t type, unsigned number) {
  return hwloc.get_obj_by_depth(topology, hwloc.get_type_depth(topology, type), number);
}

std::int32_t number_above(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t pu) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return found != nullptr ? static_cast<std::int32_t>(found->logical_index) : topo::kUnknown;
}

/// Returns the nearest NUMA node: among the nodes whose processors include this one, the node with the fewest.
/// Memory-only nodes (and high-bandwidth memory) belong to a larger set of processors.
std::int32_t node_of(const HwlocLibrary& hwloc, hwloc_topology_t topology, hwloc_obj_t pu) {
  std::int32_t nearest = topo::kUnknown;
  int least = 0;
  hwloc_obj_t node = nullptr;
  for (unsigned number = 0; (node = object(hwloc, topology, HWLOC_OBJ_NUMANODE, number)) != nullptr; ++number) {
    if (node->cpuset == nullptr || hwloc.bitmap_isset(node->cpuset, pu->os_index) == 0) continue;
    const int weight = hwloc.bitmap_weight(node->cpuset);
    if (nearest != topo::kUnknown && weight >= least) continue;
    nearest = static_cast<std::int32_t>(node->logical_index);
    least = weight;
  }
  return nearest;
}

void read_caches(const HwlocLibrary& hwloc, hwloc_obj_t pu, topo::Machine& machine) {
  for (hwloc_obj_t above = pu; above != nullptr; above = above->parent) {
    if (hwloc.obj_type_is_dcache(above->type) == 0) continue;
    const auto& cache = above->attr->cache;
    if (cache.depth == 1) machine.l1d_bytes = cache.size;
    if (cache.depth == 2) machine.l2_bytes = cache.size;
    if (cache.depth == 3) machine.l3_bytes = cache.size;
    if (cache.linesize != 0) machine.line_bytes = cache.linesize;
  }
}

}  // namespace

Result<topo::Machine> read_hwloc() {
  const auto library = HwlocLibrary::load();
  if (!library) return tl::unexpected(library.error());
  const HwlocLibrary& hwloc = **library;
  auto topology = load(hwloc);
  if (!topology) return tl::unexpected(topology.error());
  const hwloc_topology_t raw = topology->get();
  topo::Machine machine;
  machine.is_described = hwloc.topology_is_thissystem(raw) == 0;
  hwloc_obj_t pu = nullptr;
  for (unsigned number = 0; (pu = object(hwloc, raw, HWLOC_OBJ_PU, number)) != nullptr; ++number) {
    topo::Cpu cpu{static_cast<std::int32_t>(pu->os_index), number_above(raw, HWLOC_OBJ_PACKAGE, pu),
                  node_of(hwloc, raw, pu), number_above(raw, HWLOC_OBJ_CORE, pu)};
    if (cpu.core == topo::kUnknown) cpu.core = static_cast<std::int32_t>(pu->logical_index);
    if (machine.cpus.empty()) read_caches(hwloc, pu, machine);
    machine.cpus.push_back(cpu);
  }
  if (machine.cpus.empty()) return fail(Errc::not_found, "hwloc finds no processor on this machine");
  std::sort(machine.cpus.begin(), machine.cpus.end(),
            [](const topo::Cpu& a, const topo::Cpu& b) { return a.os_index < b.os_index; });
  return machine;
}

}  // namespace sumac::machine
