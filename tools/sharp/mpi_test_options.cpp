#include <getopt.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "tools/sharp/mpi_test.hpp"

namespace sumac::mpi_test {
namespace {

constexpr char kHelp[] =
    "usage: mpirun [...] sharp_mpi_test [options]\n"
    "\n"
    "Runs collectives of libsharp_coll over MPI's processes. ENABLE_SHARP_COLL=1 must be in the environment; without "
    "it the same\n"
    "collectives of MPI are run, for comparison.\n"
    "  -B, --perf_with_barrier 0|1  a barrier before each timed operation (1)\n"
    "  -c, --collectives LIST       "
    "allreduce,iallreduce,reduce,ireduce,barrier,ibarrier,bcast,reduce_scatter,allgather,all,none\n"
    "                               (allreduce,barrier)\n"
    "  -C, --iov_count N            pieces of a list, 1 to 15 (2)\n"
    "  -d, --ib-dev DEV[:PORT]      network interface to use (the system's choice)\n"
    "  -D, --data_layout KIND       contig or iov (contig)\n"
    "  -H, --host_alloc_type KIND   malloc, hugetlb or hugethp (malloc)\n"
    "  -i, --iters N                timed operations (1000)\n"
    "  -j, --jobid N                job id (drawn)\n"
    "  -m, --mode MODE              basic (sums are checked), complex (every type and operation), perf (timed), all "
    "(perf)\n"
    "  -M, --mem_type KIND          host (host)\n"
    "  -N, --nbc_count N            outstanding nonblocking operations, 1 to 512 (512)\n"
    "  -p, --flat_ppn N             processes of each host that take part (all)\n"
    "  -r, --root RANK              of reduce and bcast (the last rank)\n"
    "  -s, --size [MIN:]MAX         bytes, rounded up to powers of two (4:256)\n"
    "  -t, --group_type KIND        world, world-dup, world-rev (ranks reversed), half (the first half of the ranks),\n"
    "                               split:N (N groups of neighbouring ranks), split-rev:N, split:ppn-comm (a group for "
    "each local\n"
    "                               rank), split:ppn-jobs (and a job for each)  (world)\n"
    "  -T, --datatype TYPE          half_int, half_float, int, float, long, double, byte (float)\n"
    "  -x, --skips N                operations before the timed ones (100)\n"
    "  -h, --help                   this text\n";

constexpr option kLong[] = {{"perf_with_barrier", required_argument, nullptr, 'B'},
                            {"collectives", required_argument, nullptr, 'c'},
                            {"iov_count", required_argument, nullptr, 'C'},
                            {"ib-dev", required_argument, nullptr, 'd'},
                            {"data_layout", required_argument, nullptr, 'D'},
                            {"host_alloc_type", required_argument, nullptr, 'H'},
                            {"iters", required_argument, nullptr, 'i'},
                            {"jobid", required_argument, nullptr, 'j'},
                            {"mode", required_argument, nullptr, 'm'},
                            {"mem_type", required_argument, nullptr, 'M'},
                            {"nbc_count", required_argument, nullptr, 'N'},
                            {"flat_ppn", required_argument, nullptr, 'p'},
                            {"root", required_argument, nullptr, 'r'},
                            {"size", required_argument, nullptr, 's'},
                            {"group_type", required_argument, nullptr, 't'},
                            {"datatype", required_argument, nullptr, 'T'},
                            {"skips", required_argument, nullptr, 'x'},
                            {"help", no_argument, nullptr, 'h'},
                            {}};

constexpr const char* kNames[] = {"allreduce", "iallreduce", "reduce",         "ireduce",  "barrier",
                                  "ibarrier",  "bcast",      "reduce_scatter", "allgather"};

constexpr std::size_t kBytesMax = std::size_t{1} << 34;

template <class T>
bool number(std::string_view text, T low, T high, T* out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return false;
  *out = value;
  return true;
}

bool collectives(const std::string& text, Options* options) {
  options->collectives.clear();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "none") continue;
    if (word == "all") {
      for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i)
        options->collectives.push_back(static_cast<Collective>(i));
      continue;
    }
    const auto found = std::find(std::begin(kNames), std::end(kNames), word);
    if (found == std::end(kNames)) return false;
    options->collectives.push_back(static_cast<Collective>(found - std::begin(kNames)));
  }
  return true;
}

bool sizes(std::string_view text, Options* options) {
  const auto colon = text.find(':');
  std::size_t low = options->bytes_min, high = 0;
  if (colon != std::string_view::npos) {
    if (!number<std::size_t>(text.substr(0, colon), 1, kBytesMax, &low)) return false;
    text.remove_prefix(colon + 1);
  }
  if (!number<std::size_t>(text, 1, kBytesMax, &high)) return false;
  options->bytes_min = std::bit_ceil(std::min(low, high));
  options->bytes_max = std::bit_ceil(high);
  return colon == std::string_view::npos || low <= high;
}

