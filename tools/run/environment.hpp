#pragma once
// The environment of a program under `sumac run`. Variables that the user has set remain as they are.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sumac::tools {

struct RunEnvironment {
  std::vector<std::string> variables;  ///< NAME=value, the whole environment.
  std::vector<std::string> remarks;    ///< A sentence for each variable that we added and a user may want to change.
  std::vector<std::string> elsewhere;  ///< Names that the command's own words set, for all or some of its processes.

  /// `effect` completes the sentence "NAME=value is set for the program: ".
  void set_unless_there(std::string_view name, std::string_view value, std::string_view effect);
};

struct RunPlaces {
  std::string socket;              ///< The path of sharpd's socket; empty: there is none.
  std::string libraries;           ///< The directory of libsharp_coll.so and openmpi/.
  bool component = false;          ///< The component of Open MPI is used.
  std::string preload;             ///< The interposed library; empty: it is not used.
  bool address_sanitizer = false;  ///< The program needs the shared runtime of AddressSanitizer.
  bool tree = false;               ///< MPI's collectives should use the tree.
  bool one_host = true;            ///< There is only one host, so a group of one host must be allowed.
};
RunEnvironment make_run_environment(const RunPlaces& places, const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& elsewhere);

/// Returns names and values of the parameters with which Open MPI finds and selects our component, beside its own.
std::vector<std::pair<std::string, std::string>> component_parameters(const std::string& libraries);

/// Adds to ASAN_OPTIONS what lets AddressSanitizer's runtime start although a preloaded library stands before it. To preload the
/// runtime itself would put it into the launcher and every shell too, which end with a report of their own leaks. Its place
/// makes no difference: our libraries have no names but MPI's.
std::string asan_options_with_ours(const std::string& options);

/// True for the names that belong to Sumac and to what it stands in for: HCOLL_, SHARP_COLL_, SUMAC_.
bool is_our_variable(std::string_view name);

/// Returns this process's own environment.
std::vector<std::string> own_environment();

}  // namespace sumac::tools
