#include "client/session.hpp"

#include <poll.h>
#include <sharp/api/sharp_coll.h>

#include <algorithm>

#include "recorder/recorder.hpp"
#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

using wire::HostKind;

constexpr std::string_view kNoDaemon = "failed to open sharp session with SHARPD daemon. please check daemon status";

constexpr Duration kRestartWithin = Seconds(3);  ///< systemd waits one second before it restarts a service.
constexpr int kAskAgainMs = 20;
constexpr Duration kWordPatience = Seconds(1);  ///< A sharpd with a full socket is busy, or stopped.

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

/// Says whether sharpd may send it at any time, to a process that asked for that.
bool comes_unasked(HostKind kind) {
  return kind == HostKind::rank_died || kind == HostKind::job_granted || kind == HostKind::job_tree ||
         kind == HostKind::job_node || kind == HostKind::job_leaf;
}

}  // namespace

Result<> Session::send(const wire::HostMessage& message, const Patience& patience) {
  return patiently(patience, [&](Duration at_most) { return sharpd_.send(message, at_most); });
}

Result<wire::HostMessage> Session::receive(const Patience& patience) {
  return patiently(patience, [&](Duration at_most) { return sharpd_.receive(at_most); });
}

Outcome<Session> Session::attach(const std::string& path, const wire::AttachBody& who, Duration patience) {
  return attach(path, who, Patience(patience));
}

Outcome<Session> Session::attach(const std::string& path, const wire::AttachBody& who, const Patience& patience) {
  const auto no_daemon = [](const Error& error) {
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}", kNoDaemon, error.context);
  };
  auto sharpd = patiently(patience, [&](Duration at_most) { return net::HostClient::connect(path, at_most); });
  if (!sharpd) return no_daemon(sharpd.error());
  Session session(*std::move(sharpd), path, who);
  if (auto said = session.send(wire::host_message(HostKind::attach, who), patience); !said)
    return no_daemon(said.error());
  auto answer = session.receive(patience);
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
                                                           const std::vector<std::string>& hosts, Duration longest) {
  const Patience patience(longest);
  std::vector<wire::JobHostEntry> entries;
  for (const auto& host : hosts) {
    entries.emplace_back();
    if (!wire::put_text(entries.back().host, host))
      return failure(SHARP_COLL_EJOB_CREATE, "sharp_create_job failed: host name {} is too long", host);
  }
  if (auto said = send(wire::host_message(HostKind::job_begin, begin, job_id), patience); !said)
    return broken(said.error());
  for (const auto& message : wire::host_lists(HostKind::job_host, entries, job_id))
    if (auto said = send(message, patience); !said) return broken(said.error());

  GrantReader reader(job_id, static_cast<std::uint32_t>(hosts.size()));
  std::vector<wire::HostMessage> answer;
  while (!reader.whole()) {
    auto message = receive(patience);
    if (!message) return broken(message.error());
    if (answer.empty() && message->header.kind == HostKind::job_refused)
      return refused(wire::host_entry<wire::JobRefusedBody>(*message));
    if (auto read = reader.read(*message); !read) return broken(within("sharpd's answer", read.error()).value());
    answer.push_back(*message);
  }
  return answer;
}

void Session::enter_job(JobId job_id, WorldRank world_rank, const Secret& key, bool hears_deaths) noexcept {
  wire::MemberBody body{world_rank, hears_deaths ? wire::kHearsDeaths : 0, {}};
  std::ranges::copy(key, body.job_key.begin());
  // sharpd shows the page to `sumac explain` on other hosts.
  (void)sharpd_.send(wire::host_message(HostKind::member, body, job_id), kWordPatience, recorder::share());
}

Result<wire::HostMessage> Session::next_word(JobId job_id) {
  auto message = sharpd_.receive(Duration{0});
  if (!message) return message;
  if (!comes_unasked(message->header.kind))
    return fail(Errc::invalid, "sharpd sends {} unasked: install the same version of it and of this library",
                wire::to_string(message->header.kind));
  if (message->header.job_id != job_id)
    return fail(Errc::invalid, "sharpd speaks of job {}: install the same version of it and of this library",
                message->header.job_id);
  return message;
}

/// A word that cannot leave at once is lost: the caller asks again.
void Session::want_trees(JobId job_id, std::uint32_t times_again) noexcept {
  (void)sharpd_.send(wire::host_message(HostKind::trees_wanted, wire::TreesWantedBody{times_again, 0}, job_id),
                     Duration{0});
}

Outcome<> Session::enter_again(JobId job_id, WorldRank world_rank, const Secret& key, Duration longest) {
  auto again = attach(path_, who_, longest);
  if (!again) return tl::unexpected(again.error());
  *this = *std::move(again);
  enter_job(job_id, world_rank, key, true);
  return {};
}

void Session::leave_job(JobId job_id) noexcept {
  (void)sharpd_.send(wire::host_message(HostKind::leave, job_id), kWordPatience);
}

Result<wire::HostMessage> Session::ask_end(JobId job_id, const Patience& patience) {
  if (auto said = send(wire::host_message(HostKind::job_end, job_id), patience); !said)
    return tl::unexpected(said.error());
  for (;;) {
    auto answer = receive(patience);
    if (!answer || !comes_unasked(answer->header.kind)) return answer;
  }
}

/// A restarted sharpd learns from the kernel which jobs this process holds (src/hostd/held_file.hpp).
Outcome<> Session::attach_again(const Patience& patience) {
  for (;;) {
    auto again = attach(path_, who_, patience);
    if (again) {
      *this = *std::move(again);
      return {};
    }
    if (patience.is_over()) return tl::unexpected(again.error());
    ::poll(nullptr, 0, kAskAgainMs);  // No process exists that could wake us.
  }
}

Outcome<> Session::end_job(JobId job_id, Duration longest) {
  const Patience patience(longest);
  auto answer = ask_end(job_id, patience);
  if (!answer && answer.error().code == Errc::lost)
    if (attach_again(Patience(std::min(longest, kRestartWithin)))) answer = ask_end(job_id, patience);
  if (!answer) return failure(SHARP_COLL_ESESS_INIT, "end of job {}: {}", job_id, answer.error().context);
  if (answer->header.kind != HostKind::job_ended)
    return failure(SHARP_COLL_ESESS_INIT, "end of job {}: sharpd answers with {}", job_id,
                   wire::describe(answer->header));
  return {};
}

}  // namespace sumac::client
