#include "proto/recovery.hpp"

namespace sumac::proto::recovery {

static void append(std::vector<std::uint64_t>& words, const Mask& mask) {
  const Mask low(~std::uint64_t{0});
  for (std::size_t at = 0; at < kSpanMax; at += 64) words.push_back(((mask >> at) & low).to_ullong());
}

void append(std::vector<std::uint64_t>& words, const std::optional<Verdict>& verdict) {
  words.push_back(verdict ? verdict->first + 1 : 0);
  if (!verdict) return;
  append(words, verdict->also);
  words.push_back(std::uint64_t{verdict->culprit} << 8 | static_cast<std::uint64_t>(verdict->why));
}

void append(std::vector<std::uint64_t>& words, const Join& join) {
  words.insert(words.end(), {join.done, join.contributed, join.oldest, join.leaves});
  append(words, join.can_supply);
  append(words, join.verdict);
}

}  // namespace sumac::proto::recovery
