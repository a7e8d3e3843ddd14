#pragma once
// The fabric of this folder's tests: an-root with an-leaf1 (h1, h2) and an-leaf2 (h3, h4).
#include "control/command_line.hpp"
#include "manager/test_core.hpp"
#include "topo/validate.hpp"

namespace sumac::manager {

inline topo::Fabric test_fabric() {
  topo::Fabric fabric;
  fabric.name = "test";
  fabric.switches = {"root", "leaf1", "leaf2"};
  fabric.links = {{"leaf1", "root", {}}, {"leaf2", "root", {}}};
  for (const auto& [name, leaf] : {std::pair{"h1", "leaf1"}, {"h2", "leaf1"}, {"h3", "leaf2"}, {"h4", "leaf2"}}) {
    topo::Host host;
    host.name = name;
    host.leaf = leaf;
    fabric.hosts.push_back(host);
  }
  fabric.nodes = {{"an-root", {"root", ""}, {}}, {"an-leaf1", {"leaf1", ""}, {}}, {"an-leaf2", {"leaf2", ""}, {}}};
  return fabric;
}

inline Core test_core(Rules rules, Journal& journal) { return Core(test_fabric(), rules, journal); }

inline control::v1::Register test_register(const std::string& name, std::uint32_t osts = 512) {
  control::v1::Register who;
  who.set_version(control::kControlVersion);
  who.set_name(name);
  auto* listening = who.add_trees();  // The node pretends to know its tree already, which saves one exchange.
  listening->set_address("tcp:10.0.0.1:" + std::to_string(7000 + name.size()));
  who.set_life((name.size() + 1) << 40);
  who.set_osts(osts);
  who.set_groups(512);
  who.set_payload_max(1024);
  return who;
}

inline control::v1::JobBegin test_begin(std::uint64_t job_id,
                                        std::vector<std::string> hosts = {"h1", "h2", "h3", "h4"}) {
  control::v1::JobBegin begin;
  begin.set_job_id(job_id);
  begin.set_ticket(job_id + 1000);
  begin.set_world_size(static_cast<std::uint32_t>(hosts.size()));
  for (auto& host : hosts) begin.add_hosts(host);
  begin.set_holder("h1 pid 1 uid 0");
  return begin;
}

/// Returns the first message of a sharpd; `held` names the begins of its life that it still holds.
inline control::v1::HostRegister test_host(std::uint64_t life, const std::vector<control::v1::JobBegin>& held = {},
                                           bool granted = true) {
  control::v1::HostRegister who;
  who.set_version(control::kControlVersion);
  who.set_host("h1");
  who.set_life(life);
  for (const auto& begin : held) {
    auto* job = who.add_jobs();
    job->set_ticket(begin.ticket());
    job->set_job_id(begin.job_id());
    job->set_granted(granted);
  }
  return who;
}

inline control::v1::JobEnd test_end(const control::v1::JobBegin& begin, const std::string& why = "") {
  control::v1::JobEnd end;
  end.set_ticket(begin.ticket());
  end.set_job_id(begin.job_id());
  end.set_why(why);
  return end;
}

}  // namespace sumac::manager
