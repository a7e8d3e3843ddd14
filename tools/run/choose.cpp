#include "tools/run/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace sumac::tools {
namespace {

using Way = Choice::Way;

std::string owner_of(LauncherFamily family) {
  switch (family) {
    case LauncherFamily::open_mpi: return "Open MPI's";
    case LauncherFamily::hydra: return "hydra, the launcher of MPICH and Intel MPI";
    case LauncherFamily::slurm: return "Slurm's";
    case LauncherFamily::unknown: break;
  }
  return "a launcher of an unknown MPI";
}

/// "./program needs libmpi.so.12 (MPICH's ABI)"
std::string need_of(const Program& program) {
  return fmt::format("{} needs {} ({})", program.name, program.mpi->library, name_of(*program.mpi->abi));
}

Choice by_library(const Installed& installed, MpiAbi abi, const std::string& because) {
  const auto file = interposed_library(abi);
  const auto path = installed.libraries + "/" + file;
  if (std::ranges::find(installed.abis, abi) == installed.abis.end())
    return {.warnings = {fmt::format("{}, and {} is not there: it runs without Sumac; build or install that library",
                                     because, path)}};
  return {Way::library, path, fmt::format("{}: the interposed library {} serves it", because, file), {}};
}

/// A launcher of this family starts programs of that MPI as one job.
bool starts_as_one_job(LauncherFamily family, MpiAbi provider) {
  if (family == LauncherFamily::open_mpi) return provider == MpiAbi::open_mpi;
  if (family == LauncherFamily::hydra) return provider == MpiAbi::mpich;
  return true;
}

bool launcher_of_distribution(const LookedAt& looked, const Installed& installed) {
  const auto& launcher = looked.launcher;
  return !launcher || launcher->family != LauncherFamily::open_mpi ||
         std::filesystem::path(launcher->path).parent_path() == installed.open_mpi_programs;
}

Choice for_known_mpi(const LookedAt& looked, const Installed& installed, const Program& program) {
  const auto& mpi = *program.mpi;
  Choice choice;
  if (!mpi.abi) {
    choice.warnings = {
        fmt::format("{} needs {}, an Open MPI before version 3 that Sumac does not serve: it runs without "
                    "Sumac",
                    program.name, mpi.library)};
    return choice;
  }
  const bool component = installed.component && *mpi.abi == MpiAbi::open_mpi && !mpi.path.empty() &&
                         mpi.path == installed.open_mpi_library && launcher_of_distribution(looked, installed);
  if (component)
    choice = {Way::component,
              "",
              fmt::format("{} needs {}, that of Open MPI 4.1: its component serves it", program.name, mpi.library),
              {}};
  else
    choice = by_library(installed, *mpi.abi, need_of(program));
  if (looked.launcher && mpi.provider && !starts_as_one_job(looked.launcher->family, *mpi.provider))
    choice.warnings.insert(
        choice.warnings.begin(),
        fmt::format("{}, and {} is {}: each process would be a job of one rank; start it with the launcher of {}",
                    need_of(program), looked.launcher->name, owner_of(looked.launcher->family),
                    *mpi.provider == MpiAbi::open_mpi ? "Open MPI" : "MPICH or Intel MPI"));
  if (choice.way == Way::library && program.ignores_preload)
    return {
        .warnings = {fmt::format("{} is setuid, setgid or has capabilities, so the dynamic loader ignores LD_PRELOAD "
                                 "for it: it runs without Sumac",
                                 program.name)}};
  return choice;
}

/// The program's MPI is not known, so its launcher decides.
Choice by_launcher(const LookedAt& looked, const Installed& installed, const Program& program) {
  const auto because = fmt::format("{} {}", program.name, program.unclear);
  if (!looked.launcher) {
    if (!installed.component) return {.reason = because + ": nothing is set for it"};
    return {Way::component, "", because + ": the settings of Open MPI's component are there for what it starts", {}};
  }
  const auto& launcher = *looked.launcher;
  const auto words = fmt::format("{}, and {} is {}", because, launcher.name, owner_of(launcher.family));
  switch (launcher.family) {
    case LauncherFamily::open_mpi:
      if (installed.component && launcher_of_distribution(looked, installed))
        return {Way::component, "", words + ": the component of Open MPI 4.1 serves it", {}};
      return by_library(installed, MpiAbi::open_mpi, words);
    case LauncherFamily::hydra: return by_library(installed, MpiAbi::mpich, words);
    case LauncherFamily::slurm:
    case LauncherFamily::unknown: break;
  }
  if (!installed.component) return {.warnings = {words + ": it runs without Sumac"}};
  return {Way::component, "", words + ": the component of Open MPI 4.1 would serve it", {}};
}

Choice for_program(const LookedAt& looked, const Installed& installed, const Program& program) {
  const auto without = [&](std::string_view why) {
    return Choice{.warnings = {fmt::format("{} {}", program.name, why)}};
  };
  const bool is_mpi = program.mpi || program.has_own_mpi || is_mpi_command(looked);
  if (!program.foreign.empty() && is_mpi)
    return without(fmt::format("is {}, and Sumac's libraries are not: it runs without Sumac", program.foreign));
  if (program.has_own_mpi)
    return without("is linked statically with its MPI: nothing can be interposed; it runs without Sumac");
  if (program.is_static && is_mpi)
    return without("is linked statically: nothing can be interposed; it runs without Sumac");
  return program.mpi ? for_known_mpi(looked, installed, program) : by_launcher(looked, installed, program);
}

}  // namespace

