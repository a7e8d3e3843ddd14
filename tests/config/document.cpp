#include "tests/config/document.hpp"

#include "base/our_variables.hpp"
#include "client/options.hpp"
#include "hostd/config.hpp"
#include "manager/config.hpp"
#include "node/config.hpp"
#include "rank/settings.h"
#include "team/options.hpp"

namespace sumac::tests {
namespace {

constexpr const char* kHead = R"(# Options

Made from the option tables in the code.

**Daemons** (`sharp_am`, `sharp_an`, `sharpd`). Each option has a variable of the environment (upper case below) and a key (lower case).
The key is an option of the command line, `--log-level 4` or `--log_level=4`, and a line of a configuration file, which `-O FILE` reads:
one `key value` in each line, `#` begins a comment; a key that is unknown or set twice is an error. The command line wins over the
environment, the environment over the file, the file over the default; an empty value counts as not set. `-c FILE` writes a file with all
keys, their defaults and meanings, `--show-config` prints the values that the daemon would use, `--help` prints this page in short, `--ready-fd N` writes `ready`
to that descriptor when the daemon can be used, `--version` prints the version. On SIGHUP a daemon opens its log file again (logrotate), reads the file again and takes over
the options marked *SIGHUP*; for any other option that has changed it logs that the old value stays. Times take `us`, `ms`, `s`, `min`; sizes take `k`, `m`, `g`
(powers of two).

**Programs that load `libsharp_coll.so`, and the component** have the environment alone (`mpirun -x NAME=VALUE`). `libsharp_coll.so` reads its
variables at each `sharp_coll_init`; those of world rank 0 decide what all ranks must agree on. The component reads `HCOLL_*` once, in
`MPI_Init`, and all ranks must have the same; a rank that differs is named and the job goes on without the tree.

**An unknown variable** causes one line of warning and nothing else. The line has the name that was probably meant. A daemon warns about variables with its own prefix,
world rank 0 about the rest.

**`sumac run`, `sumac up` and `sumac lab up`** hand their environment to the daemons they start, so `SUMAC_NODE_SPIN=0 sumac run ./client` works. Where
`sumac run` starts daemons (`--tree`, HCOLL_ENABLE_SHARP from 1 to 4, or a program that is no MPI launcher) it sets for the program, unless it is
set already, and prints: `SHARP_COLL_ENABLE_SAT=1`; for the tree also `HCOLL_ENABLE_SHARP=1`, `HCOLL_SHARP_NP=1`. Its manager and nodes serve this run alone: a job
that asks for no number gets 128 groups with 64 OSTs each, a quarter of a node, so that four jobs may run at once (`--default-quota-percent 25`, unless
`SUMAC_AM_DEFAULT_QUOTA_PERCENT` is set).
)";

/// Writes the hidden part of a table: options that are accepted and known, without effect.
template <class Config>
std::string document_hidden(std::span<const Option<Config>> table) {
  std::string text = "| name | meaning |\n|---|---|\n";
  for (const auto& option : table) {
    if (!option.is_hidden) continue;
    std::string name = fmt::format("`{}`", option.name);
    for (const auto alias : option.aliases)
      if (!alias.empty()) name += fmt::format(", `{}`", alias);
    text += fmt::format("| {} | {} |\n", name, option.doc);
  }
  return text;
}

std::string document_component() {
  std::string text = "| name | default | legal | meaning |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < hcoll_variable_count; ++i) {
    const auto& variable = hcoll_variables[i];
    std::string name = fmt::format("`{}`", variable.name);
    if (variable.alias != nullptr) name += fmt::format(", `{}`", variable.alias);
    text += fmt::format("| {} | `{}` | {} | {} |\n", name, variable.default_text, variable.legal, variable.doc);
  }
  text += "\nMCA parameters (`--mca coll_hcoll_np 0`):\n\n| name | default | meaning |\n|---|---|---|\n";
  for (const auto& parameter : hcoll_parameters)
    text += fmt::format("| `coll_hcoll_{}` | `{}` | {} |\n", parameter.name, parameter.default_value, parameter.doc);
  return text;
}

std::string document_loose() {
  std::string text = "| name | read by |\n|---|---|\n";
  for (const auto& variable : loose_variables()) text += fmt::format("| `{}` | {} |\n", variable.name, variable.doc);
  text +=
      "| `SUMAC_UCX_*` | The ucx backend: UCX's `TLS`, `NET_DEVICES` and its like for it alone, before `UCX_*` "
      "(`SUMAC_UCX_TLS=tcp`); what belongs to one kind of device (`UCX_TCP_*`) UCX reads without our prefix only. |\n";
  return text;
}

}  // namespace

std::string config_markdown() {
  std::string text = kHead;
  text += "\n## sharp_am, the manager\n\n" + document<manager::Config>(manager::kOptions);
  text += "\n## sharp_an, the aggregation node\n\n" + document<node::Config>(node::kOptions);
  text += "\n## sharpd, one on each host\n\n" + document<hostd::Config>(hostd::kOptions);
  text += "\n## libsharp_coll.so\n\n" + document<client::ClientConfig>(client::client_options());
  text += "\nAccepted, so that scripts written for the hardware go on working, and without effect:\n\n" +
          document_hidden(client::client_options());
  text += "\n## The component `hcoll` of Open MPI\n\n" + document_component();
  text +=
      "\n## Teams: collectives level by level\n\nRead by the component; all ranks must have the same, but for the "
      "tuning file, "
      "`SUMAC_EXPLAIN` and `SUMAC_SHM_BACKING`.\n\n" +
      document<team::Options>(team::kOptions) + "\n" + "Known, and without effect:\n\n" +
      document_hidden<team::Options>(team::kOptions);
  text += "\n## Other variables\n\n" + document_loose();
  return text;
}

}  // namespace sumac::tests
