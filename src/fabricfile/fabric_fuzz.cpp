// Feeds any bytes as a fabric file in YAML: reading must not crash, an accepted fabric must be valid, and it must give
// trees or a reason.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "fabricfile/fabricfile.hpp"
#include "topo/tree.hpp"
#include "topo/validate.hpp"

SUMAC_FUZZ(fabric) {
  using namespace sumac;
  using fuzz::must;
  const auto fabric = parse_fabric({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!fabric) {
    must(fabric.error().context.starts_with("fuzz"), "a refusal begins with the file's name");
    return 0;
  }
  must(static_cast<bool>(topo::validate(*fabric)), "what is believed is good");
  const auto trees = topo::build_trees(*fabric, topo::tree_options(*fabric));
  must(trees || !trees.error().context.empty(), "no tree has a reason");
  return 0;
}
