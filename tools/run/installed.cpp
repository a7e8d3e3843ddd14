// Asks the machine for the facts that choose() needs.
#include <unistd.h>

#include <filesystem>

#include "tools/run/ask.hpp"
#include "tools/run/choose.hpp"
#include "tools/run/environment.hpp"

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;

constexpr Duration kAnswerWithin = Seconds(10);
constexpr std::string_view kComponentFor = SUMAC_COMPONENT_FOR;
constexpr const char* kComponent = "/mca_coll_hcoll.so";

/// An Open MPI that was built with HCOLL has one; Debian's packages put ours into the same folder, by a link.
std::string other_component(const std::string& open_mpi_library, const std::string& ours) {
  const auto folder = fs::path(open_mpi_library).parent_path().string();
  for (const char* below : {"/openmpi", "/openmpi/lib/openmpi3", "/openmpi/lib/openmpi40"}) {
    const auto path = folder + below + kComponent;
    std::error_code failed;
    if (fs::exists(path, failed) && !fs::equivalent(path, ours, failed)) return path;
  }
  return "";
}

}  // namespace

Installed what_is_installed(const std::string& libraries, const std::vector<std::string>& environment) {
  Installed installed{.libraries = libraries};
  for (const auto abi : {MpiAbi::open_mpi, MpiAbi::mpich, MpiAbi::standard})
    if (::access((libraries + "/" + interposed_library(abi)).c_str(), R_OK) == 0) installed.abis.push_back(abi);
  const auto ompi_info = find_program("ompi_info", value_of(environment, "PATH").value_or("/bin:/usr/bin"), "");
  if (ompi_info.empty()) return installed;
  std::error_code failed;
  installed.open_mpi_programs = fs::weakly_canonical(ompi_info, failed).parent_path().string();
  if (const auto linked = linked_mpi(ompi_info, value_of(environment, "LD_LIBRARY_PATH").value_or(""));
      linked && *linked)
    installed.open_mpi_library = (*linked)->path;
  // Programs of Open MPI 5 get the interposed library, so a component for 5 (Debian 13) is not ours to choose.
  const auto ours = libraries + "/openmpi" + kComponent;
  if (::access(ours.c_str(), R_OK) < 0 || !kComponentFor.starts_with("4.1")) return installed;
  installed.other_component = other_component(installed.open_mpi_library, ours);
  // The component is compiled for the internal interfaces of Open MPI 4.1, which 5 does not have.
  if (const auto by_name = is_open_mpi_41(installed.open_mpi_library)) {
    installed.component = *by_name;
  } else {
    const auto version = ask({ompi_info, "--version"}, environment, kAnswerWithin);
    installed.component = version && version->find("Open MPI v4.1.") != std::string::npos;
  }
  return installed;
}

}  // namespace sumac::tools
