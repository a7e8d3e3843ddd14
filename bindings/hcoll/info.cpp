// Prints, for hcoll_info, the version and the variables of HCOLL that Sumac reads.
#include <cstdio>
#include <cstring>

#include "bindings/hcoll/refuse.hpp"
#include "rank/settings.h"
#include "team/team.h"

namespace {

constexpr char kHelp[] =
    "usage: hcoll_info [-v] [-a | --all] [-h]\n"
    "\n"
    "Prints what Sumac's libhcoll is, and the variables that it reads.\n"
    "  -v         the version\n"
    "  -a, --all  the variables, with their defaults and meanings\n"
    "  -h         this text\n";

void print_variables() {
  for (std::size_t i = 0; i < hcoll_variable_count; ++i) {
    const auto& one = hcoll_variables[i];
    std::printf("%s (default: %s)\n    %s\n", one.name, one.default_text[0] == '\0' ? "none" : one.default_text,
                one.doc);
  }
  std::puts("Those of teams, which docs/reference.md describes:");
  const char* name = nullptr;
  for (std::size_t i = 0; (name = sumac_team_variable(i)) != nullptr; ++i) std::printf("%s\n", name);
}

}  // namespace

extern "C" void hcoll_get_info(int argc, char** argv) {
  const auto is_one_of = [&](const char* word, const char* shorter, const char* longer) {
    return std::strcmp(word, shorter) == 0 || std::strcmp(word, longer) == 0;
  };
  bool has_said = false;
  for (int i = 1; i < argc; ++i) {
    if (is_one_of(argv[i], "-v", "--version")) {
      std::printf("Version: v%s %s\n", HCOLL_VERNO_STRING, HCOLL_GIT_SHA);
    } else if (is_one_of(argv[i], "-a", "--all")) {
      print_variables();
    } else {
      continue;
    }
    has_said = true;
  }
  if (!has_said) std::fputs(kHelp, stdout);
}
