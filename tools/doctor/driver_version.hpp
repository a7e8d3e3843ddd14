#pragma once
// Reads the versions of NVIDIA's driver out of the texts in which it writes them. Pure.
#include <string>
#include <string_view>

namespace sumac::tools::doctor {

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun ..." -> "535.54.03"; the open module has other
/// words before it. Empty: the line names none.
std::string nvidia_module_version(std::string_view line);
/// "/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03" -> "535.54.03". Empty: the name has none.
std::string version_of_file(std::string_view path);

}  // namespace sumac::tools::doctor
