// `sumac page`: asks the manager for the address of its page, with a token for the user who asks.
#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/host_name.hpp"
#include "base/replace_file.hpp"
#include "tools/commands.hpp"
#include "tools/manager_status.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kHelp =
    "usage: sumac page [--manager ADDR:PORT|unix:PATH] [--json | --out FILE]\n"
    "\n"
    "Prints the address of the manager's page for a browser. It holds a token for you, valid for 12 hours: you see "
    "your\n"
    "own jobs, an operator (root and the manager's user) sees all. Show it to nobody, and paste it into no log.\n"
    "\n"
    "  --manager   where sharp_am is [SUMAC_HOSTD_MANAGER, else that of `sumac up`, else sharp_am's own default]\n"
    "  --json      site, name (what the Host header must say), token, life_s and operator as JSON\n"
    "  --out FILE  the same JSON in FILE, which nobody else may read\n"
    "\n"
    "sharp_am serves a page if it has --page-listen. Your user is proven by the unix socket; over TCP it takes an\n"
    "administrator's certificate. Exit status 0: printed. 1: there is no address for you. 2: wrong usage.\n";

void print_words(const PageAddress& page) {
  constexpr std::string_view kUnix = "unix:";
  if (page.site.starts_with(kUnix)) {
    fmt::print(stderr,
               "The page is at a unix socket, which a browser cannot open: connect a port of the browser's machine to "
               "it,\n  ssh -N -L 9510:{} {}\nand open\n",
               page.site.substr(kUnix.size()), host_name());
    fmt::print("http://{}:9510/#token={}\n", page.name, page.token);
    return;
  }
  fmt::print("{}/#token={}\n", page.site, page.token);
  const auto port = page.site.substr(page.site.rfind(':') + 1);
  if (::isatty(STDERR_FILENO) == 1 && page.site.starts_with("http:"))
    fmt::print(stderr, "It is an address of this machine. From another one: ssh -N -L {0}:127.0.0.1:{0} {1}\n", port,
               host_name());
}

}  // namespace

int page_command(const Arguments& arguments) {
  auto endpoint = manager_of_environment();
  bool as_json = false;
  std::string file;
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    if (*at == "--help" || *at == "-h") {
      fmt::print("{}", kHelp);
      return 0;
    }
    if (*at == "--json") {
      as_json = true;
    } else if (*at == "--manager" && at + 1 != arguments.end()) {
      endpoint = *++at;
    } else if (*at == "--out" && at + 1 != arguments.end()) {
      file = *++at;
    } else if (*at == "--out") {
      return complain("page: --out without a file behind it: see `sumac page --help`", 2);
    } else if (*at == "--manager") {
      return complain("page: --manager needs ADDR:PORT or unix:PATH", 2);
    } else {
      return complain(fmt::format("page: no option {}: see `sumac page --help`", *at), 2);
    }
  }
  const auto page = ask_for_page(endpoint);
  if (!page) return complain("page: " + page.error().context);
  const auto json = [&] {
    const nlohmann::json words{{"site", page->site},
                               {"name", page->name},
                               {"token", page->token},
                               {"life_s", page->life_s},
                               {"operator", page->is_operator}};
    return words.dump() + "\n";
  };
  if (!file.empty()) {
    if (auto written = replace_file(file, json(), 0600); !written)
      return complain("page: --out: " + written.error().context);
  } else if (as_json) {
    fmt::print("{}", json());
  } else {
    print_words(*page);
  }
  return 0;
}

}  // namespace sumac::tools
