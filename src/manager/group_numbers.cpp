// Assigns the numbers that the group ids of a job may have.
#include <algorithm>

#include "manager/admission.hpp"

namespace sumac::manager {
namespace {

using Marks = std::vector<bool>;  // Indexed by group number.

/// Numbers beyond `marks` are ignored.
void mark(Marks& marks, const std::vector<wire::NumberRange>& ranges) {
  for (const auto& range : ranges)
    for (std::uint64_t n = range.first; n < marks.size() && n < std::uint64_t{range.first} + range.count; ++n)
      marks[n] = true;
}

std::vector<wire::NumberRange> ranges_of(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<wire::NumberRange> ranges;
  for (const auto n : numbers)
    if (!ranges.empty() && n == ranges.back().first + ranges.back().count)
      ++ranges.back().count;
    else
      ranges.push_back({n, 1});
  return ranges;
}

}  // namespace

/// Small numbers go late: they are the only ones that the smallest nodes can hold. Last come numbers that a node reported
/// as held when it registered: they belong to jobs of a former manager until their members leave.
Result<> GroupNumbers::give(Job& job, const std::function<void(const std::function<void(const Job&)>&)>& visit_others) {
  const auto wanted = job.record.quota.max_groups;
  for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
    auto& share = job.record.shares[i];
    auto& next = next_[share.tree];
    const auto limit = holdings_.capacity(share.tree, job.reserved[i]).first.groups;
    Marks taken(limit + 1, false), held(limit + 1, false);
    visit_others([&](const Job& other) {
      for (const auto& theirs : other.record.shares)
        if (theirs.tree == share.tree) mark(taken, theirs.numbers);
    });
    for (const auto n : job.reserved[i]) mark(held, forest_.part(share.tree, n).held);
    std::uint32_t least = limit;
    for (const auto n : forest_.working_nodes(share.tree)) least = std::min(least, cluster_.node(n).who.groups);
    std::vector<std::uint32_t> mine;
    // The search runs in a circle and starts where the last job's numbers ended.
    const auto take_from = [&](std::uint32_t low, std::uint32_t high, bool is_held) {
      const auto size = high - low;
      for (std::uint32_t k = 0; k < size && mine.size() < wanted; ++k) {
        const auto n = low + 1 + (next + k) % size;
        if (!taken[n] && held[n] == is_held) mine.push_back(n);
      }
    };
    for (const bool is_held : {false, true}) {
      take_from(least, limit, is_held);
      take_from(0, least, is_held);
    }
    if (mine.size() < wanted)
      return fail(Errc::exhausted,
                  "{} groups asked, the ids of {} are held by other jobs of the tree: wait for one to end", wanted,
                  limit - mine.size());
    next += wanted;
    share.numbers = ranges_of(std::move(mine));
  }
  return {};
}

}  // namespace sumac::manager
