#include "tools/run/task.hpp"

#include <charconv>

#include "tools/run/program.hpp"

namespace sumac::tools {
namespace {

std::optional<unsigned> number(const std::vector<std::string>& environment, const char* name) {
  const auto text = value_of(environment, name);
  unsigned value = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Task> task_of(const std::vector<std::string>& environment) {
  struct Names {
    const char *index, *count, *launcher;
  };
  // An mpirun in a Slurm allocation starts its daemons by srun, so its own variables count before those of the step.
  constexpr Names kNames[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "the MPI launcher"},
                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"},
                              {"PMI_RANK", "PMI_SIZE", "the MPI launcher"}};
  for (const auto& names : kNames) {
    const auto index = number(environment, names.index), count = number(environment, names.count);
    if (!index || !count) continue;
    if (*count < 2) return std::nullopt;
    return Task{*index, *count, names.launcher};
  }
  return std::nullopt;
}

}  // namespace sumac::tools
