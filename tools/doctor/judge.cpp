#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

void add(Findings& all, Finding one) { all.push_back(std::move(one)); }
void add(Findings& all, Findings more) {
  for (auto& one : more) all.push_back(std::move(one));
}

}  // namespace

Findings judge(const Facts& facts) {
  Findings all;
  const auto run = [&](auto... subjects) { (add(all, subjects(facts)), ...); };
  run(judge_processors, judge_memory, judge_open_files, judge_shared_memory, judge_single_copy, judge_clock,
      judge_network, judge_paths, judge_names, judge_settings, judge_rdma, judge_ucx, judge_hop, judge_gpus, judge_mpi,
      judge_secrets, judge_sharpd, judge_manager, judge_ports, judge_nodes, judge_versions);
  return all;
}

}  // namespace sumac::tools::doctor
