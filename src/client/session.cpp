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

template <class Entry>
Result<std::vector<Entry>> Session::receive_list(HostKind kind, std::uint32_t want, std::uint64_t job_id,
                                                 Time deadline) {
  std::vector<Entry> list;
  list.reserve(want);
  while (list.size() < want) {
    auto message = sharpd_.receive(left_until(deadline));
    if (!message) return tl::unexpected(message.error());
    const auto& header = message->header;
    if (header.kind != kind || header.job_id != job_id || header.total != want || header.index != list.size())
      return fail(Errc::invalid, "sharpd sent {} where {} from {} of {} was due", wire::describe(header),
                  wire::to_string(kind), list.size(), want);
    for (std::uint32_t i = 0; i < header.entries; ++i) list.push_back(wire::host_entry<Entry>(*message, i));
  }
  return list;
}

Result<GrantedTree> Session::receive_tree(std::uint32_t index, std::uint32_t hosts, std::uint64_t job_id,
                                          Time deadline) {
  auto message = sharpd_.receive(left_until(deadline));
  if (!message) return tl::unexpected(message.error());
  GrantedTree granted;
  if (message->header.kind == HostKind::job_tree) granted.tree = wire::host_entry<wire::JobTreeBody>(*message);
  if (message->header.kind != HostKind::job_tree || message->header.job_id != job_id ||
      granted.tree.tree_index != index)
    return fail(Errc::invalid, "sharpd sent {} where tree {} was due", wire::describe(message->header), index);
  auto nodes = receive_list<wire::JobNodeEntry>(HostKind::job_node, granted.tree.node_count, job_id, deadline);
  if (!nodes) return tl::unexpected(nodes.error());
  auto leaves = receive_list<wire::JobLeafEntry>(HostKind::job_leaf, hosts, job_id, deadline);
  if (!leaves) return tl::unexpected(leaves.error());
  granted.nodes = *std::move(nodes);
  for (const auto& leaf : *leaves) granted.host_leaf.push_back(leaf.node_id);
  return granted;
}

Outcome<Grant> Session::begin_job(std::uint64_t job_id, const wire::JobBeginBody& wish,
                                  const std::vector<std::string>& hosts, Duration patience) {
  const Time deadline = deadline_after(monotonic_now(), patience);
  std::vector<wire::JobHostEntry> entries;
  for (const auto& host : hosts) {
    entries.emplace_back();
    if (!wire::put_text(entries.back().host, host))
      return failure(SHARP_COLL_EJOB_CREATE, "sharp_create_job failed: host name {} is too long", host);
  }
  if (auto said = sharpd_.send(wire::host_message(HostKind::job_begin, wish, job_id), left_until(deadline)); !said)
    return broken(said.error());
  const std::span<const wire::JobHostEntry> all(entries);
  for (std::size_t at = 0; at < all.size();) {
    const auto part =
        all.subspan(at, std::min<std::size_t>(all.size() - at, wire::host_entries_max(HostKind::job_host)));
    const auto index = static_cast<std::uint32_t>(at), total = static_cast<std::uint32_t>(all.size());
    if (auto said = sharpd_.send(wire::host_list(HostKind::job_host, part, index, total, job_id), left_until(deadline));
        !said)
      return broken(said.error());
    at += part.size();
  }

  auto answer = sharpd_.receive(left_until(deadline));
  if (!answer) return broken(answer.error());
  if (answer->header.kind == HostKind::job_refused) return refused(wire::host_entry<wire::JobRefusedBody>(*answer));
  if (answer->header.kind != HostKind::job_granted || answer->header.job_id != job_id)
    return broken({Errc::invalid, fmt::format("sharpd answers job_begin with {}", wire::describe(answer->header))});

  Grant grant;
  grant.job = wire::host_entry<wire::JobGrantedBody>(*answer);
  for (std::uint32_t i = 0; i < grant.job.tree_count; ++i) {
    auto tree = receive_tree(i, static_cast<std::uint32_t>(hosts.size()), job_id, deadline);
    if (!tree) return broken(tree.error());
    grant.trees.push_back(*std::move(tree));
  }
  return grant;
}

void Session::enter_job(std::uint64_t job_id, std::uint32_t world_rank, const Secret& key) noexcept {
  wire::MemberBody body{world_rank, 0, {}};
  std::ranges::copy(key, body.job_key.begin());
  (void)sharpd_.send(wire::host_message(HostKind::member, body, job_id), kWordPatience);
}

void Session::leave_job(std::uint64_t job_id) noexcept {
  (void)sharpd_.send(wire::host_message(HostKind::leave, job_id), kWordPatience);
}

Result<wire::HostMessage> Session::ask_end(std::uint64_t job_id, Time deadline) {
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

Outcome<> Session::end_job(std::uint64_t job_id, Duration patience) {
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
