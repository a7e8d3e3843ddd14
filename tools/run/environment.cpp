#include "tools/run/environment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "tools/run/choose.hpp"

namespace sumac::tools {

namespace {

struct Added {
  const char *name, *value, *effect;
};

constexpr Added kTree = {"HCOLL_ENABLE_SHARP", "1", "its collectives may use the tree"};
constexpr Added kOneHost = {"HCOLL_SHARP_NP", "1", "the tree serves communicators of one host too"};
// The daemons of the run set the number of groups and OSTs of a job (manager_of_one_run), as long as nobody asks for a
// number.
constexpr Added kJob = {"SHARP_COLL_ENABLE_SAT", "1", "large operations may stream through the tree in chunks"};

constexpr std::string_view kAsan = "ASAN_OPTIONS", kAsanOrder = "verify_asan_link_order";

std::string* find(std::vector<std::string>& variables, std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const std::string& each) {
    return each.size() > name.size() && each[name.size()] == '=' &&
           std::string_view(each).substr(0, name.size()) == name;
  });
  return found == variables.end() ? nullptr : &*found;
}

/// Returns true if the variable was free to be set.
bool add_unless_there(std::vector<std::string>& variables, std::string_view name, std::string_view value) {
  if (find(variables, name) != nullptr) return false;
  variables.push_back(fmt::format("{}={}", name, value));
  return true;
}

}  // namespace

void RunEnvironment::set_unless_there(std::string_view name, std::string_view value, std::string_view effect) {
  if (std::ranges::find(elsewhere, name) != elsewhere.end()) return;
  if (add_unless_there(variables, name, value))
    remarks.push_back(fmt::format("{}={} is set for the program: {}", name, value, effect));
}

RunEnvironment make_run_environment(const RunPlaces& places, const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& elsewhere) {
  RunEnvironment result{inherited, {}, elsewhere};
  const auto set = [&](const Added& each) { result.set_unless_there(each.name, each.value, each.effect); };
  auto& variables = result.variables;
  if (!places.socket.empty()) {
    // Another sharpd's socket would lead the program past this run, so this one variable is overwritten.
    const std::string ours = "SHARP_COLL_SHARPD_SOCKET_NAME=" + places.socket;
    if (auto* other = find(variables, "SHARP_COLL_SHARPD_SOCKET_NAME"); other != nullptr)
      *other = ours;
    else
      variables.push_back(ours);
    if (places.tree) set(kTree);
    if (places.tree && places.one_host) set(kOneHost);
    set(kJob);
  }
  if (auto* path = find(variables, "LD_LIBRARY_PATH"); path != nullptr)
    *path = fmt::format("LD_LIBRARY_PATH={}:{}", places.libraries, path->substr(sizeof "LD_LIBRARY_PATH"));
  else
    variables.push_back("LD_LIBRARY_PATH=" + places.libraries);
  if (!places.preload.empty()) {
    // A library that its user preloads stays, behind ours.
    if (auto* preload = find(variables, "LD_PRELOAD"); preload != nullptr)
      *preload = "LD_PRELOAD=" + preload_before(places.preload, preload->substr(sizeof "LD_PRELOAD"));
    else
      variables.push_back("LD_PRELOAD=" + places.preload);
  }
  const auto preload = value_of(variables, "LD_PRELOAD").value_or("");
  if (places.address_sanitizer && !preload.empty() &&
      !is_sanitizer_runtime(preload.substr(0, preload.find_first_of(": ")))) {
    if (auto* options = find(variables, kAsan); options != nullptr)
      *options = fmt::format("{}={}", kAsan, asan_options_with_ours(options->substr(kAsan.size() + 1)));
    else
      result.set_unless_there(kAsan, asan_options_with_ours(""),
                              "AddressSanitizer lets a library be loaded before its own");
  }
  if (places.component)
    for (const auto& [name, value] : component_parameters(places.libraries))
      add_unless_there(variables, "OMPI_MCA_" + name, value);
  return result;
}

// SYSTEM_DEFAULT is Open MPI's own name for the folder of its components. `ompi_info` would print that folder, and takes
// 0.22 s for it, as it opens every component (2026-11, Debian 12, two cores).
std::vector<std::pair<std::string, std::string>> component_parameters(const std::string& libraries) {
  return {{"mca_base_component_path", libraries + "/openmpi:SYSTEM_DEFAULT"},
          {"coll_hcoll_enable", "1"},
          {"coll_hcoll_np", "0"}};
}

std::string asan_options_with_ours(const std::string& options) {
  if (options.find(kAsanOrder) != std::string::npos) return options;
  return fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", kAsanOrder);
}

bool is_our_variable(std::string_view name) {
  return name.starts_with("SHARP_COLL_") || name.starts_with("HCOLL_") || name.starts_with("SUMAC_");
}

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each) result.emplace_back(*each);
  return result;
}

}  // namespace sumac::tools
