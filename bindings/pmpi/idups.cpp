#include "bindings/pmpi/idups.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "bindings/pmpi/functions.hpp"

namespace sumac::pmpi {
namespace {

std::mutex lock;
std::vector<MPI_Request> noted;
std::atomic<int> count_noted{0};

void forget(MPI_Request request) {
  const std::lock_guard guard(lock);
  std::erase(noted, request);
  count_noted = static_cast<int>(noted.size());
}

}  // namespace

void note_idup(MPI_Request request) {
  const std::lock_guard guard(lock);
  noted.push_back(request);
  count_noted = static_cast<int>(noted.size());
}

bool idups_noted() noexcept { return count_noted.load(std::memory_order_relaxed) > 0; }

bool idups_under_way() {
  const std::lock_guard guard(lock);
  return std::any_of(noted.begin(), noted.end(), [](MPI_Request request) {
    int done = 0;
    return mpi.Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;
  });
}

IdupWatch::IdupWatch(int count, const MPI_Request* requests) : after_(requests) {
  if (idups_noted() && count > 0) before_.assign(requests, requests + count);
}

IdupWatch::~IdupWatch() {
  for (std::size_t i = 0; i < before_.size(); ++i)
    if (before_[i] != after_[i]) forget(before_[i]);
}

}  // namespace sumac::pmpi
