#include "proto/recovery_rule.hpp"

#include <iterator>

namespace sumac::proto::recovery {

const char* to_string(Rule rule) noexcept {
  static const char* const kNames[] = {"retain_a_window",
                                       "window_from_low",
                                       "older_is_unheard",
                                       "verdict_has_mask",
                                       "verdict_travels",
                                       "lost_reduce_fails",
                                       "void_without_supplier",
                                       "closed_goes_alone",
                                       "leave_when_done",
                                       "departed_had_all",
                                       "move_again",
                                       "dead_root_is_skipped",
                                       "return_when_all_stand",
                                       "return_holds",
                                       "return_at_the_most",
                                       "return_after_leave",
                                       "chunk_stays_two_windows",
                                       "lock_keeps_its_answer",
                                       "lock_begins_operation",
                                       "unlock_ends_operation"};
  static_assert(std::size(kNames) == kRuleCount);
  return kNames[static_cast<std::size_t>(rule)];
}

}  // namespace sumac::proto::recovery
