#include "rank/explain.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "rank/left.hpp"

namespace {

/// A program may make thousands of communicators without a team. The first of each reason has a line, and the end of the job
/// tells how many more there were.
struct Reason {
  std::string why;
  std::uint64_t more = 0;
};
constexpr std::size_t kReasonsMax = 16;

std::mutex lock;
/// Never destroyed: the end of a job may come after the destructors.
std::vector<Reason>& reasons = *new std::vector<Reason>;

/// Returns true if the reason is new.
bool note(const std::string& why) {
  const std::lock_guard guard(lock);
  const auto known = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& each) { return each.why == why; });
  if (known != reasons.end()) {
    ++known->more;
    return false;
  }
  if (reasons.size() < kReasonsMax) reasons.push_back({why});
  return true;
}

}  // namespace

void sumac_explain_none(const sumac_team_options_t* options, const char* name, int size, const char* why) {
  if (sumac_team_options_explain(options) != 0 && note(why))
    std::fprintf(stderr, "sumac: communicator %s: %d rank%s: no team: %s\n", name[0] != '\0' ? name : "without a name",
                 size, size == 1 ? "" : "s", why);
}

void sumac_explain_team(const sumac_team_options_t* options, const sumac_team_t* team) {
  if (sumac_team_options_explain(options) == 0) return;
  char* text = sumac_team_explain(team);
  if (text == nullptr) return;
  std::fputs(text, stderr);
  std::free(text);
}

void sumac_explain_end(const sumac_team_options_t* options, const char* next) {
  if (sumac_team_options_explain(options) == 0) return;
  for (const Reason& each : reasons)
    if (each.more > 0)
      std::fprintf(stderr, "sumac: no team for %" PRIu64 " more communicator%s: %s\n", each.more,
                   each.more == 1 ? "" : "s", each.why.c_str());
  sumac_left_print(next);
}
