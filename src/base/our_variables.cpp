#include "base/our_variables.hpp"

#include <algorithm>

namespace sumac {
namespace {

constexpr LooseVariable kLoose[] = {
    {"SUMAC_LAB", "`sumac lab`: which lab is meant where several are up; `--name` goes before it."},
    {"SUMAC_DIR", "Set by sumac-init.sh and the modules: the folder into which Sumac was unpacked (docs/install.md)."},
    {"SUMAC_RUN_DIR", "`sumac up`, `down`, `status`: the directory of what they start, instead of the user's own."},
    {"SUMAC_HOME",
     "Python's package: the prefix of an installation; its bin/sumac starts the tree's daemons where "
     "HCOLL_ENABLE_SHARP "
     "asks for a tree and hosts have none, and its lib has what SUMAC_TRANSPORT=ucx needs. Unset: the PATH."},
    {"SUMAC_SEED", "`sumac-seeds`: this seed alone, to see a failure again."},
    {"SUMAC_SETUP", "`make`: `no` installs no packages."},
    {"SUMAC_TORCH", "`make`: `no` installs no PyTorch; its tests are skipped."},
    {"SUMAC_BUILD", "Tests of the component: the build folder."},
    {"SUMAC_OMPI5_PREFIX",
     "Tests of the component: the prefix of an Open MPI 5.0, for which it is built (docs/tools.md)."},
    {"SUMAC_OSU_SRC", "Tests and benches: a built source tree of OSU's benchmarks, which are used in place of ours."},
    {"SUMAC_SEEDS", "Tests: the folder of the published texts, whose tables are compared with ours."},
    {"SUMAC_OMPI_HCOLL", "Tests: Open MPI's own mca_coll_hcoll.so, built on our headers."},
    {"SUMAC_UCC_SRC", "Tests: a tree of UCC that was built `--with-sharp` on our headers."},
    {"SUMAC_XCCL_SRC", "Tests: a source tree of openucx/xccl, whose test programs run on our libxccl."},
    {"SUMAC_NCCL_PLUGIN_SRC", "Tests: a tree of the NCCL plugin that was built `--with-sharp` on our headers."},
    {"SUMAC_TORCH_SRC", "`make bench-torch`: a copy of PyTorch's source, for its test_c10d_gloo.py."},
    {"SUMAC_WALK_DIR", "`make walk`: where a build that records its functions writes them."},
    {"SUMAC_SETUP_EMULATOR",
     "sharp_daemons_setup.sh: a program that starts the daemons of another processor, for packages made elsewhere."},
    {"SUMAC_SETUP_ROOT", "sharp_daemons_setup.sh: a folder that it takes for the root of the machine, for tests."},
    {"SUMAC_TEST_VERBOSE", "Tests of sharpd: its log lines on stderr."},
    {"SUMAC_TLS_DIR",
     "`sumac` and its like, to a manager with certificates: directory with ca.crt and admin-NAME.crt, .key "
     "(docs/security.md)."},
    {"SUMAC_TLS_CA", "`sumac` and its like, to a manager with certificates: the authority's (docs/security.md)."},
    {"SUMAC_TLS_CERT", "The same: a certificate of role admin, or of a daemon."},
    {"SUMAC_TLS_KEY", "The same: its private key."},
    {"SUMAC_UPDATE_DOCS", "Tests of generated documents write them instead of comparing (`make docs`)."},
    {"SUMAC_UPDATE_GOLDEN", "Tests of the machines' table of states and events write it instead of comparing."},
    {"SUMAC_WRITE_GOLDEN", "Tests of the messages' bytes write them instead of comparing."},
};

constexpr std::string_view kClient[] = {"SUMAC_TRANSPORT", "SUMAC_NET_DEVICE",    "SUMAC_REPRODUCIBLE",
                                        "SUMAC_TIMEOUT",   "SUMAC_QUEUE_SECONDS", "SUMAC_RECOVERY",
                                        "SUMAC_DEFAULTS"};
/// SUMAC_REPRODUCIBLE, SUMAC_TIMEOUT and SUMAC_DEFAULTS are the client's and the team's: each does its part of them.
constexpr std::string_view kTeam[] = {"SUMAC_ENABLE",     "SUMAC_EXPLAIN", "SUMAC_TUNING_FILE", "SUMAC_PROGRESS_THREAD",
                                      "SUMAC_TEAM_AFTER", "SUMAC_PROFILE", "SUMAC_TRACE",       "SUMAC_REPRODUCIBLE",
                                      "SUMAC_LAST_LINE",  "SUMAC_TIMEOUT", "SUMAC_ACROSS",      "SUMAC_DEFAULTS"};
constexpr std::string_view kPrograms[] = {"SUMAC_AM_",   "SUMAC_NODE_", "SUMAC_HOSTD_",
                                          "SUMAC_COLL_", "SUMAC_SHM_",  "SUMAC_TEAM_"};
constexpr std::string_view kAll = "SUMAC_";
/// UCX's own variables under our prefix (src/net). UCX knows them and reports unknown ones itself.
constexpr std::string_view kUcx = "SUMAC_UCX_";

bool begins_with_one_of(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_in(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const LooseVariable> loose_variables() { return kLoose; }
std::span<const std::string_view> client_variables() { return kClient; }
std::span<const std::string_view> team_variables() { return kTeam; }
std::span<const std::string_view> program_prefixes() { return kPrograms; }

std::vector<UnknownName> unknown_variables(std::span<const std::string> known,
                                           std::span<const std::string_view> prefixes) {
  std::vector<std::string> candidates;
  for (auto& name : our_environment_names()) {
    const bool is_loose = std::any_of(std::begin(kLoose), std::end(kLoose),
                                      [&](const LooseVariable& loose) { return loose.name == name; });
    if (is_loose || is_in(name, kClient) || is_in(name, kTeam) || name.starts_with(kUcx)) continue;
    if (begins_with_one_of(name, kPrograms)) {
      const bool is_ours = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
        return prefix != kAll && name.starts_with(prefix);
      });
      if (!is_ours) continue;  // The program that owns the prefix reports it.
    } else if (!name.starts_with(kAll) && !begins_with_one_of(name, prefixes)) {
      continue;
    }
    candidates.push_back(std::move(name));
  }
  auto unknown = unknown_names(candidates, known);
  // A name with no program's prefix that is close to none of this program's names is reported by the program that has
  // the prefix SUMAC_.
  std::erase_if(unknown,
                [&](const UnknownName& one) { return one.nearest.empty() && !begins_with_one_of(one.name, prefixes); });
  return unknown;
}

}  // namespace sumac
