// ucc_info prints what libucc is and reads, in the form of UCC's own program.
#include <getopt.h>
#include <ucc/api/ucc.h>

#include <cstdio>

namespace {

constexpr char kHelp[] =
    "usage: ucc_info [-v] [-b] [-c] [-a] [-f] [-s] [-A] [-h]\n"
    "\n"
    "Prints what Sumac's libucc is, and the variables that it accepts.\n"
    "  -v  the version\n"
    "  -b  how it was built, as #define\n"
    "  -c  the variables, as NAME=value\n"
    "  -a  the same\n"
    "  -f  with a description above each\n"
    "  -s  what performs collectives\n"
    "  -A  the algorithms: SUMAC_EXPLAIN=1 prints those of each team\n"
    "  -h  this text\n";

bool print_variables(unsigned flags) {
  const auto print = static_cast<ucc_config_print_flags_t>(flags);
  ucc_lib_config_h config = nullptr;
  if (ucc_lib_config_read(nullptr, nullptr, &config) != UCC_OK) return false;
  ucc_lib_config_print(config, stdout, "Variables of the library", print);
  const ucc_lib_params_t params{};
  ucc_lib_h library = nullptr;
  ucc_context_config_h of_context = nullptr;
  const bool is_made =
      ucc_init(&params, config, &library) == UCC_OK && ucc_context_config_read(library, nullptr, &of_context) == UCC_OK;
  ucc_lib_config_release(config);
  if (is_made) ucc_context_config_print(of_context, stdout, "Variables of a context", print);
  if (of_context != nullptr) ucc_context_config_release(of_context);
  if (library != nullptr) ucc_finalize(library);
  return is_made;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned flags = 0;
  bool has_said = false;
  for (int option; (option = getopt(argc, argv, "vbcafsAh")) != -1;) {
    has_said = true;
    switch (option) {
      case 'v': std::printf("# UCC version=%s revision %s\n", ucc_get_version_string(), UCC_GIT_REVISION); break;
      case 'b': std::printf("#define HAVE_CUDA 1\n#define HAVE_HIP 0\n#define UCC_BY_SUMAC 1\n"); break;
      case 'a':
      case 'c': flags |= UCC_CONFIG_PRINT_CONFIG; break;
      case 'f': flags |= UCC_CONFIG_PRINT_CONFIG | UCC_CONFIG_PRINT_HEADER | UCC_CONFIG_PRINT_DOC; break;
      case 's':
        std::puts("Default CLs scores: sumac=100");
        std::puts("Default TLs scores: shared-memory=100 tree=90 messages=80");
        break;
      case 'A':
        std::puts("SUMAC_EXPLAIN=1 prints the algorithms of each team: it chooses them by size and machine");
        break;
      case 'h': std::fputs(kHelp, stdout); return 0;
      default: std::fputs(kHelp, stderr); return 2;
    }
  }
  if (optind < argc || !has_said) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  return flags == 0 || print_variables(flags) ? 0 : 1;
}
