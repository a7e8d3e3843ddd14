// This is where the mutation check has found its rarer mutants. A seed that finds nothing any more costs one run: the check goes on
// from the first seed then, and its table names one that may stand here.
#include <algorithm>
#include <array>

#include "sim/campaign.hpp"

namespace sumac::sim {
namespace {

struct Noticed {
  std::string_view condition;
  std::uint64_t seed;
};
constexpr std::array kNoticed{
    Noticed{"beyond_window", 23},
    Noticed{"dead_root_is_skipped", 79},
    Noticed{"direction", 47},
    Noticed{"first_verdict", 141},
    Noticed{"join_own", 21},
    Noticed{"leave_when_done", 3488},
    Noticed{"left_may_close", 35},
    Noticed{"lets_go", 1222},
    Noticed{"lock_begins_operation", 1220},
    Noticed{"lock_keeps_its_answer", 388},
    Noticed{"lost_reduce_fails", 9409},
    Noticed{"move_again", 1249},
    Noticed{"names_the_root", 70756},
    Noticed{"older_is_unheard", 24460},
    Noticed{"over_again", 167},
    Noticed{"own_group", 45},
    Noticed{"pool", 69},
    Noticed{"result_expected", 16},
    Noticed{"return_holds", 464},
    Noticed{"return_when_all_stand", 1174},
    Noticed{"reuse_ends_old", 47},
    Noticed{"revoked", 127},
    Noticed{"trouble_again", 135},
    Noticed{"unlock_ends_operation", 19385},
    Noticed{"verdict_has_mask", 94},
    Noticed{"verdict_in_turn", 57},
    Noticed{"verdict_travels", 285},
    Noticed{"void_without_supplier", 292},
};

}  // namespace

std::uint64_t noticed_at(std::string_view condition) {
  const auto* const found =
      std::find_if(kNoticed.begin(), kNoticed.end(), [&](const Noticed& one) { return one.condition == condition; });
  return found == kNoticed.end() ? 0 : found->seed;
}

}  // namespace sumac::sim
