#pragma once
#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::topo {

/// Checks that the description makes sense as a whole: every name known and used once, every host on a leaf, every host
/// that gets ranks in every plane (part of the fabric that no link joins to the rest), sizes within reason. Links may
/// form loops. Errc::invalid with one line that names the thing and the remedy; the first fault found.
Result<> validate(const Fabric& fabric);

/// Checks the further needs of an emulated fabric, after validate(): switches that form one tree, a single link for
/// each host, names that a machine can have.
Result<> validate_for_lab(const Fabric& fabric);

}  // namespace sumac::topo
