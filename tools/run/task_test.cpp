#include "tools/run/task.hpp"

#include <gtest/gtest.h>

namespace sumac::tools {
namespace {

TEST(Task, a_launchers_task_is_known_by_its_variables) {
  using Variables = std::vector<std::string>;
  const struct {
    const char* name;
    Variables environment;
    std::optional<Task> task;
  } rows[] = {
      {"nobody's", {"HOME=/root"}, std::nullopt},
      {"of srun", {"SLURM_JOB_ID=5", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=3"}, Task{3, 4, "srun"}},
      {"of srun with PMI",
       {"PMI_RANK=1", "PMI_SIZE=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1"},
       Task{1, 2, "srun"}},
      {"the only one of a step", {"SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0"}, std::nullopt},
      {"a batch script", {"SLURM_JOB_ID=5", "SLURM_NTASKS=8", "SLURM_PROCID=0"}, std::nullopt},
      {"of Open MPI", {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"}, Task{0, 2, "the MPI launcher"}},
      {"of hydra", {"PMI_RANK=1", "PMI_SIZE=2"}, Task{1, 2, "the MPI launcher"}},
      {"of Open MPI on two hosts of Slurm",
       {"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1", "OMPI_COMM_WORLD_RANK=7", "OMPI_COMM_WORLD_SIZE=8"},
       Task{7, 8, "the MPI launcher"}},
      {"rubbish", {"SLURM_STEP_NUM_TASKS=4x", "SLURM_PROCID="}, std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(task_of(row.environment), row.task);
  }
}

}  // namespace
}  // namespace sumac::tools
