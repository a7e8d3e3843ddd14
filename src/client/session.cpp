#include "client/session.hpp"

#include <poll.h>
#include <sharp/api/sharp_coll.h>

#include <algorithm>

#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

using wire::HostKind;

constexpr std::string_view kNoDaemon = "failed to open sharp session with SHARPD daemon. please check daemon status";

constexpr Duration kRestartWithin = Seconds(3);  ///< systemd waits one second before it restarts a service.
constexpr int kAskAgainMs = 20;
constexpr Duration kWordPatience = Seconds(1);  ///< A sharpd with a full socket is busy, or stopped.

Duration left_until(Time deadline) { return std::max<Duration>(Duration{0}, deadline - monotonic_now()); }

tl::unexpected<Failure> broken(const Error& error) {
  return failure(error.code == Errc::timeout ? SHARP_COLL_EJOB_CREATE : SHARP_COLL_ESESS_INIT,
                 "sharp_create_job failed: {}; look at the log of sharpd and of sharp_am", error.context);
}

tl::unexpected<Failure> refused(const wire::JobRefusedBody& body) {
  const auto text = wire::get_text(body.text);
  if (body.status == 52)
    return failure(SHARP_COLL_EJOB_CREATE,
                   "sharp_create_job failed: No Aggregation Manager (sharp_am) detected(-52): {}", text);
  return failure(SHARP_COLL_EJOB_CREATE, "sharp_get_job_data_len failed: Job error(-{}): {}", body.status, text);
}

}  // namespace

Outcome<Session> Session::attach(const std::string& path, const wire::AttachBody& who, Duration patience) {
  const auto no_daemon = [](const Error& error) {
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}", kNoDaemon, error.context);
  };
  const Time deadline = deadline_after(monotonic_now(), patience);
  auto sharpd = net::HostClient::connect(path, patience);
  if (!sharpd) return no_daemon(sharpd.error());
  Session session(*std::move(sharpd), path, who);
  if (auto said = session.sharpd_.send(wire::host_message(HostKind::attach, who), left_until(deadline)); !said)
    return no_daemon(said.error());
  auto answer = session.sharpd_.receive(left_until(deadline));
  if (!answer) return no_daemon(answer.error());
  if (answer->header.kind == HostKind::job_refused)
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}: {}", kNoDaemon, path,
                   wire::get_text(wire::host_entry<wire::JobRefusedBody>(*answer).text));
  if (answer->header.kind != HostKind::attached)
    return failure(SHARP_COLL_ESESS_INIT, "{}: {} answers attach with {}: is it sharpd?", kNoDaemon, path,
                   wire::to_string(answer->header.kind));
  const auto body = wire::host_entry<wire::AttachedBody>(*answer);
  session.host_ = wire::get_text(body.host);
  session.devices_ = wire::get_text(body.devices);
  return session;
}

Outcome<std::vector<wire::HostMessage>> Session::begin_job(JobId job_id, const wire::JobBeginBody& begin,
                                                           const std::vector<std::string>& hosts, Duration patience) {
  const Time deadline = deadline_after(monotonic_now(), patience);
  std::vector<wire::JobHostEntry> entries;
  for (const auto& host : hosts) {
    entries.emplace_back();
    if (!wire::put_text(entries.back().host, host))
      return failure(SHARP_COLL_EJOB_CREATE, "sharp_create_job failed: host name {} is too long", host);
  }
  if (auto said = sharpd_.send(wire::host_message(HostKind::job_begin, begin, job_id), left_until(deadline)); !said)
    return broken(said.error());
  for (const auto& message : wire::host_lists(HostKind::job_host, entries, job_id))
    if (auto said = sharpd_.send(message, left_until(deadline)); !said) return broken(said.error());

  GrantReader reader(job_id, static_cast<std::uint32_t>(hosts.size()));
  std::vector<wire::HostMessage> answer;
  while (!reader.whole()) {
    auto message = sharpd_.receive(left_until(deadline));
    if (!message) return broken(message.error());
    if (answer.empty() && message->header.kind == HostKind::job_refused)
      return refused(wire::host_entry<wire::JobRefusedBody>(*message));
    if (auto read = reader.read(*message); !read) return broken(within("sharpd's answer", read.error()).value());
    answer.push_back(*message);
  }
  return answer;
}

void Session::enter_job(JobId job_id, WorldRank world_rank, const Secret& key) noexcept {
  wire::MemberBody body{world_rank, 0, {}};
  std::ranges::copy(key, body.job_key.begin());
  (void)sharpd_.send(wire::host_message(HostKind::member, body, job_id), kWordPatience);
}

void Session::leave_job(JobId job_id) noexcept {
  (void)sharpd_.send(wire::host_message(HostKind::leave, job_id), kWordPatience);
}

Result<wire::HostMessage> Session::ask_end(JobId job_id, Time deadline) {
  if (auto said = sharpd_.send(wire::host_message(HostKind::job_end, job_id), left_until(deadline)); !said)
    return tl::unexpected(said.error());
  return sharpd_.receive(left_until(deadline));
}

/// A restarted sharpd learns from the kernel which jobs this process holds (src/hostd/held_file.hpp).
Outcome<> Session::attach_again(Time deadline) {
  for (;;) {
    auto again = attach(path_, who_, left_until(deadline));
    if (again) {
      *this = *std::move(again);
      return {};
    }
    if (monotonic_now() >= deadline) return tl::unexpected(again.error());
    ::poll(nullptr, 0, kAskAgainMs);  // No process exists that could wake us.
  }
}

Outcome<> Session::end_job(JobId job_id, Duration patience) {
  const Time deadline = deadline_after(monotonic_now(), patience);
  auto answer = ask_end(job_id, deadline);
  if (!answer && answer.error().code == Errc::lost) {
    const Time back_by = std::min(deadline, deadline_after(monotonic_now(), kRestartWithin));
    if (attach_again(back_by)) answer = ask_end(job_id, deadline);
  }
  if (!answer) return failure(SHARP_COLL_ESESS_INIT, "end of job {}: {}", job_id, answer.error().context);
  if (answer->header.kind != HostKind::job_ended)
    return failure(SHARP_COLL_ESESS_INIT, "end of job {}: sharpd answers with {}", job_id,
                   wire::describe(answer->header));
  return {};
}

}  // namespace sumac::client
