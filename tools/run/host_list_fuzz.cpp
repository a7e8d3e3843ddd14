// Feeds any bytes as a list of hosts (Slurm's form, mpirun's) and as a host file: they must be refused, or give at most
// the announced number of hosts.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "tools/run/host_list.hpp"

SUMAC_FUZZ(host_list) {
  using namespace sumac;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& parsed : {tools::parse_host_list(text), tools::parse_hostfile(text, "fuzz")}) {
    fuzz::must(parsed || !parsed.error().context.empty(), "a refusal has a reason");
    if (!parsed) continue;
    fuzz::must(!parsed->empty() && parsed->size() <= tools::kHostsMax, "as many hosts as are allowed");
    for (const auto& host : *parsed) fuzz::must(!host.name.empty(), "each has a name");
  }
  return 0;
}
