#pragma once
// A context: the team of a group's ranks.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bindings/hcoll/library.hpp"
#include "rank/members.hpp"
#include "rank/record.h"

namespace sumac::hcoll {

/// It ends with its context.
struct Team : sumac_record {
  rank::Members members;  ///< The ways between hosts refer to it.
  std::string name;
  bool is_first = false;  ///< The first context of all its ranks, whose end prints the last line, if
  bool has_line = false;  ///< its rank 0 wants it.

  explicit Team(rank::Members of);
  ~Team();
  Team(const Team&) = delete;
  sumac_team_t* team() const noexcept { return ordinary.team; }
};

/// The client's handle. It stays readable after its end, so that a later use is refused.
struct Context {
  static constexpr std::uint64_t kMark = 0x5c0117e87c0117e8u;
  std::uint64_t mark = kMark;
  std::unique_ptr<Team> team;
  bool is_freed = false;  ///< The client has freed it, but may still wait for operations: the team ends behind them.
};

/// Null if there is none.
inline Team* find(void* handle) noexcept {
  auto* const context = static_cast<Context*>(handle);
  return context != nullptr && context->mark == Context::kMark && !context->is_freed ? context->team.get() : nullptr;
}
int no_context() noexcept;

/// Operations that were posted and have not ended.
extern std::atomic<int> posted;

/// Moves them in all contexts; returns how many have ended.
int progress();

/// While one lives its thread moves teams, under their locks. The client learns behind it which of its objects are complete, since it
/// may call anything then: it may free the very context.
class Moving {
 public:
  Moving();
  ~Moving();
  Moving(const Moving&) = delete;
};
void complete(void* handle);

/// Ends contexts that are freed, and of which no operation is under way; at the library's end, all.
void end_contexts(bool is_end);
/// A fork's child begins anew, without its parent's.
void forget_contexts();

/// Fills hcoll_collectives for a client with this tag.
void offer_collectives(int base_tag);

}  // namespace sumac::hcoll
