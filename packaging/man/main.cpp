// man-pages DIRECTORY BIN [EMULATOR] writes the manual pages of the programs in BIN: DIRECTORY/man1/sumac.1 and so on. EMULATOR starts those
// that are compiled for another system.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "hostd/config.hpp"
#include "manager/config.hpp"
#include "node/config.hpp"

namespace sumac::man {
namespace {

namespace fs = std::filesystem;

/// Escapes text for roff: a dash stays a dash, and a line that begins with a dot stays text.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

struct Page {
  std::string name;
  int section = 1;
  std::string summary;
};

std::string in_upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string head(const Page& page) {
  return fmt::format(".TH {} {} \"{}\" \"Sumac {}\" \"Sumac\"\n.SH NAME\n{} \\- {}\n", roff(in_upper_case(page.name)),
                     page.section, SUMAC_DATE, SUMAC_VERSION, roff(page.name), roff(page.summary));
}

std::string words_as_they_are(const std::string& title, const std::string& text) {
  return fmt::format(".SH {}\n.nf\n{}\n.fi\n", title, roff(text));
}

constexpr const char* kSeeAlso =
    ".SH SEE ALSO\n"
    ".BR sumac (1),\n.BR sharp_cmd (1),\n.BR sharp_hello (1),\n.BR sharp_coll_dump_config (1),\n.BR sharp_mpi_test "
    "(1),\n"
    ".BR sharp_benchmark.sh (1),\n.BR sharp_am (8),\n.BR sharp_an (8),\n.BR sharpd (8),\n"
    ".BR sharp_daemons_setup.sh (8)\n";

/// Writes one paragraph for each option of a daemon, from the table that the daemon itself reads.
template <class Config>
std::string daemon_page(const Page& page, std::span<const Option<Config>> table, const std::string& description) {
  std::string text = head(page);
  text += fmt::format(".SH SYNOPSIS\n.B {}\n[\\-\\-KEY VALUE ...] [\\-O FILE]\n", roff(page.name));
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(description));
  text +=
      ".SH OPTIONS\n"
      ".TP\n.BI \\-O \" FILE\"\nRead a configuration file of lines `key value`; # begins a comment. A key that is "
      "unknown or set twice is an "
      "error.\n"
      ".TP\n.BI \\-c \" FILE\"\nWrite such a file with all keys, their defaults and meanings, and stop.\n"
      ".TP\n.BI \\-\\-ready\\-fd \" N\"\nWrite `ready` to this descriptor when the daemon can be used.\n"
      ".TP\n.B \\-\\-show\\-config\nPrint what would be used, and stop.\n"
      ".TP\n.BR \\-\\-version \", \" \\-\\-help\nPrint what they say, and stop.\n"
      ".PP\nEach further option is also a key of the file (with _ for \\-) and a variable of the environment. The "
      "command line wins over the "
      "environment, that over the file.\n";
  for (const auto& option : table) {
    if (option.is_hidden) continue;
    std::string key(option.aliases[0].empty() ? option.name : option.aliases[0]);
    std::ranges::replace(key, '_', '-');
    text += fmt::format(".TP\n.BI \\-\\-{} \" VALUE\"\n{}\n.br\n", roff(key), roff(option.doc));
    text += fmt::format("Legal: {}. Default: {}. Variable: {}.{}\n", roff(option.legal(option.limits)),
                        option.default_text.empty() ? "none" : roff(option.default_text), roff(option.name),
                        option.is_updatable ? " May change at run time." : "");
  }
  text +=
      ".SH SIGNALS\n.TP\n.BR SIGTERM \", \" SIGINT\nEnd in good order.\n"
      ".TP\n.B SIGHUP\nRead the configuration file again. What may change at run time is taken over; what else has "
      "changed is said in one line "
      "and stays as it was. A file that makes no sense changes nothing.\n";
  if (page.name == "sharp_an") text += ".TP\n.B SIGUSR1\nWrite the statistics (stats_file).\n";
  text += fmt::format(".SH FILES\n.TP\n.I PREFIX/conf/{}.conf\nThe file that the service of {} reads.\n",
                      roff(page.name), "sharp_daemons_setup.sh (8)");
  return text + kSeeAlso;
}

struct Programs {
  std::string bin, emulator;

  /// Returns the words of a shell that start it.
  std::string operator()(std::string_view name) const {
    return fmt::format("{}'{}/{}'", emulator.empty() || name.ends_with(".sh") ? "" : emulator + " ", bin, name);
  }
};

Result<std::string> output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>&1").c_str(), "re"), ::pclose);
  if (!pipe) return fail_errno(command);
  std::string text;
  char part[4096];
  while (const auto got = std::fread(part, 1, sizeof part, pipe.get())) text.append(part, got);
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return fail(Errc::invalid, "{} printed nothing", command);
  return text;
}

