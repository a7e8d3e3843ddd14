#include "bindings/ucc/oob.hpp"

#include <fmt/format.h>
#include <sched.h>

namespace sumac::ucc {
namespace {

constexpr Duration kLookEvery = Millis{100};

}  // namespace

OobExchange::OobExchange(const ucc_oob_coll_t& oob, bool is_direct, Duration within)
    : AllgatherExchange(static_cast<int>(oob.oob_ep), static_cast<int>(oob.n_oob_eps), within),
      oob_(oob),
      is_direct_(is_direct) {}

const char* OobExchange::flaw(const ucc_oob_coll_t& oob) noexcept {
  const bool is_sound =
      oob.allgather != nullptr && oob.req_test != nullptr && oob.req_free != nullptr && oob.oob_ep < oob.n_oob_eps;
  return is_sound ? nullptr : "the OOB lacks a function, or its rank is not below its number of processes";
}

void OobExchange::step() {
  const std::lock_guard guard(lock_);
  if (stage_ == Stage::asked) {
    status_ = oob_.allgather(const_cast<void*>(in_), out_, bytes_, oob_.coll_info, &request_);
    stage_ = status_ < 0 ? Stage::done : Stage::posted;
  }
  if (stage_ == Stage::posted) {
    status_ = oob_.req_test(request_);
    if (status_ > 0) return;
    const ucc_status_t freed = oob_.req_free(request_);
    if (status_ == UCC_OK && freed < 0) status_ = freed;
    stage_ = Stage::done;
  }
  if (stage_ == Stage::done) changed_.notify_all();
}

/// After Errc::timeout the program may still write to `out`.
Result<> OobExchange::run(const void* in, void* out, std::size_t bytes) {
  std::unique_lock guard(lock_);
  in_ = in;
  out_ = out;
  bytes_ = bytes;
  stage_ = Stage::asked;
  while (stage_ != Stage::done) {
    if (left() <= Duration{0}) return fail(Errc::timeout, "the OOB's allgather has not ended within SUMAC_TIMEOUT");
    if (!is_direct_) {
      changed_.wait_for(guard, kLookEvery);
      continue;
    }
    guard.unlock();
    step();
    ::sched_yield();
    guard.lock();
  }
  stage_ = Stage::idle;
  if (status_ < 0) return fail(Errc::lost, "the OOB's allgather failed: {}", ucc_status_string(status_));
  return {};
}

}  // namespace sumac::ucc
