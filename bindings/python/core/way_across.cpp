#include "bindings/python/core/way_across.hpp"

namespace sumac::python {

int WayAcross::open(void* context, const int* leaders, int leader_count, int, sumac_across_t* across) {
  auto& self = *static_cast<WayAcross*>(context);
  auto hosts = Hosts::make(self.exchange, self.members, {leaders, leaders + leader_count}, self.is_reproducible);
  if (!hosts) {
    self.error = hosts.error().context;
    return -1;
  }
  coll::Across* const network = hosts->release();
  across->context = network;
  across->network = reinterpret_cast<sumac_network_t*>(network);
  across->no_tree = "Python's teams use none yet";
  across->close = [](void* made) { delete static_cast<coll::Across*>(made); };
  return 0;
}

}  // namespace sumac::python
