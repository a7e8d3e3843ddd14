#include "lab/status.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace sumac::lab {

namespace {

std::uint64_t read(const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

std::string ending(int wait_status) {
  if (WIFSIGNALED(wait_status)) return fmt::format("killed by signal {}", WTERMSIG(wait_status));
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

const char* to_text(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::host: return "host";
    case PlaceKind::node: return "node";
    case PlaceKind::manager: return "manager";
  }
  return "?";
}

nlohmann::ordered_json ports_json(const Plan& plan, const Place& place) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& port : plan.ports_of(place))
    list.push_back({{"device", port.device}, {"at", port.at}, {"plane", port.plane}, {"address", ip_text(port.ip)}});
  return list;
}

}  // namespace

std::string status_json(const std::string& lab_name, const std::string& fabric_file, const topo::Fabric& fabric,
                        const Plan& plan, PacketSwitch& packet_switch, const std::vector<DaemonStatus>& daemons) {
  nlohmann::ordered_json out;
  out["name"] = lab_name;
  out["fabric"] = fabric_file;
  out["pid"] = ::getpid();
  out["device"] = plan.first_port_of(plan.places.front()).device;
  out["mtu"] = plan.mtu_bytes;
  out["offload"] = plan.offload;
  out["multicast"] = !plan.floods.empty();
  out["drops"] = packet_switch.drops();
  auto& hosts = out["hosts"] = nlohmann::ordered_json::array();
  for (const auto& host : fabric.hosts) {
    const auto& place = *find_place(plan, host.name);
    hosts.push_back({{"name", host.name},
                     {"address", ip_text(plan.first_port_of(place).ip)},
                     {"leaf", host.leaf},
                     {"ports", ports_json(plan, place)},
                     {"slots", host.slots},
                     {"compute", host.compute}});
  }
  auto& nodes = out["nodes"] = nlohmann::ordered_json::array();
  for (const auto& node : fabric.nodes) {
    const auto& place = place_of(plan, node.place, node.name);
    nodes.push_back({{"name", node.name},
                     {"place", place.name},
                     {"at", node.place.at_host.empty() ? plan.first_port_of(place).at : node.place.at_host},
                     {"address", ip_text(plan.first_port_of(place).ip)}});
  }
  out["manager"] = nullptr;
  if (fabric.manager) {
    const auto& place = place_of(plan, fabric.manager->place, "manager");
    out["manager"] = {
        {"place", place.name}, {"address", ip_text(plan.first_port_of(place).ip)}, {"port", fabric.manager->port}};
  }
  auto& places = out["places"] = nlohmann::ordered_json::array();
  for (const auto& place : plan.places) {
    places.push_back({{"name", place.name},
                      {"kind", to_text(place.kind)},
                      {"at", plan.first_port_of(place).at},
                      {"address", ip_text(plan.first_port_of(place).ip)},
                      {"ports", ports_json(plan, place)}});
  }
  auto& started = out["daemons"] = nlohmann::ordered_json::array();
  for (const auto& daemon : daemons) {
    started.push_back({{"name", daemon.name},
                       {"place", daemon.place},
                       {"pid", daemon.pid},
                       {"alive", daemon.alive},
                       {"log", daemon.log}});
    if (!daemon.alive) started.back()["end"] = ending(daemon.wait_status);
  }
  auto& links = out["links"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < plan.links.size(); ++i) {
    const auto& c = packet_switch.fabric().counters(i);
    links.push_back({{"from", plan.links[i].from},
                     {"to", plan.links[i].to},
                     {"frames", read(c.frames)},
                     {"bytes", read(c.bytes)},
                     {"dropped", read(c.dropped)},
                     {"lost", read(c.lost)},
                     {"backlog_bytes_max", read(c.backlog_max)},
                     {"loss", packet_switch.fabric().loss(i)}});
  }
  const auto& c = packet_switch.counters();
  const auto frames = read(c.frames);
  out["switch"] = {{"realtime", packet_switch.realtime()},
                   {"cpu_s", packet_switch.cpu_seconds()},
                   {"frames", frames},
                   {"wakeups", read(c.wakeups)},
                   {"dropped_in", packet_switch.dropped_in()},
                   {"dropped_out", read(c.dropped_out)},
                   {"ignored", read(c.ignored)},
                   {"late_us_mean",
                    frames == 0 ? 0.0 : static_cast<double>(read(c.late_sum_ns)) * 1e-3 / static_cast<double>(frames)},
                   {"late_us_max", static_cast<double>(read(c.late_max_ns)) * 1e-3}};
  return out.dump(2) + "\n";
}

}  // namespace sumac::lab
