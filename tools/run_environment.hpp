#pragma once
// What a program finds in its environment under `sumac run`. What the user has set stays as it is.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sumac::tools {

struct RunEnvironment {
  std::vector<std::string> variables;  ///< NAME=value, the whole environment.
  std::vector<std::string> set;        ///< Those that we added and a person may want to change.

  void set_unless_there(std::string_view name, std::string_view value);
};

struct RunPlaces {
  std::string socket;     ///< sharpd's; empty: there is none.
  std::string libraries;  ///< Where libsharp_coll.so and openmpi/ lie.
  std::string open_mpi;   ///< The distribution's component folder, or empty.
  bool tree = false;      ///< MPI's collectives are to use the tree.
  bool one_host = true;   ///< So a group of one host must do.
};
RunEnvironment make_run_environment(const RunPlaces& places, const std::vector<std::string>& inherited);

/// Name and value of what Open MPI must be told to find our component and take it.
std::vector<std::pair<std::string, std::string>> component_parameters(const std::string& libraries,
                                                                      const std::string& open_mpi);

/// Asks `ompi_info`; empty where there is no Open MPI.
std::string open_mpi_component_folder();

/// This process's own environment.
std::vector<std::string> own_environment();

}  // namespace sumac::tools
