// sharp_hello tests whether this host can use the tree: a job and a group of one rank, one barrier and one sum through
// the leaf node.
#include <getopt.h>
#include <sharp/api/sharp_coll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace {

constexpr char kHelp[] =
    "usage: sharp_hello [-d DEVICE[:PORT]] [-v LEVEL]\n"
    "\n"
    "Begins a job of one rank on this host, makes a group, and sends a barrier and a sum through the aggregation "
    "node.\n"
    "Ends with 'Test Passed.' and 0, or with what is wrong and 1.\n"
    "  -d, --ib-dev DEVICE[:PORT]  network interface to use (default: the system's choice)\n"
    "  -v, --verbose LEVEL         0 fatal, 1 error, 2 warn, 3 info, 4 debug, 5 trace (default 3)\n"
    "  -h, --help                  this text\n";

int failed(const char* what, int status) {
  std::fprintf(stderr, "%s failed: %s\n", what, sharp_coll_strerror(status));
  return 1;
}

// A job of one rank has no peer to exchange data with.
int alone_bcast(void*, void*, int, int) { return 0; }
int alone_barrier(void*) { return 0; }
int alone_gather(void*, int, void* mine, void* all, int bytes) {
  __builtin_memcpy(all, mine, static_cast<std::size_t>(bytes));
  return 0;
}

int sum_of_one(sharp_coll_comm* comm) {
  std::int32_t in = 42, out = 0;
  sharp_coll_reduce_spec spec{};
  spec.sbuf_desc.buffer = {&in, sizeof in, nullptr};
  spec.rbuf_desc.buffer = {&out, sizeof out, nullptr};
  spec.dtype = SHARP_DTYPE_INT;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  spec.length = 1;
  spec.op = SHARP_OP_SUM;
  if (const int status = sharp_coll_do_allreduce(comm, &spec); status != 0)
    return failed("sharp_coll_do_allreduce", status);
  if (out == in) return 0;
  std::fprintf(stderr, "wrong result: the sum of %d is %d\n", in, out);
  return 1;
}

int hello(const std::string& device) {
  sharp_coll_init_spec init{};
  init.job_id = (std::uint64_t{std::random_device{}()} << 16) | 1;
  init.world_size = 1;
  init.config = sharp_coll_default_config;
  if (!device.empty()) init.config.ib_dev_list = device.c_str();
  init.oob_colls = {alone_bcast, alone_barrier, alone_gather};
  sharp_coll_context* context = nullptr;
  if (const int status = sharp_coll_init(&init, &context); status != 0) return failed("sharp_coll_init", status);

  sharp_coll_comm_init_spec group{};
  group.size = 1;
  sharp_coll_comm* comm = nullptr;
  int status = sharp_coll_comm_init(context, &group, &comm);
  int result = status == 0 ? 0 : failed("sharp_coll_comm_init", status);
  if (result == 0) {
    status = sharp_coll_do_barrier(comm);
    result = status == 0 ? sum_of_one(comm) : failed("sharp_coll_do_barrier", status);
    status = sharp_coll_comm_destroy(comm);
    if (result == 0 && status != 0) result = failed("sharp_coll_comm_destroy", status);
  }
  status = sharp_coll_finalize(context);
  return result == 0 && status != 0 ? failed("sharp_coll_finalize", status) : result;
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr option kLong[] = {{"ib-dev", required_argument, nullptr, 'd'},
                                     {"verbose", required_argument, nullptr, 'v'},
                                     {"help", no_argument, nullptr, 'h'},
                                     {}};
  std::string device, level = "3";
  for (int option; (option = getopt_long(argc, argv, "d:v:h", kLong, nullptr)) != -1;) {
    switch (option) {
      case 'd': device = optarg; break;
      case 'v': level = optarg; break;
      case 'h': std::fputs(kHelp, stdout); return 0;
      default: std::fputs(kHelp, stderr); return 2;
    }
  }
  if (optind < argc || level.size() != 1 || level[0] < '0' || level[0] > '5') {
    std::fprintf(stderr, "sharp_hello: %s\n%s", optind < argc ? "unexpected argument" : "-v takes 0 to 5", kHelp);
    return 2;
  }
  setenv("SHARP_COLL_LOG_LEVEL", level.c_str(), 1);
  const int result = hello(device);
  if (result == 0) std::puts("Test Passed.");
  return result;
}