Result<> write_page(const fs::path& directory, const Page& page, const std::string& text) {
  const auto folder = directory / fmt::format("man{}", page.section);
  std::error_code error;
  fs::create_directories(folder, error);
  const auto path = folder / fmt::format("{}.{}", page.name, page.section);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) return fail(Errc::io, "{}: can't be written", path.string());
  return {};
}

const Page kUtilities[] = {
    {"sharp_cmd", 1, "what the aggregation manager knows: topology, trees, jobs, quotas"},
    {"sharp_hello", 1, "can this host use the tree?"},
    {"sharp_mpi_test", 1, "collectives of libsharp_coll over MPI's processes, checked or timed"},
    {"hcoll_info", 1, "what libhcoll is, and the variables that it reads"},
    {"ucc_info", 1, "what libucc is, and the variables that it accepts"},
    {"sharp_benchmark.sh", 1, "sharp_mpi_test over a list of hosts, with and without the tree"},
    {"sharp_daemons_setup.sh", 8, "sharpd, sharp_am or sharp_an as a service of systemd"},
};

Result<> utilities(const fs::path& directory, const Programs& start) {
  for (const auto& page : kUtilities) {
    auto help = output_of(start(page.name) + " -h");
    if (!help) return tl::unexpected(help.error());
    if (auto done = write_page(directory, page, head(page) + words_as_they_are("DESCRIPTION", *help) + kSeeAlso); !done)
      return done;
  }
  const Page dump{"sharp_coll_dump_config", 1, "the options of libsharp_coll as the environment sets them"};
  auto help = output_of(start(dump.name) + " -h");
  auto variables = output_of(fmt::format("env -i {} -f", start(dump.name)));
  if (!help || !variables) return tl::unexpected((help ? variables : help).error());
  return write_page(
      directory, dump,
      head(dump) + words_as_they_are("DESCRIPTION", *help) + words_as_they_are("ENVIRONMENT", *variables) + kSeeAlso);
}

/// Reads the subcommands out of `sumac help`: the first word of each indented line.
std::vector<std::string> subcommands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

Result<> sumac_page(const fs::path& directory, const Programs& start) {
  const Page page{"sumac", 1, "run programs with in-network reductions, look after daemons, emulate a fabric"};
  auto all = output_of(start("sumac") + " help");
  if (!all) return tl::unexpected(all.error());
  std::string text = head(page) + words_as_they_are("DESCRIPTION", *all);
  for (const auto& name : subcommands(*all)) {
    auto help = output_of(fmt::format("{} {} --help", start("sumac"), name));
    if (!help) return tl::unexpected(help.error());
    text += words_as_they_are("SUMAC " + in_upper_case(name), *help);
  }
  return write_page(directory, page, text + kSeeAlso);
}

Result<> write_all(const fs::path& directory, const Programs& start) {
  const Page am{"sharp_am", 8, "the aggregation manager: trees, jobs and their quotas"};
  const Page an{"sharp_an", 8, "an aggregation node"};
  const Page hostd{"sharpd", 8, "carries the control requests of a host's processes to the manager"};
  for (auto done :
       {write_page(directory, am,
                   daemon_page<manager::Config>(
                       am, manager::kOptions,
                       "sharp_am reads the fabric, builds the trees, admits jobs and gives each its share of the "
                       "nodes for as long as their sharpds renew it. One runs for a fabric; it is on the way of no "
                       "data, and jobs go on while it is away.")),
        write_page(directory, an,
                   daemon_page<node::Config>(
                       an, node::kOptions,
                       "sharp_an takes one contribution from each child, sends their sum to its parent and passes "
                       "the result back down. It runs at a switch, a router or a host, and knows only what the "
                       "manager granted.")),
        write_page(directory, hostd,
                   daemon_page<hostd::Config>(
                       hostd, hostd::kOptions,
                       "sharpd runs on every host. Programs that load libsharp_coll.so reach it by its socket; it "
                       "believes what the kernel says of them, and releases what they held when they are gone."))})
    if (!done) return done;
  if (auto done = utilities(directory, start); !done) return done;
  return sumac_page(directory, start);
}

}  // namespace
}  // namespace sumac::man

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fmt::print(stderr, "usage: man-pages DIRECTORY BIN [EMULATOR]\n");
    return 2;
  }
  if (auto done = sumac::man::write_all(argv[1], {argv[2], argc == 4 ? argv[3] : ""}); !done) {
    fmt::print(stderr, "man-pages: {}\n", done.error().context);
    return 1;
  }
  return 0;
}
