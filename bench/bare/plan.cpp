#include <algorithm>

#include "bench/bare/roles.hpp"

namespace sumac::bare {

Lengths Case::lengths(Ranks below, int iteration, bool up) const {
  std::vector<std::size_t> each(chunks);
  const std::size_t block = pattern == Pattern::allgather ? bytes / static_cast<std::size_t>(ranks) : bytes;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    // The blocks alternate: one chunk of each, then the next chunk of each.
    const std::uint64_t sources = pattern == Pattern::allgather ? static_cast<std::uint64_t>(ranks) : 1;
    const std::size_t payload = std::min<std::size_t>(chunk, block - i / sources * chunk);
    const int source = pattern == Pattern::allgather ? static_cast<int>(i % sources) : root(iteration);
    const bool carries = pattern == Pattern::reduce || below.has(source) == up;
    each[i] = kHeaderBytes + (carries ? payload : 0);
  }
  return Lengths(each);
}

void Times::note(int iteration, std::int64_t begin_ns, std::int64_t end_ns) {
  const auto at = static_cast<std::size_t>(iteration) + 2;
  values_[at] = of_->is_one_span() ? begin_ns : end_ns - begin_ns;
  if (of_->is_one_span()) values_[at + static_cast<std::size_t>(of_->total())] = end_ns;
}

void Times::add(const Times& other) {
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = i >= 2 && of_->is_one_span() ? std::max(values_[i], other.values_[i]) : values_[i] + other.values_[i];
}

std::vector<double> Times::ms() const {
  std::vector<double> found;
  for (int i = of_->warmup; i < of_->total(); ++i) {
    const auto at = static_cast<std::size_t>(i) + 2;
    const double ns = of_->is_one_span()
                          ? static_cast<double>(values_[at + static_cast<std::size_t>(of_->total())] - values_[at])
                          : static_cast<double>(values_[at]) / static_cast<double>(values_[0]);
    found.push_back(ns / 1e6);
  }
  return found;
}

}  // namespace sumac::bare
