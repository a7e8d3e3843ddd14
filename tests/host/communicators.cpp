#include "tests/host/communicators.hpp"

namespace sumac::tests {
namespace {

constexpr std::size_t kFreshMax = 3;

MPI_Comm split(int color, int key) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &made);
  return made;
}

void release(MPI_Comm& comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

}  // namespace

Communicators::Communicators() {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  // The elements follow the order of Where.
  lasting_ = {MPI_COMM_WORLD, duplicate, split(0, -rank), split(rank % 2, rank), split(2 * rank < size, -rank),
              split(rank, 0)};
}

Communicators::~Communicators() {
  for (auto& comm : fresh_) release(comm);
  for (std::size_t i = 1; i < lasting_.size(); ++i) release(lasting_[i]);
}

MPI_Comm Communicators::get(Where where, std::uint64_t key) {
  if (where == Where::fresh) return make_fresh(key);
  return lasting_[static_cast<std::size_t>(where)];
}

MPI_Comm Communicators::make_fresh(std::uint64_t key) {
  if (fresh_.size() == kFreshMax) {
    const auto oldest_or_not = static_cast<std::ptrdiff_t>(mix(key, 21) % kFreshMax);
    release(fresh_[static_cast<std::size_t>(oldest_or_not)]);
    fresh_.erase(fresh_.begin() + oldest_or_not);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::uint64_t own = mix(key, 22, static_cast<std::uint64_t>(rank));
  const int color = own % 8 == 0 ? MPI_UNDEFINED : static_cast<int>(own >> 8 & 1);
  fresh_.push_back(split(color, static_cast<int>(own >> 16 & 0xff)));
  return fresh_.back();
}

}  // namespace sumac::tests