std::string interposed_library(MpiAbi abi) {
  switch (abi) {
    case MpiAbi::open_mpi: return "libsumac_mpi_openmpi.so";
    case MpiAbi::mpich: return "libsumac_mpi_mpich.so";
    case MpiAbi::standard: return "libsumac_mpi_abi.so";
  }
  return "";
}

std::optional<bool> is_open_mpi_41(const std::string& library) {
  constexpr std::string_view kName = "libmpi.so.40.";
  const auto name = std::filesystem::path(library).filename().string();
  if (!name.starts_with(kName)) return {};
  return name.substr(kName.size()).starts_with("30.");
}

std::string preload_before(const std::string& library, const std::string& others) {
  std::string before, behind;
  for (std::size_t at = 0; (at = others.find_first_not_of(": ", at)) != std::string::npos;) {
    const auto end = std::min(others.find_first_of(": ", at), others.size());
    const auto each = others.substr(at, end - at);
    if (is_sanitizer_runtime(each))
      before += each + ":";
    else
      behind += ":" + each;
    at = end;
  }
  return before + library + behind;
}

Choice choose(const LookedAt& looked, const Installed& installed, bool off) {
  if (off) return {.reason = "SUMAC_ENABLE=0: nothing of Sumac is loaded"};
  // The parts of an MPMD command are one job: the first whose MPI is known speaks for all.
  auto first = std::ranges::find_if(looked.programs, [](const auto& each) { return each.mpi.has_value(); });
  if (first == looked.programs.end()) first = looked.programs.begin();
  auto choice = for_program(looked, installed, *first);
  for (const auto& each : looked.programs)
    if (each.mpi && first->mpi && each.mpi->provider != first->mpi->provider)
      choice.warnings.push_back(fmt::format("{} needs {} and {} needs {}: two MPIs can't be one job", first->name,
                                            first->mpi->library, each.name, each.mpi->library));
  if (!looked.withheld.empty() && choice.way == Way::library)
    choice.warnings.push_back(
        fmt::format("{} keeps LD_PRELOAD from {}: it runs without Sumac unless it gets "
                    "LD_PRELOAD={}",
                    looked.withheld, first->name, choice.library));
  if (!looked.withheld.empty() && choice.way == Way::component)
    choice.warnings.push_back(
        fmt::format("{} keeps Sumac's variables from {}: it runs without Sumac, or without the tree", looked.withheld,
                    first->name));
  if (choice.way == Way::component && !installed.other_component.empty())
    choice.reason += fmt::format(" (it comes before the one of the same name, {})", installed.other_component);
  if (!looked.unknown_option.empty() && !choice.reason.empty())
    choice.reason += fmt::format(" ({} is no option that is known here)", looked.unknown_option);
  return choice;
}

}  // namespace sumac::tools