bool datatype(std::string_view text, Options* options) {
  constexpr std::pair<std::string_view, Dtype> kTypes[] = {
      {"half_int", Dtype::int16}, {"half_float", Dtype::float16}, {"int", Dtype::int32}, {"float", Dtype::float32},
      {"long", Dtype::int64},     {"double", Dtype::float64},     {"byte", Dtype::uint8}};
  for (const auto& [name, dtype] : kTypes)
    if (name == text) return options->dtype = dtype, true;
  return false;
}

bool group_type(std::string text, Options* options) {
  for (const char* split : {"split:", "split-rev:"}) {
    if (text.rfind(split, 0) != 0 || text == "split:ppn-comm" || text == "split:ppn-jobs") continue;
    if (!number<int>(std::string_view(text).substr(std::string_view(split).size()), 1, 1 << 20, &options->group_count))
      return false;
    options->group_type = text.substr(0, text.find(':'));
    return true;
  }
  for (const char* known : {"world", "world-dup", "world-rev", "half", "split:ppn-comm", "split:ppn-jobs"})
    if (text == known) return options->group_type = text, true;
  return false;
}

bool mode(std::string_view text, Options* options) {
  options->basic = text == "basic" || text == "all";
  options->complex = text == "complex" || text == "all";
  options->perf = text == "perf" || text == "all";
  return options->basic || options->complex || options->perf;
}

bool take(int letter, const std::string& text, Options* options) {
  switch (letter) {
    case 'B': options->barrier_before = text == "1"; return text == "0" || text == "1";
    case 'c': return collectives(text, options);
    case 'C': return number(text, 1, SHARP_COLL_DATA_MAX_IOV, &options->iov_count);
    case 'd': options->device = text; return !text.empty();
    case 'D': options->iov = text == "iov"; return text == "iov" || text == "contig";
    case 'H':
      options->allocation = text == "hugetlb"   ? Allocation::hugetlb
                            : text == "hugethp" ? Allocation::hugethp
                                                : Allocation::malloc;
      return text == "malloc" || text == "hugetlb" || text == "hugethp";
    case 'i': return number(text, 1, 1 << 30, &options->iterations);
    case 'j': return number<std::uint64_t>(text, 1, UINT64_MAX, &options->job_id);
    case 'm': return mode(text, options);
    case 'M': return text == "host" || text == "host:host";
    case 'N': return number(text, 1, 512, &options->outstanding);
    case 'p': return number(text, 1, 1 << 20, &options->per_host);
    case 'r': return number(text, 0, 1 << 30, &options->root);
    case 's': return sizes(text, options);
    case 't': return group_type(text, options);
    case 'T': return datatype(text, options);
    case 'x': return number(text, 0, 1 << 30, &options->skips);
    default: return false;
  }
}

}  // namespace

const char* name_of(Collective collective) { return kNames[static_cast<int>(collective)]; }

bool is_nonblocking(Collective collective) {
  return collective == Collective::iallreduce || collective == Collective::ireduce ||
         collective == Collective::ibarrier;
}

std::optional<Options> parse_options(int argc, char** argv, bool speaks, int* status) {
  Options options;
  options.perf = true;
  const char* enabled = std::getenv("ENABLE_SHARP_COLL");
  options.use_sharp = enabled != nullptr && std::string_view(enabled) == "1";
  opterr = speaks;
  *status = 2;
  for (int letter, index = -1;
       (letter = getopt_long(argc, argv, "B:c:C:d:D:H:i:j:m:M:N:p:r:s:t:T:x:h", kLong, &index)) != -1; index = -1) {
    if (letter == 'h') {
      if (speaks) std::fputs(kHelp, stdout);
      *status = 0;
      return std::nullopt;
    }
    if (letter == '?') {
      if (speaks) std::fputs("sharp_mpi_test: see --help\n", stderr);
      return std::nullopt;
    }
    if (!take(letter, optarg, &options)) {
      const bool cuda = letter == 'M' && std::string_view(optarg).find("cuda") != std::string_view::npos;
      if (speaks)
        std::fprintf(stderr, "sharp_mpi_test: -%c: '%s' %s, see --help\n", letter, optarg,
                     cuda ? "is memory that this library does not offer yet" : "is not legal");
      return std::nullopt;
    }
  }
  if (optind < argc) {
    if (speaks) std::fprintf(stderr, "sharp_mpi_test: unexpected argument '%s', see --help\n", argv[optind]);
    return std::nullopt;
  }
  return options;
}

}  // namespace sumac::mpi_test
