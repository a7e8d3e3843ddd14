#include "tests/host/plain.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "tests/host/calls.hpp"

namespace sumac::tests {

Plain::Plain(Coll coll, std::size_t bytes, MPI_Comm comm)
    : coll_(coll), comm_(comm), count_(static_cast<int>(bytes / sizeof(unsigned))) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
  const std::size_t room = static_cast<std::size_t>(count_) * static_cast<std::size_t>(size_) + 1;
  in_.resize(room);
  out_.resize(room);
  for (int block = 0; block < size_; ++block) {
    counts_.push_back(count_);
    displacements_.push_back(block * count_);
  }
}

Plain::~Plain() {
  if (persistent_ != MPI_REQUEST_NULL) MPI_Request_free(&persistent_);
}

void Plain::fill(unsigned call) {
  std::fill(in_.begin(), in_.end(), static_cast<unsigned>(rank_) + call);
  std::fill(out_.begin(), out_.end(), coll_ == Coll::bcast && rank_ == 0 ? call : ~call);
}

int Plain::run(Form form) {
  const Arguments arguments{
      .in = {in_.data(), count_, MPI_UNSIGNED, counts_.data(), displacements_.data()},
      .out = {out_.data(), count_, MPI_UNSIGNED, counts_.data(), displacements_.data()},
      .operation = MPI_SUM,
      .root = 0,
      .comm = comm_,
  };
  if (form != Form::persistent) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int rc = call(coll_, form, arguments, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
  }
  int rc = persistent_ == MPI_REQUEST_NULL ? call(coll_, form, arguments, &persistent_) : MPI_SUCCESS;
  if (rc == MPI_SUCCESS) rc = MPI_Start(&persistent_);
  return rc == MPI_SUCCESS ? MPI_Wait(&persistent_, MPI_STATUS_IGNORE) : rc;
}

/// Returns the right result when every rank r sends r + call.
unsigned Plain::right(int block, unsigned call) const {
  const auto sum_of = [](int ranks, unsigned each) {
    return static_cast<unsigned>(ranks * (ranks - 1) / 2) + static_cast<unsigned>(ranks) * each;
  };
  const unsigned sum = sum_of(size_, call);
  if (coll_ == Coll::allreduce || coll_ == Coll::reduce_scatter_block || coll_ == Coll::reduce_scatter) return sum;
  if (coll_ == Coll::scan) return sum_of(rank_ + 1, call);
  if (coll_ == Coll::exscan) return rank_ == 0 ? ~call : sum_of(rank_, call);
  if (coll_ == Coll::reduce) return rank_ == 0 ? sum : ~call;
  if (coll::collective(coll_).is_pairwise && !coll::has_block(coll_, 0, block, rank_)) return ~call;
  return coll_ == Coll::bcast ? call : static_cast<unsigned>(block) + call;
}

/// Checks the first and the last element of each block.
std::string Plain::check(unsigned call) const {
  if (coll_ == Coll::barrier || count_ == 0) return {};
  const coll::Share keeps = coll::collective(coll_).keeps;
  const bool has_blocks = keeps == coll::Share::blocks || keeps == coll::Share::sized_blocks;
  for (int block = 0; block < (has_blocks ? size_ : 1); ++block) {
    const auto at = static_cast<std::size_t>(block) * static_cast<std::size_t>(count_);
    const unsigned wanted = right(block, call), first = out_[at],
                   last = out_[at + static_cast<std::size_t>(count_) - 1];
    if (first != wanted || last != wanted)
      return fmt::format("rank {}, {}, call {}, block {}: {} {} instead of {}", rank_, to_string(coll_), call, block,
                         first, last, wanted);
  }
  return {};
}

}  // namespace sumac::tests
