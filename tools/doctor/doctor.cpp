#include "tools/doctor/doctor.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/manager_status.hpp"

namespace sumac::tools {
namespace {

constexpr char kHelp[] =
    "usage: sumac doctor [--json] [--manager ADDR:PORT|unix:PATH]\n"
    "\n"
    "Looks at this machine and at what runs on it, and says what to mend: processors, limits, shared memory, single "
    "copy, clock,\n"
    "network, MPI, sharpd, manager. Changes nothing. Ends with 1 if something is bad.\n"
    "  --json               for programs\n"
    "  --manager ADDR:PORT|unix:PATH  where sharp_am should be; else SUMAC_HOSTD_MANAGER says, else what `sumac up` "
    "started, else\n"
    "                       unix:/run/sumac-am/am.sock\n";

const char* word(Health health) {
  switch (health) {
    case Health::well: return "ok";
    case Health::note: return "note";
    case Health::bad: return "BAD";
  }
  return "?";
}

void print_table(const std::vector<Finding>& findings) {
  for (const auto& each : findings) {
    fmt::print("{:<5} {:<18} {}\n", word(each.health), each.subject, each.found);
    if (!each.remedy.empty()) fmt::print("{:<5} {:<18}   -> {}\n", "", "", each.remedy);
  }
}

void print_json(const std::vector<Finding>& findings) {
  auto all = nlohmann::json::array();
  for (const auto& each : findings)
    all.push_back(
        {{"subject", each.subject}, {"health", word(each.health)}, {"found", each.found}, {"remedy", each.remedy}});
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

int doctor_command(const Arguments& arguments) {
  bool json = false;
  std::string manager = manager_of_environment();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help" || arguments[i] == "-h") return fmt::print(kHelp), 0;
    if (arguments[i] == "--json") {
      json = true;
    } else if (arguments[i] == "--manager" && i + 1 < arguments.size()) {
      manager = arguments[++i];
    } else {
      return complain(fmt::format("doctor: unexpected argument '{}': see `sumac doctor --help`", arguments[i]), 2);
    }
  }
  auto findings = examine_machine();
  for (auto& each : examine_services(manager)) findings.push_back(std::move(each));
  json ? print_json(findings) : print_table(findings);
  for (const auto& each : findings)
    if (each.health == Health::bad) return 1;
  return 0;
}

}  // namespace sumac::tools
