// An operation from its call to its end.
#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "bindings/c/team.hpp"
#include "client/fork_guard.hpp"
#include "rank/alone.hpp"

namespace {

/// A wait looks so often before it yields its processor.
constexpr int kLooks = 200;
/// A request that is not done asks so often for its limit, and whether a message's rank is alive.
constexpr sumac::Duration kLookEvery = sumac::Millis{1};

}  // namespace

namespace sumac::c {

int status_of(Errc code) noexcept {
  switch (code) {
    case Errc::ok: return SUMAC_OK;
    case Errc::invalid: return SUMAC_ERR_INVALID;
    case Errc::unsupported: return SUMAC_ERR_UNSUPPORTED;
    case Errc::timeout: return SUMAC_ERR_TIMEOUT;
    case Errc::no_memory: return SUMAC_ERR_NO_MEMORY;
    default: return SUMAC_ERR_BROKEN;
  }
}

}  // namespace sumac::c

int sumac_open_team::fail(int status, std::string reason) {
  why = std::move(reason);
  return status;
}

int sumac_open_team::fail(const sumac::Error& error) { return fail(sumac::c::status_of(error.code), error.context); }

int sumac_open_team::broken() {
  std::string reason = sumac_team_error(team);
  const int status = reason.find("timed out") == std::string::npos ? SUMAC_ERR_BROKEN : SUMAC_ERR_TIMEOUT;
  return fail(status, std::move(reason));
}

bool sumac_open_team::is_usable() {
  if (sumac::client::same_process(mark)) return true;
  why = "a forked process can't use its parent's teams: open one after the fork";
  return false;
}

void sumac_open_team::move() {
  if (team == nullptr) return;
  if (sumac_team_active(team) > 0) (void)sumac_team_progress(team);
  if (peers->is_busy()) (void)peers->progress();
}

void sumac_open_team::look(void* self) {
  auto& own = *static_cast<sumac_open_team*>(self);
  if (own.peers->is_busy()) (void)own.peers->progress();
  if (own.until_ != sumac::Time::max() && sumac::monotonic_now() > own.until_) own.give_up();
}

void sumac_open_team::give_up() {
  sumac_team_break(team, fmt::format("rank {} of {} timed out: it has waited for the others for {} ms", rank, name,
                                     std::chrono::duration_cast<sumac::Millis>(limit).count())
                             .c_str());
}

sumac::Time sumac_open_team::deadline() const {
  return limit == sumac::Duration::max() ? sumac::Time::max() : sumac::deadline_after(sumac::monotonic_now(), limit);
}

sumac_team_request* sumac_open_team::take() {
  if (spare_.empty()) {
    requests_.emplace_back();
    spare_.reserve(requests_.size());
    return &requests_.back();
  }
  sumac_team_request* const request = spare_.back();
  spare_.pop_back();
  return request;
}

void sumac_open_team::give_back(sumac_team_request& request) {
  if (request.op != nullptr) sumac_op_free(request.op);
  request.op = nullptr;
  request.message.reset();
  spare_.push_back(&request);
}

int sumac_open_team::run(sumac_team_request& request, sumac_team_request_t** request_p) {
  int status = SUMAC_TEAM_OK;
  if (team == nullptr) {
    sumac::rank::run_alone(request.call);
  } else if (request_p != nullptr) {
    request.until = deadline();
    status = sumac_team_post(team, &request.call, nullptr, nullptr, &request.op);
  } else {
    until_ = deadline();
    status = sumac_team_run(team, &request.call);
    until_ = sumac::Time::max();
  }
  if (status == SUMAC_TEAM_OK && request_p != nullptr) {
    *request_p = &request;
    return SUMAC_OK;
  }
  give_back(request);
  switch (status) {
    case SUMAC_TEAM_OK: return SUMAC_OK;
    case SUMAC_TEAM_BROKEN: return broken();
    case SUMAC_TEAM_NO_MEMORY: return fail(SUMAC_ERR_NO_MEMORY, "no memory");
    case SUMAC_TEAM_PASS:
      return fail(SUMAC_ERR_UNSUPPORTED,
                  fmt::format("{} is switched off, or no way takes it", sumac_coll_name(request.call.coll)));
    default:
      return fail(SUMAC_ERR_INVALID,
                  fmt::format("{}: a root, type, operation or size that is none", sumac_coll_name(request.call.coll)));
  }
}

int sumac_open_team::send_or_receive(sumac_team_request& request, sumac_team_request_t** request_p) {
  request.until = deadline();
  (void)peers->progress();
  if (request_p == nullptr) return wait(request);
  *request_p = &request;
  return SUMAC_OK;
}

/// The message is done.
int sumac_open_team::after_message(sumac_team_request& request) {
  if (request.from != nullptr) *request.from = request.message->peer;
  const sumac::Error* const error = request.message->error();
  if (error == nullptr) return SUMAC_OK;
  const int status = fail(*error);
  if (status == SUMAC_ERR_BROKEN) sumac_team_break(team, error->context.c_str());
  return status;
}

int sumac_open_team::test(sumac_team_request& request) {
  move();
  int status = SUMAC_OK;
  if (request.message) {
    if (!request.message->is_done()) return look_at(request);
    status = after_message(request);
  } else if (request.op != nullptr) {
    const int found = sumac_op_test(request.op);
    if (found == SUMAC_TEAM_PENDING) return look_at(request);
    if (found != SUMAC_TEAM_OK) status = broken();
  }
  give_back(request);
  return status;
}

/// It is not done. Its limit may be over, and a message's rank may have died: a later test finds it done.
int sumac_open_team::look_at(sumac_team_request& request) {
  if (request.until == sumac::Time::max() && !request.message) return SUMAC_IN_PROGRESS;
  const sumac::Time now = sumac::monotonic_now();
  if (now - request.looked < kLookEvery) return SUMAC_IN_PROGRESS;
  request.looked = now;
  const bool is_late = now > request.until;
  if (is_late) give_up();
  if (!request.message) return SUMAC_IN_PROGRESS;
  const int other = request.message->asked;
  if (is_late)
    peers->withdraw(request.message, {sumac::Errc::timeout, sumac_team_error(team)});
  else if (other != SUMAC_ANY_RANK && peers->is_dead(other))
    peers->withdraw(request.message, {sumac::Errc::lost, fmt::format("{} died", peers->members().name(other))});
  return SUMAC_IN_PROGRESS;
}

int sumac_open_team::wait(sumac_team_request& request) {
  int status = SUMAC_IN_PROGRESS;
  for (int looks = 0; (status = test(request)) == SUMAC_IN_PROGRESS; ++looks)
    if (looks >= kLooks) ::sched_yield();
  return status;
}

extern "C" {

int sumac_team_test(sumac_team_request_t* request) {
  if (request == nullptr) return SUMAC_ERR_INVALID;
  return sumac::c::guarded([&] {
    sumac_open_team& team = *request->team;
    return team.is_usable() ? team.test(*request) : int{SUMAC_ERR_INVALID};
  });
}

int sumac_team_wait(sumac_team_request_t* request) {
  if (request == nullptr) return SUMAC_ERR_INVALID;
  return sumac::c::guarded([&] {
    sumac_open_team& team = *request->team;
    return team.is_usable() ? team.wait(*request) : int{SUMAC_ERR_INVALID};
  });
}

}  // extern "C"
