#pragma once
// The names that a program may read and set. All are accepted, since programs set them for the library that they were written
// for; this one takes its own from Sumac's variables (docs/reference.md), so they have no effect.
#include <map>
#include <string>

#include "bindings/ucc/refuse.hpp"

struct ucc_lib_config {
  std::string prefix;  ///< "OMPI_UCC_" where the program gave "OMPI".
  std::map<std::string, std::string> values;
};
struct ucc_context_config : ucc_lib_config {};

namespace sumac::ucc {

/// A name with its default and meaning.
struct Variable {
  const char *name, *value, *doc;
};
extern const Variable kLibraryVariables[], kContextVariables[];
extern const std::size_t kLibraryVariableCount, kContextVariableCount;

}  // namespace sumac::ucc
