#pragma once
// Changes of a fabric at run time. Nothing is erased, so indices stay valid: a removed thing is no longer `up`, and a
// description that has its name again brings it back, where the new entry puts it. Trees follow with update_forest()
// (forest.hpp).
#include <string>

#include "topo/fabric.hpp"

namespace sumac::topo {

/// Makes a fabric without description: one switch, to which everything that registers is attached.
Fabric registered_fabric(std::string name);
/// The name of the one switch of registered_fabric().
inline constexpr const char* kAnywhere = "network";

/// Makes `fabric` equal to `described` and keeps its indices: entries that are no longer described go down, described
/// ones change, new ones are appended. Both must have been validated.
void become(Fabric& fabric, const Fabric& described);

}  // namespace sumac::topo
