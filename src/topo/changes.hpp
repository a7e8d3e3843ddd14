#pragma once
// Changes of a fabric at run time: a host or node registers, dies, or comes back; a link goes or comes. Pure: the
// functions change the fabric and nothing else. Nothing is erased, so indices stay valid; a removed thing is no longer
// `up`, and adding the same name again brings it back, where the new entry puts it. Trees follow with update_forest()
// (forest.hpp).
#include <string_view>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::topo {

/// Makes a fabric without description: one switch, to which everything that registers is attached.
Fabric registered_fabric(std::string name);
/// The name of the one switch of registered_fabric().
inline constexpr const char* kAnywhere = "network";

/// Errc::exists: something that is up has the name. Errc::not_found: the entry names a switch or host that does not
/// exist.
Result<> add_switch(Fabric& fabric, Switch added);
Result<> add_link(Fabric& fabric, SwitchLink added);
Result<> add_host(Fabric& fabric, Host added);
Result<> add_node(Fabric& fabric, Node added);

/// Errc::not_found: nothing has that name.
Result<> set_switch_up(Fabric& fabric, std::string_view name, bool up);
/// Changes all links between two switches, or the one with these ports.
Result<> set_link_up(Fabric& fabric, std::string_view a, std::string_view b, bool up, std::uint32_t a_port = 0,
                     std::uint32_t b_port = 0);
Result<> set_host_up(Fabric& fabric, std::string_view name, bool up);
Result<> set_node_up(Fabric& fabric, std::string_view name, bool up);

/// Makes `fabric` equal to `described` and keeps its indices: entries that are no longer described go down, described
/// ones change, new ones are appended. Both must have been validated.
void become(Fabric& fabric, const Fabric& described);

inline Result<> remove_switch(Fabric& fabric, std::string_view name) { return set_switch_up(fabric, name, false); }
inline Result<> remove_link(Fabric& fabric, std::string_view a, std::string_view b) {
  return set_link_up(fabric, a, b, false);
}
inline Result<> remove_host(Fabric& fabric, std::string_view name) { return set_host_up(fabric, name, false); }
inline Result<> remove_node(Fabric& fabric, std::string_view name) { return set_node_up(fabric, name, false); }

}  // namespace sumac::topo
