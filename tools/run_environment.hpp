#pragma once
// What a program finds in its environment under `sumac run`. What the user has set stays as it is.
#include <string>
#include <string_view>
#include <vector>

namespace sumac::tools {

struct RunEnvironment {
  std::vector<std::string> variables;  ///< NAME=value, the whole environment.
  std::vector<std::string> set;        ///< Those that we added and a person may want to change.

  void set_unless_there(std::string_view name, std::string_view value);
};

/// `socket`: sharpd's. `libraries`: where libsharp_coll.so and openmpi/ lie. `open_mpi`: the distribution's component folder, or empty.
RunEnvironment make_run_environment(const std::string& socket, const std::string& libraries,
                                    const std::string& open_mpi, const std::vector<std::string>& inherited);

/// Asks `ompi_info`; empty where there is no Open MPI.
std::string open_mpi_component_folder();

/// This process's own environment.
std::vector<std::string> own_environment();

}  // namespace sumac::tools
