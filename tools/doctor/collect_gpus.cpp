// Collects GPUs and the state of their drivers. The driver's library is tried in a child: it may hang or end the
// process.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/write_all.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/driver_version.hpp"
#include "tools/doctor/in_child.hpp"

namespace sumac::tools::doctor {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Counts the graphics and compute cards of each maker on the PCI bus.
void count_cards(Gpus& gpus) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices", error)) {
    const auto kind = first_line(entry.path() / "class"), maker = first_line(entry.path() / "vendor");
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    gpus.nvidia_cards += maker == "0x10de";
    // Many processors have a graphics unit of AMD's inside (class 0300), which is a display and computes nothing.
    gpus.amd_cards += maker == "0x1002" && !kind.starts_with("0x0300");
  }
}

bool may_open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

/// Writes "PATH-OF-THE-LIBRARY\nRESULT-OF-cuInit", or "!" and the loader's words.
void try_cuda(int fd) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    (void)write_all(fd, std::string("!") + ::dlerror());
    return;
  }
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  Dl_info where{};
  if (init == nullptr || ::dladdr(reinterpret_cast<void*>(init), &where) == 0 || where.dli_fname == nullptr) {
    (void)write_all(fd, "!it has no cuInit");
    return;
  }
  char real[PATH_MAX]{};
  const char* path = ::realpath(where.dli_fname, real) == nullptr ? where.dli_fname : real;
  if (write_all(fd, std::string(path) + "\n")) (void)write_all(fd, std::to_string(init(0)));
}

}  // namespace

void collect_gpus(Facts& facts) {
  auto& gpus = facts.gpus;
  count_cards(gpus);
  gpus.nvidia_module = nvidia_module_version(first_line("/proc/driver/nvidia/version"));
  std::error_code error;
  for (int i = 0; i < 64 && fs::exists("/dev/nvidia" + std::to_string(i), error); ++i) ++gpus.nvidia_devices;
  gpus.nvidia_usable = gpus.nvidia_devices > 0 && may_open("/dev/nvidia0") && may_open("/dev/nvidiactl");
  gpus.amd_kfd = fs::exists("/dev/kfd", error);
  gpus.amd_usable = gpus.amd_kfd && may_open("/dev/kfd");
  if (gpus.nvidia_cards == 0 && gpus.nvidia_module.empty() && gpus.nvidia_devices == 0) return;
  const auto answer = in_children({try_cuda}, Seconds(10))[0];
  const auto newline = answer.text.find('\n');
  if (answer.text.starts_with('!')) {
    gpus.cuda_error = answer.text.substr(1);
  } else if (newline == std::string::npos || !answer.ended) {
    gpus.cuda_error = "it hangs or ends the process that loads it";
  } else {
    gpus.cuda_library = version_of_file(answer.text.substr(0, newline));
    gpus.cuda_init = std::atoll(answer.text.c_str() + newline + 1);
  }
}

}  // namespace sumac::tools::doctor
