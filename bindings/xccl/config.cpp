// The variables that a program may read and set. All are accepted, since programs set them for the library that they were written
// for; libucc takes its own from Sumac's variables (docs/reference.md), so they have no effect.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <span>

#include "bindings/xccl/library.hpp"

namespace sumac::xccl {
namespace {

/// A name with its default.
struct Variable {
  const char *name, *value;
};
using Variables = std::span<const Variable>;

constexpr Variable kLibraryVariables[] = {
    {"LOG_LEVEL", "warn"}, {"TEAM_LIB_PATH", ""}, {"MEM_COMPONENT_CACHE_SIZE", "4096"}, {"LF_TASKS_QUEUE_SIZE", "128"}};

constexpr Variable kContextVariables[] = {
    {"TEAM_UCX_BLOCK_STREAM", "no"},
    {"TEAM_UCX_NET_DEVICES", "all"},
    {"TEAM_UCX_BARRIER_KN_RADIX", "4"},
    {"TEAM_UCX_BCAST_KN_RADIX", "4"},
    {"TEAM_UCX_REDUCE_KN_RADIX", "4"},
    {"TEAM_UCX_ALLREDUCE_ALG", "auto"},
    {"TEAM_UCX_ALLREDUCE_KN_RADIX", "4"},
    {"TEAM_UCX_NUM_TO_PROBE", "10"},
    {"TEAM_UCX_ALLTOALL_PAIRWISE_CHUNK", "1"},
    {"TEAM_UCX_ALLTOALL_PAIRWISE_REVERSE", "0"},
    {"TEAM_UCX_ALLTOALL_PAIRWISE_BARRIER", "0"},
    {"TEAM_UCX_PRE_MEM_MAP", "0"},
    {"TEAM_UCX_PPN", "32"},
    {"TEAM_HIER_NET_DEVICES", "all"},
    {"TEAM_HIER_ENABLE_SHARP", "no"},
    {"TEAM_HIER_ENABLE_SHMSEG", "no"},
    {"TEAM_HIER_ENABLE_HMC", "no"},
    {"TEAM_HIER_ENABLE_NCCL", "no"},
    {"TEAM_HIER_BCAST_PIPELINE_THRESH", "inf"},
    {"TEAM_HIER_BCAST_PIPELINE_DEPTH", "1"},
    {"TEAM_HIER_BCAST_SM_GET", "0"},
    {"TEAM_HIER_BCAST_SM_GET_THRESH", "inf"},
    {"TEAM_HIER_NODE_LEADER_RANK_ID", "0"},
    {"TEAM_SHARP_NET_DEVICES", "all"},
    {"TEAM_SHARP_RCACHE", "try"},
    {"TEAM_SHARP_ZCOPY_THRESH", "1024"},
    {"TEAM_SHARP_BCOPY_BUF_NUM", "10"},
    {"TEAM_SHMSEG_NET_DEVICES", "all"},
};

template <class Config>
xccl_status_t read(const char* env_prefix, const char* filename, Variables variables, Config** config_p) {
  if (config_p == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    if (filename != nullptr && ::access(filename, F_OK) == 0)
      return refuse(
          XCCL_ERR_NOT_IMPLEMENTED,
          fmt::format("the configuration file {} is not read: set variables, and give NULL for it", filename));
    auto config = std::make_unique<Config>();
    config->prefix = (env_prefix == nullptr ? std::string() : std::string(env_prefix) + "_") + "XCCL_";
    for (const Variable& one : variables) {
      const char* set = std::getenv((config->prefix + one.name).c_str());
      if (set == nullptr) set = std::getenv((std::string("XCCL_") + one.name).c_str());
      config->values[one.name] = set == nullptr ? one.value : set;
    }
    *config_p = config.release();
    return XCCL_OK;
  });
}

}  // namespace
}  // namespace sumac::xccl

using sumac::xccl::guarded;
using sumac::xccl::refuse;

extern "C" {

xccl_status_t xccl_lib_config_read(const char* env_prefix, const char* filename, xccl_lib_config_t** config_p) {
  return sumac::xccl::read(env_prefix, filename, sumac::xccl::kLibraryVariables, config_p);
}

void xccl_lib_config_release(xccl_lib_config_t* config) { delete config; }

void xccl_lib_config_print(const xccl_lib_config_t* config, FILE* stream, const char* title,
                           ucs_config_print_flags_t print_flags) {
  if (config == nullptr || stream == nullptr) return;
  if ((print_flags & UCS_CONFIG_PRINT_HEADER) != 0)
    std::fprintf(stream, "#\n# %s\n#\n\n", title == nullptr ? "XCCL configuration" : title);
  if ((print_flags & UCS_CONFIG_PRINT_CONFIG) == 0) return;
  for (const auto& [name, value] : config->values)
    std::fprintf(stream, "%s%s=%s\n", config->prefix.c_str(), name.c_str(), value.c_str());
}

xccl_status_t xccl_context_config_read(xccl_lib_h lib, const char* env_prefix, const char* filename,
                                       xccl_context_config_t** config) {
  if (!sumac::xccl::find(lib, "library")) return XCCL_ERR_INVALID_PARAM;
  return sumac::xccl::read(env_prefix, filename, sumac::xccl::kContextVariables, config);
}

xccl_status_t xccl_context_config_modify(xccl_tl_id_t* tl_id, xccl_context_config_t* config, const char* name,
                                         const char* value) {
  if (tl_id == nullptr || config == nullptr || name == nullptr || value == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto* const library = sumac::xccl::team_library_of(*tl_id);
    const auto found =
        library == nullptr ? config->values.end() : config->values.find(library->prefix + std::string(name));
    if (found == config->values.end())
      return refuse(XCCL_ERR_NO_ELEM,
                    fmt::format("team library {} has no variable {}", static_cast<unsigned>(*tl_id), name));
    found->second = value;
    return XCCL_OK;
  });
}

void xccl_context_config_release(xccl_context_config_t* config) { delete config; }

}  // extern "C"
