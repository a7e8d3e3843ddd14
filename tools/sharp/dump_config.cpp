// sharp_coll_dump_config prints the options that libsharp_coll would use here and now.
#include <getopt.h>
#include <sharp/api/sharp_coll.h>

#include <cstdio>

namespace {
constexpr char kHelp[] =
    "usage: sharp_coll_dump_config [-f] [-a] [-h]\n"
    "\n"
    "Prints NAME=value for every option of libsharp_coll, as the present environment sets it.\n"
    "  -f  with a description above each\n"
    "  -a  also those that are accepted and have no effect\n"
    "  -h  this text\n";
}

int main(int argc, char** argv) {
  int flags = SHARP_COLL_CONFIG_PRINT_CONFIG;
  for (int option; (option = getopt(argc, argv, "fah")) != -1;) {
    switch (option) {
      case 'f': flags |= SHARP_COLL_CONFIG_PRINT_HEADER | SHARP_COLL_CONFIG_PRINT_DOC; break;
      case 'a': flags |= SHARP_COLL_CONFIG_PRINT_HIDDEN; break;
      case 'h': std::fputs(kHelp, stdout); return 0;
      default: std::fputs(kHelp, stderr); return 2;
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "sharp_coll_dump_config: unexpected argument '%s'\n%s", argv[optind], kHelp);
    return 2;
  }
  return sharp_coll_print_config(stdout, static_cast<config_print_flags>(flags), "sharp_coll_dump_config") == 0 ? 0 : 1;
}
