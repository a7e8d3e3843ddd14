// Feeds any bytes as the output of ibnetdiscover: reading must not crash, an accepted fabric must be valid, and it must
// give trees or a reason.
#include <cstdio>
#include <cstdlib>

#include "base/fuzz_target.hpp"
#include "fabricfile/ibnetdiscover.hpp"
#include "topo/tree.hpp"
#include "topo/validate.hpp"

namespace sumac {
namespace {

void must(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void read(std::string_view text) {
  const auto guids = parse_guids(text, "fuzz");
  must(guids || !guids.error().context.empty(), "a refusal has a reason");
  const auto fabric = parse_ibnetdiscover(text, "fuzz");
  if (!fabric) return must(fabric.error().context.starts_with("fuzz:"), "a refusal begins with the file's name");
  must(static_cast<bool>(topo::validate(*fabric)), "what is believed is good");
  for (const std::uint32_t radix : {0U, 2U}) {
    const auto trees = topo::build_trees(*fabric, {2, radix});
    if (!trees) {
      must(!trees.error().context.empty(), "no tree has a reason");
      continue;
    }
    for (const auto& tree : *trees)
      for (const auto& node : tree.nodes)
        must(!node.in_tree || node.parent >= 0 || node.name == tree.nodes[tree.root].name,
             "only the root has no parent");
  }
}

}  // namespace
}  // namespace sumac

SUMAC_FUZZ(ibnetdiscover) {
  sumac::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
