#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "net/ucx_module.hpp"
#ifdef SUMAC_WITH_UCX
#include "net/ucx_transport.hpp"
#endif

namespace sumac::net {

#ifdef SUMAC_WITH_UCX
std::atomic<const sumac_ucx_functions*> detail::ucx_functions{nullptr};
#endif

namespace {

/// Looks for the module beside the library or program that contains this code, in ../lib, in the folder above, in
/// SUMAC_HOME/lib, and in the system's directories.
void* open_module(std::string& error) {
  std::vector<std::string> places;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&make_ucx_transport), &here) != 0 && here.dli_fname != nullptr) {
    std::error_code ignored;  // If a relative name no longer resolves, only the system's directories remain.
    const auto folder = std::filesystem::weakly_canonical(here.dli_fname, ignored).parent_path();
    places.push_back((folder / kUcxModule).string());
    places.push_back((folder.parent_path() / "lib" / kUcxModule).string());
    places.push_back((folder.parent_path() / kUcxModule).string());  // The folder above serves a module in lib/openmpi.
  }
  // Python's package comes without it.
  if (const char* home = std::getenv("SUMAC_HOME"); home != nullptr && *home != '\0')
    places.push_back((std::filesystem::path(home) / "lib" / kUcxModule).string());
  places.emplace_back(kUcxModule);
  for (const auto& place : places) {
    // The module is never closed: UCX leaves a thread and exit handlers behind, whose code must stay loaded.
    if (void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); module != nullptr) return module;
    const std::string reason = dlerror();
    if (error.empty() || std::filesystem::exists(place)) error = reason;
  }
  return nullptr;
}

/// UCX reads these variables when it is loaded or opens a device. With them it prints to stderr instead of the
/// program's stdout, prints nothing about events that we report ourselves (a peer that left), and leaves signals to the
/// program. Its tcp then takes a streaming chunk (64 KiB and its headers) as a whole: cut into its default 8 KiB, 16
/// MiB over 4 hosts at 1 Gbit/s take 360 ms instead of 206. Whoever places messages gets the longest one as a whole, since
/// UCX would put its parts together in memory of its own. (Devices are configured by plain UCX_* only, whatever the
/// prefix.) Variables that the user set stay unchanged, and so does a UCX that is loaded already.
class GentleUcx {
 public:
  explicit GentleUcx(const TransportConfig& config) {
    if (config.place_from != 0)
      variables_[4].value = std::to_string(std::max(kReceived, config.message_max + kUcxHeaders));
    for (auto& [name, value, ours] : variables_) {
      ours = std::getenv(name) == nullptr;
      if (ours) setenv(name, value.c_str(), 0);
    }
  }
  ~GentleUcx() {
    for (auto& [name, value, ours] : variables_)
      if (ours) unsetenv(name);
  }

 private:
  static constexpr std::size_t kReceived = 128u << 10, kUcxHeaders = 4096;
  struct Variable {
    const char* name;
    std::string value;
    bool ours;
  };
  Variable variables_[5] = {{"UCX_LOG_FILE", "stderr", false},
                            {"UCX_LOG_LEVEL", "fatal", false},
                            {"UCX_HANDLE_ERRORS", "none", false},
                            {"UCX_TCP_TX_SEG_SIZE", "72k", false},
                            {"UCX_TCP_RX_SEG_SIZE", std::to_string(kReceived), false}};
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx_transport(const TransportConfig& config, BufferPool& pool) {
  // UCX ends a process that sends or receives more at once than the other end has room for, so both must read the same
  // variables, also where several threads make transports.
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  std::string error;
  const GentleUcx gentle(config);
  void* module = open_module(error);
  if (module == nullptr)
    return fail(Errc::unsupported, "transport ucx: {}: install the package with {}, or use transport tcp", error,
                kUcxModule);
#ifdef SUMAC_WITH_UCX
  const auto* functions = static_cast<const sumac_ucx_functions*>(dlsym(module, kUcxFunctions));
  if (functions != nullptr && functions->bytes == sizeof *functions) {
    detail::ucx_functions.store(functions, std::memory_order_release);  // Its table is complete before anybody sees it.
    return UcxTransport::make(config, pool);
  }
#endif
  return fail(Errc::unsupported, "transport ucx: {} is of another build: install both anew", kUcxModule);
}

}  // namespace sumac::net
