#include "team/own_across.hpp"

#include "team/c_types.hpp"

namespace sumac::team {
namespace {

using Progress = coll::Across::Progress;

Progress started(int answer, const void* request) {
  if (answer != SUMAC_TEAM_OK) return Progress::failed;
  return request == nullptr ? Progress::done : Progress::pending;
}

}  // namespace

OwnAcross::~OwnAcross() {
  if (functions_.close != nullptr) functions_.close(functions_.context);
}

bool OwnAcross::takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept {
  return functions_.takes != nullptr &&
         functions_.takes(functions_.context, static_cast<int>(kind), bytes, as_c(fold)) != 0;
}

std::string OwnAcross::why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return takes(kind, bytes, fold) ? "" : "the MPI does not do it among leaders";
}

Progress OwnAcross::start(const coll::Operation& operation, void*& request) {
  request = nullptr;
  const int answer = functions_.start(functions_.context, as_c(operation), &request);
  return started(answer, request);
}

Progress OwnAcross::start_direct(const coll::Operation& operation, void*& request) {
  request = nullptr;
  const int answer = functions_.start_direct(functions_.context, as_c(operation), &request);
  return started(answer, request);
}

Progress OwnAcross::test(void* request) {
  switch (functions_.test(functions_.context, request)) {
    case SUMAC_TEAM_OK: return Progress::done;
    case SUMAC_TEAM_PENDING: return Progress::pending;
    default: return Progress::failed;
  }
}

std::string_view OwnAcross::error() const noexcept {
  const char* words = functions_.error != nullptr ? functions_.error(functions_.context) : nullptr;
  return words != nullptr ? words : "";
}

}  // namespace sumac::team
