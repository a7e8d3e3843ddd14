#pragma once
#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::topo {

/// Whether the description makes sense as a whole: every name known and used once, every host on a leaf, the links one
/// tree over all switches. Errc::invalid with one line that names the thing and the remedy; the first fault found.
Result<> validate(const Fabric& fabric);

}  // namespace sumac::topo
