#include "bindings/ucc/config.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "bindings/ucc/library.hpp"

namespace sumac::ucc {

const Variable kLibraryVariables[] = {
    {"CLS", "basic", "Collective layers: no effect, shared memory, messages and the tree are chosen by themselves"},
    {"LOG_LEVEL", "warn", "No effect: SUMAC_EXPLAIN=1 prints what is chosen"},
    {"COLL_TRACE", "warn", "No effect: SUMAC_EXPLAIN=1 prints what is chosen"},
    {"CONFIG_FILE", "", "No effect: no file is read"},
    {"MODULES", "all", "No effect: the library has no plug-ins"},
    {"CHECK_ASYMMETRIC_DT", "n", "No effect"},
};
const std::size_t kLibraryVariableCount = std::size(kLibraryVariables);

const Variable kContextVariables[] = {
    {"ESTIMATED_NUM_EPS", "0", "Processes of the job: no effect, they are counted"},
    {"ESTIMATED_NUM_PPN", "0", "Processes of a host: no effect, they are counted"},
    {"LOCK_FREE_PROGRESS_Q", "0", "No effect"},
    {"TEAM_IDS_POOL_SIZE", "32", "No effect"},
    {"INTERNAL_OOB", "1", "No effect: teams meet by the context"},
    {"THROTTLE_PROGRESS", "1000", "No effect"},
    {"NET_DEVICES", "all", "No effect: SUMAC_NET_DEVICE names one"},
    {"NODE_LOCAL_ID", "auto", "No effect"},
};
const std::size_t kContextVariableCount = std::size(kContextVariables);

namespace {

using Variables = std::span<const Variable>;

template <class Config>
Config* read(const std::string& prefix, Variables variables) {
  auto* config = new Config;
  config->prefix = prefix.empty() ? "UCC_" : prefix + "_UCC_";
  for (const Variable& one : variables) {
    const char* set = std::getenv((config->prefix + one.name).c_str());
    if (set == nullptr) set = std::getenv((std::string("UCC_") + one.name).c_str());
    config->values[one.name] = set != nullptr ? set : one.value;
  }
  return config;
}

ucc_status_t modify(ucc_lib_config* config, const char* name, const char* value) {
  if (config == nullptr || name == nullptr || value == nullptr) return UCC_ERR_INVALID_PARAM;
  const auto found = config->values.find(name);
  if (found == config->values.end())
    return refuse(UCC_ERR_NOT_FOUND, fmt::format("there is no variable {}; ucc_info -c prints all", name));
  found->second = value;
  return UCC_OK;
}

void print(const ucc_lib_config* config, Variables variables, FILE* stream, const char* title, unsigned flags) {
  if (config == nullptr || stream == nullptr) return;
  if ((flags & UCC_CONFIG_PRINT_HEADER) != 0)
    std::fprintf(stream, "#\n# %s\n#\n\n", title == nullptr ? "UCC configuration" : title);
  if ((flags & UCC_CONFIG_PRINT_CONFIG) == 0) return;
  for (const Variable& one : variables) {
    if ((flags & UCC_CONFIG_PRINT_DOC) != 0) std::fprintf(stream, "# %s\n", one.doc);
    std::fprintf(stream, "%s%s=%s\n", config->prefix.c_str(), one.name, config->values.at(one.name).c_str());
  }
}

}  // namespace
}  // namespace sumac::ucc

using sumac::ucc::guarded;

extern "C" {

ucc_status_t ucc_lib_config_read(const char* env_prefix, const char* filename, ucc_lib_config_h* config) {
  if (config == nullptr) return UCC_ERR_INVALID_PARAM;
  if (filename != nullptr)
    return sumac::ucc::refuse(UCC_ERR_NOT_IMPLEMENTED, "no configuration file is read: give NULL for its name");
  return guarded([&] {
    *config = sumac::ucc::read<ucc_lib_config>(env_prefix == nullptr ? "" : env_prefix,
                                               {sumac::ucc::kLibraryVariables, sumac::ucc::kLibraryVariableCount});
    return UCC_OK;
  });
}

void ucc_lib_config_release(ucc_lib_config_h config) { delete config; }

void ucc_lib_config_print(const ucc_lib_config_h config, FILE* stream, const char* title,
                          ucc_config_print_flags_t print_flags) {
  sumac::ucc::print(config, {sumac::ucc::kLibraryVariables, sumac::ucc::kLibraryVariableCount}, stream, title,
                    print_flags);
}

ucc_status_t ucc_lib_config_modify(ucc_lib_config_h config, const char* name, const char* value) {
  return guarded([&] { return sumac::ucc::modify(config, name, value); });
}

ucc_status_t ucc_context_config_read(ucc_lib_h lib_handle, const char* filename, ucc_context_config_h* config) {
  if (config == nullptr || lib_handle == nullptr) return UCC_ERR_INVALID_PARAM;
  if (filename != nullptr)
    return sumac::ucc::refuse(UCC_ERR_NOT_IMPLEMENTED, "no configuration file is read: give NULL for its name");
  return guarded([&] {
    const auto library = sumac::ucc::find(lib_handle);
    if (!library) return UCC_ERR_INVALID_PARAM;
    *config = sumac::ucc::read<ucc_context_config>(library->prefix,
                                                   {sumac::ucc::kContextVariables, sumac::ucc::kContextVariableCount});
    return UCC_OK;
  });
}

void ucc_context_config_release(ucc_context_config_h config) { delete config; }

void ucc_context_config_print(const ucc_context_config_h config, FILE* stream, const char* title,
                              ucc_config_print_flags_t print_flags) {
  sumac::ucc::print(config, {sumac::ucc::kContextVariables, sumac::ucc::kContextVariableCount}, stream, title,
                    print_flags);
}

ucc_status_t ucc_context_config_modify(ucc_context_config_h config, const char* component, const char* name,
                                       const char* value) {
  // Other libraries have components with names of their own; there is none here for which a value could be wrong.
  if (component != nullptr) return config == nullptr ? UCC_ERR_INVALID_PARAM : UCC_OK;
  return guarded([&] { return sumac::ucc::modify(config, name, value); });
}

}  // extern "C"
