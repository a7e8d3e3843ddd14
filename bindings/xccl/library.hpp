#pragma once
// The library's handle, the team libraries by name, and their variables.
#include <map>

#include "bindings/xccl/refuse.hpp"

struct xccl_lib {
  unsigned thread_mode = XCCL_THREAD_MODE_SINGLE;
};

/// Values of variables by their names. A name begins with the team library's prefix, if it is one of a team library.
struct xccl_lib_config {
  std::string prefix;  ///< "OMPI_XCCL_" where the program gave "OMPI".
  std::map<std::string, std::string> values;
};
struct xccl_context_config : xccl_lib_config {};

namespace sumac::xccl {

struct TeamLibrary {
  xccl_tl_id_t id;
  const char* prefix;  ///< Its variables begin so.
  xccl_context_create_mode_t mode;
};
/// Those that contexts can have. Selection is the same with each: libucc takes memory, messages or the tree.
inline constexpr TeamLibrary kTeamLibraries[] = {
    {XCCL_TL_UCX, "TEAM_UCX_", XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_LOCAL},
    {XCCL_TL_HIER, "TEAM_HIER_", XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_GLOBAL},
    {XCCL_TL_SHARP, "TEAM_SHARP_", XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_GLOBAL},
    {XCCL_TL_SHMSEG, "TEAM_SHMSEG_", XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_LOCAL},
};

/// Null: there is no such team library.
const TeamLibrary* team_library_of(std::uint64_t id) noexcept;

inline bool is_thread_mode(unsigned mode) noexcept {
  return mode == XCCL_THREAD_MODE_SINGLE || mode == XCCL_THREAD_MODE_MULTIPLE;
}

}  // namespace sumac::xccl
