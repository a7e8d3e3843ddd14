// baretree: see README.md. The options are the same for every process of a tree, and all must get the same cases.
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/bare/roles.hpp"
#include "bench/measure.h"

namespace sumac::bare {
namespace {

constexpr const char* kHelp =
    "usage: baretree node --listen PORT --children N [--parent HOST:PORT] [options] --case CASE ...\n"
    "       baretree host --parent HOST:PORT [options] --case CASE ...\n"
    "\n"
    "Messages of the size and number of a reduction tree, and nothing else: the time that no tree over these wires "
    "beats.\n"
    "Start the root first; a node prints `ready PORT` when its children may come. The root prints one JSON line per "
    "case.\n"
    "\n"
    "  --case NAME:BYTES[:ITERATIONS[:WARMUP]]   as for collbench; every process of the tree gets the same\n"
    "  --wait spin|epoll   look for 20 us before sleeping, or sleep at once (default)\n"
    "  --stream-from SIZE  operations of at least this size (default 16K) go in chunks of --chunk (64K), --window (16) "
    "in flight\n"
    "  --ranks N           hosts in the whole tree, and\n"
    "  --rank R            which of them this one is, from leaf to leaf: bcast, reduce and allgather need them\n"
    "  --limit SECONDS     give up after this time (default 120)\n"
    "  --help\n";

struct Options {
  bool node = false;
  std::uint16_t listen = 0;
  int children = 0;
  std::string parent;
  std::vector<bench_case> cases;
  bool spin = false;
  std::size_t stream_from = 16u << 10, chunk = 64u << 10;
  std::uint64_t window = 16;
  int ranks = 0, rank = 0;
  unsigned limit_s = 120;
};

Result<unsigned long> number(const char* option, const char* text, unsigned long least, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most)
    return fail(Errc::invalid, "--{} {}: a number from {} to {} is needed", option, text, least, most);
  return value;
}

Result<> read_option(Options& o, const char* name, const char* value) {
  const std::string_view option = name;
  char message[256];
  if (option == "case") {
    if (bench_parse_case(value, &o.cases.emplace_back(), message, sizeof message) != 0)
      return fail(Errc::invalid, "{}", message);
  } else if (option == "parent") {
    o.parent = value;
  } else if (option == "wait") {
    o.spin = std::strcmp(value, "spin") == 0;
    if (!o.spin && std::strcmp(value, "epoll") != 0) return fail(Errc::invalid, "--wait {}: spin or epoll", value);
  } else if (option == "stream-from" || option == "chunk") {
    std::size_t& bytes = option == "chunk" ? o.chunk : o.stream_from;
    if (bench_parse_bytes(value, &bytes) != 0 || bytes == 0)
      return fail(Errc::invalid, "--{} {}: a size is needed", name, value);
  } else {
    auto n = number(name, value, option == "listen" || option == "rank" ? 0 : 1, 65535);
    if (!n) return tl::unexpected(n.error());
    if (option == "listen") o.listen = static_cast<std::uint16_t>(*n);
    if (option == "children") o.children = static_cast<int>(*n);
    if (option == "window") o.window = *n;
    if (option == "ranks") o.ranks = static_cast<int>(*n);
    if (option == "rank") o.rank = static_cast<int>(*n);
    if (option == "limit") o.limit_s = static_cast<unsigned>(*n);
  }
  return {};
}

Pattern pattern_of(std::string_view name) {
  if (name == "reduce") return Pattern::reduce;
  if (name == "bcast") return Pattern::bcast;
  return name == "allgather" ? Pattern::allgather : Pattern::together;
}

Result<> check_ranks(const Options& o, const bench_case& c) {
  const Pattern pattern = pattern_of(c.name);
  if (pattern == Pattern::together) return {};
  if (o.ranks == 0) return fail(Errc::invalid, "{} needs --ranks", c.name);
  if (!o.node && o.rank >= o.ranks) return fail(Errc::invalid, "--rank {} of --ranks {}", o.rank, o.ranks);
  for (int i = 0; i < c.size_count; ++i)
    if (pattern == Pattern::allgather && c.sizes[i] % static_cast<std::size_t>(o.ranks) != 0)
      return fail(Errc::invalid, "allgather of {} bytes: {} ranks do not get equal parts of it", c.sizes[i], o.ranks);
  return {};
}

Result<Options> read_options(int argc, char** argv) {
  Options o;
  static const option kOptions[] = {
      {"case", required_argument, nullptr, 0},   {"parent", required_argument, nullptr, 0},
      {"wait", required_argument, nullptr, 0},   {"stream-from", required_argument, nullptr, 0},
      {"chunk", required_argument, nullptr, 0},  {"window", required_argument, nullptr, 0},
      {"listen", required_argument, nullptr, 0}, {"children", required_argument, nullptr, 0},
      {"limit", required_argument, nullptr, 0},  {"ranks", required_argument, nullptr, 0},
      {"rank", required_argument, nullptr, 0},   {nullptr, 0, nullptr, 0}};
  if (argc < 2 || (std::strcmp(argv[1], "node") != 0 && std::strcmp(argv[1], "host") != 0))
    return fail(Errc::invalid, "say which part to play, node or host: try --help");
  o.node = std::strcmp(argv[1], "node") == 0;
  opterr = 0;
  optind = 2;
  for (int index = 0, code = 0; (code = getopt_long(argc, argv, "", kOptions, &index)) != -1;) {
    if (code != 0) return fail(Errc::invalid, "cannot read '{}': try --help", argv[optind - 1]);
    if (auto read = read_option(o, kOptions[index].name, optarg); !read) return tl::unexpected(read.error());
  }
  if (optind < argc) return fail(Errc::invalid, "cannot read '{}': try --help", argv[optind]);
  if (o.cases.empty()) return fail(Errc::invalid, "nothing to do: give --case");
  if (o.node && o.children == 0) return fail(Errc::invalid, "a node needs --children");
  if (!o.node && o.parent.empty()) return fail(Errc::invalid, "a host needs --parent");
  for (const auto& c : o.cases)
    if (auto possible = check_ranks(o, c); !possible) return tl::unexpected(possible.error());
  return o;
}

Plan make_plan(const Options& o) {
  Plan plan{.cases = {}, .spin = o.spin, .rank = o.rank};
  for (const auto& read : o.cases)
    for (int i = 0; i < read.size_count; ++i) {
      Case c{
          .name = read.name, .pattern = pattern_of(read.name), .ranks = std::max(1, o.ranks), .bytes = read.sizes[i]};
      const bool stream = c.bytes >= o.stream_from;
      const std::uint64_t blocks = c.pattern == Pattern::allgather ? static_cast<std::uint64_t>(c.ranks) : 1;
      const std::size_t block = c.bytes / blocks;
      c.chunk = stream ? std::min(o.chunk, block) : block;
      c.chunks = blocks * (stream ? (block + c.chunk - 1) / c.chunk : 1);
      c.window = stream || blocks > 1 ? o.window : 1;
      c.iterations = read.iterations > 0 ? read.iterations : bench_default_iterations(c.bytes);
      c.warmup = read.warmup >= 0 ? read.warmup : bench_default_warmup(c.iterations);
      plan.cases.push_back(c);
    }
  return plan;
}

Result<> run(const Options& o) {
  const Plan plan = make_plan(o);
  std::optional<Link> parent;
  std::optional<Listener> listener;
  if (o.node) {
    auto listening = listen_on(o.listen, o.children);
    if (!listening) return tl::unexpected(listening.error());
    listener = std::move(*listening);
    std::printf("ready %u\n", listener->port);
    std::fflush(stdout);
  }
  if (!o.parent.empty()) {
    auto link = connect_to(o.parent);
    if (!link) return tl::unexpected(link.error());
    parent = std::move(*link);
  }
  if (!o.node) return run_host(std::move(*parent), plan);
  std::vector<Link> children;
  while (static_cast<int>(children.size()) < o.children) {
    auto link = accept_from(*listener);
    if (!link) return tl::unexpected(link.error());
    children.push_back(std::move(*link));
  }
  return run_node(std::move(children), std::move(parent), plan);
}

// A process of the tree whose peers died or never came must not stay behind.
void give_up(int) {
  static constexpr char kWords[] =
      "baretree: not done within --limit: a process of the tree is missing or the case is too long\n";
  if (write(STDERR_FILENO, kWords, sizeof kWords - 1) < 0) _exit(125);
  _exit(124);
}

}  // namespace
}  // namespace sumac::bare

int main(int argc, char** argv) {
  using namespace sumac::bare;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0) return std::fputs(kHelp, stdout), 0;
  const auto options = read_options(argc, argv);
  if (!options) return std::fprintf(stderr, "baretree: %s\n", options.error().context.c_str()), 2;
  signal(SIGALRM, give_up);
  alarm(options->limit_s);
  const auto done = run(*options);
  if (!done)
    return std::fprintf(stderr, "baretree %s: %s\n", options->node ? "node" : "host", done.error().context.c_str()), 1;
  return 0;
}
