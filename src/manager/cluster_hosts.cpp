// Sharpds: one for each host that is there.
#include <algorithm>

#include "control/command_line.hpp"
#include "manager/cluster.hpp"
#include "topo/changes.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

const Sharpd* Cluster::sharpd_of(Step& step, StreamId stream) const {
  const auto found = sharpds_.find(stream);
  if (found != sharpds_.end()) return &found->second;
  step.refuse(stream, Errc::invalid, "a sharpd must register before it sends anything else");
  return nullptr;
}

std::optional<StreamId> Cluster::stream_of(std::uint64_t life) const {
  const auto found = stream_of_life_.find(life);
  return found == stream_of_life_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> Cluster::host_named(const std::string& name) const {
  const auto found = host_by_name_.find(name);
  return found == host_by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Cluster::add_open_host(const std::string& name) {
  topo::Host added;
  added.name = name;
  added.leaf = topo::kAnywhere;
  host_by_name_[name] = static_cast<std::uint32_t>(fabric_.hosts.size());
  fabric_.hosts.push_back(std::move(added));
}

std::optional<bool> Cluster::host_comes(Step& step, StreamId stream, const HostRegister& who) {
  const auto refuse = [&](Errc code, const std::string& why) {
    step.say(LogLevel::error, "GENERAL", why);
    step.refuse(stream, code, why);
    return std::nullopt;
  };
  if (who.version != control::kControlVersion || who.life == 0)
    return refuse(Errc::unsupported,
                  fmt::format("sharpd of host {:.64} speaks version {} of the control messages, the manager {}: "
                              "install the same version everywhere",
                              who.host, who.version, control::kControlVersion));
  if (sharpds_.contains(stream)) {
    step.refuse(stream, Errc::invalid, "registered twice on one stream");
    return std::nullopt;
  }
  if (const auto old = stream_of(who.life)) {
    if (const auto& name = sharpds_.at(*old).name; name != who.host)
      return refuse(Errc::denied,
                    fmt::format("host {:.64} says it is the process that host {:.64} runs", who.host, name));
    sharpds_.erase(*old);
    step.refuse(*old, Errc::lost, "the same sharpd has come back on another connection");
  }
  ++sharpds_version_;
  step.happened(Happened::Kind::host_registered, fmt::format("host {:.200}", who.host), "registered");
  for (const auto& [other, sharpd] : sharpds_)
    if (sharpd.name == who.host.substr(0, 200))
      step.say(LogLevel::warn, "GENERAL",
               fmt::format("host {:.64} has two sharpds, pid {} and pid {}: give each its own --host NAME, "
                           "unless the machine of the first has just been started again",
                           sharpd.name, sharpd.pid, who.pid));
  sharpds_[stream] = Sharpd{who.host.substr(0, 200), who.life, who.release.substr(0, kReleaseMax), who.pid};
  stream_of_life_[who.life] = stream;
  if (host_named(who.host)) return false;
  if (rules_.open && who.host.size() < wire::kHostNameMax) {
    add_open_host(who.host);
    return true;
  }
  step.say(LogLevel::warn, "GENERAL",
           fmt::format("sharpd pid {} calls its host {:.64}, which is not in the fabric: add it to the fabric "
                       "file, or give that sharpd --host NAME",
                       who.pid, who.host));
  return false;
}

void Cluster::host_leaves(StreamId stream) {
  stream_of_life_.erase(sharpds_.at(stream).life);
  sharpds_.erase(stream);
  ++sharpds_version_;
}

void Cluster::place_hosts(Step& step) {
  for (auto& [stream, sharpd] : sharpds_) {
    sharpd.host = host_named(sharpd.name).value_or(topo::kNone);
    const bool elsewhere = sharpd.host == topo::kNone;
    if (std::exchange(sharpd.told_elsewhere, elsewhere) != elsewhere) step.send(stream, HostPlace{!elsewhere});
  }
}

}  // namespace sumac::manager
