#pragma once
// What happens to a fabric at run time: somebody registers, dies, or comes back; a link goes or comes. Pure: the fabric is
// changed, nothing else. Nothing is erased, so indices stay good; what is removed is no longer `up`, and adding the same name
// again brings it back, at the place it then names. Trees follow with update_forest() (forest.hpp).
#include <string_view>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::topo {

/// A fabric that nobody described: one switch, at which everything that registers stands.
Fabric registered_fabric(std::string name);
/// The name of that switch.
inline constexpr const char* kAnywhere = "network";

/// Errc::exists: the name is taken, by something that is up. Errc::not_found: it names a switch or host that is not there.
Result<> add_switch(Fabric& fabric, Switch added);
Result<> add_link(Fabric& fabric, SwitchLink added);
Result<> add_host(Fabric& fabric, Host added);
Result<> add_node(Fabric& fabric, Node added);

/// Errc::not_found: there is none of that name.
Result<> set_switch_up(Fabric& fabric, std::string_view name, bool up);
/// All links between two switches, or the one with these ports.
Result<> set_link_up(Fabric& fabric, std::string_view a, std::string_view b, bool up, std::uint32_t a_port = 0,
                     std::uint32_t b_port = 0);
Result<> set_host_up(Fabric& fabric, std::string_view name, bool up);
Result<> set_node_up(Fabric& fabric, std::string_view name, bool up);

/// Makes `fabric` what `described` says and keeps its indices: what is not described any more is down, what is, is as described,
/// what is new stands behind. Both must have been validated.
void become(Fabric& fabric, const Fabric& described);

inline Result<> remove_switch(Fabric& fabric, std::string_view name) { return set_switch_up(fabric, name, false); }
inline Result<> remove_link(Fabric& fabric, std::string_view a, std::string_view b) {
  return set_link_up(fabric, a, b, false);
}
inline Result<> remove_host(Fabric& fabric, std::string_view name) { return set_host_up(fabric, name, false); }
inline Result<> remove_node(Fabric& fabric, std::string_view name) { return set_node_up(fabric, name, false); }

}  // namespace sumac::topo
