#pragma once
// Compares the reports of several hosts: clocks, versions, MTU, names, settings, node names, and the fabric file. Pure.
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/report.hpp"
#include "topo/fabric.hpp"

namespace sumac::tools::doctor {

/// The clock of a host minus ours, with the error of the measurement: half of the shortest round trip.
struct ClockOffset {
  std::int64_t offset_ns = 0, error_ns = 0;
};

struct HostAnswer {
  std::string name;              ///< As it was named by --hosts.
  std::optional<Report> report;  ///< Nothing: the host did not answer, for the reason in `why`.
  std::string why, remedy;
  std::optional<ClockOffset> clock;
};

Findings compare(const std::vector<HostAnswer>& hosts);

/// Judges a fabric file against names of hosts that should be in it.
Findings judge_fabric(const Result<topo::Fabric>& fabric, const std::string& file, const Strings& hosts);

/// Returns "n[001-003,7],x1": names that differ in one number are written together, as Slurm does.
std::string fold_names(const Strings& names);

}  // namespace sumac::tools::doctor
