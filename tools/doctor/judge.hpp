#pragma once
// Judges the facts of one host: pure functions from facts to findings, so that a table of cases tests what no test
// machine has.
#include <vector>

#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sumac::tools::doctor {

/// The findings of all subjects, in the order in which they are shown.
Findings judge(const Facts& facts);

// The subjects, one function each.
Finding judge_processors(const Facts& facts);
Finding judge_memory(const Facts& facts);
Finding judge_open_files(const Facts& facts);
Finding judge_shared_memory(const Facts& facts);
Finding judge_single_copy(const Facts& facts);
Finding judge_clock(const Facts& facts);
Finding judge_network(const Facts& facts);
Findings judge_paths(const Facts& facts);
Findings judge_names(const Facts& facts);
Findings judge_settings(const Facts& facts);
Finding judge_rdma(const Facts& facts);
Finding judge_ucx(const Facts& facts);
Finding judge_hop(const Facts& facts);
Findings judge_gpus(const Facts& facts);
Finding judge_mpi(const Facts& facts);
Findings judge_secrets(const Facts& facts);
Finding judge_sharpd(const Facts& facts);
Finding judge_manager(const Facts& facts);
Findings judge_ports(const Facts& facts);
Findings judge_nodes(const Facts& facts);
Findings judge_versions(const Facts& facts);

}  // namespace sumac::tools::doctor
