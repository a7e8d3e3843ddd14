#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "net/ucx_module.hpp"

namespace sumac::net {
namespace {

/// Beside the library or program that this code is in, in ../lib of it, above it, or where the system looks.
void* open_module(std::string& error) {
  std::vector<std::string> places;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&make_ucx_transport), &here) != 0 && here.dli_fname != nullptr) {
    std::error_code ignored;  // a relative name that is gone: then only the system's places are left
    const auto folder = std::filesystem::weakly_canonical(here.dli_fname, ignored).parent_path();
    places.push_back((folder / kUcxModule).string());
    places.push_back((folder.parent_path() / "lib" / kUcxModule).string());
    places.push_back((folder.parent_path() / kUcxModule).string());  // of lib/openmpi
  }
  places.emplace_back(kUcxModule);
  for (const auto& place : places) {
    // Never closed: UCX leaves a thread and exit handlers behind that must not lose their code.
    if (void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); module != nullptr) return module;
    const std::string reason = dlerror();
    if (error.empty() || std::filesystem::exists(place)) error = reason;
  }
  return nullptr;
}

/// UCX reads these as it is loaded or opens a device: what it prints goes to stderr instead of the program's stdout, is not printed at
/// all where we report it ourselves (a peer that left), and signals stay the program's. Its tcp takes a chunk of streaming (64 KiB and
/// its headers) in one piece; cut into its own 8 KiB, 16 MiB over 4 hosts at 1 Gbit/s take 360 ms instead of 206 (devices are
/// configured by plain UCX_* only, whatever the prefix). What the user set, or a UCX that is loaded already, is left alone.
class GentleUcx {
 public:
  GentleUcx() {
    for (auto& [name, value, ours] : variables_) {
      ours = std::getenv(name) == nullptr;
      if (ours) setenv(name, value, 0);
    }
  }
  ~GentleUcx() {
    for (auto& [name, value, ours] : variables_)
      if (ours) unsetenv(name);
  }

 private:
  struct Variable {
    const char *name, *value;
    bool ours;
  };
  Variable variables_[5] = {{"UCX_LOG_FILE", "stderr", false},
                            {"UCX_LOG_LEVEL", "fatal", false},
                            {"UCX_HANDLE_ERRORS", "none", false},
                            {"UCX_TCP_TX_SEG_SIZE", "72k", false},
                            {"UCX_TCP_RX_SEG_SIZE", "128k", false}};
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx_transport(const TransportConfig& config, BufferPool& pool) {
  std::string error;
  const GentleUcx gentle;
  void* module = open_module(error);
  if (module == nullptr)
    return fail(Errc::unsupported, "transport ucx: {}: install the package with {}, or use transport tcp", error,
                kUcxModule);
  const auto entry = reinterpret_cast<UcxEntry>(dlsym(module, kUcxEntry));
  Result<std::unique_ptr<Transport>> made =
      fail(Errc::unsupported, "transport ucx: {} is of another build: install both anew", kUcxModule);
  if (entry == nullptr || !entry(module_fingerprint(), &config, &pool, &made)) return made;
  return made;
}

}  // namespace sumac::net
