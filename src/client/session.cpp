#include "client/session.hpp"

#include <poll.h>
#include <sharp/api/sharp_coll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

using wire::HostKind;

constexpr std::string_view kNoDaemon = "failed to open sharp session with SHARPD daemon. please check daemon status";
constexpr std::string_view kRemedy = "start sharpd on this host, or start the program with `sumac run`";

timeval to_timeval(Duration patience) {
  const auto us = std::chrono::duration_cast<Micros>(patience).count();
  return {static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
}

}  // namespace

Result<> Session::send(const wire::HostMessage& message) {
  const auto bytes = wire::encoded(message);
  for (;;) {
    const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes.size())) return {};
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return fail(Errc::timeout, "sharpd takes no message");
    return fail_errno("send to sharpd");
  }
}

Result<wire::HostMessage> Session::receive(Time deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    if (left <= 0) return fail(Errc::timeout, "sharpd does not answer");
    pollfd waiting{fd_.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return fail_errno("poll on sharpd");
    std::array<std::byte, wire::kHostMessageBytes + 1>
        bytes;  // one more, so that a longer message is seen to be longer
    const auto got = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail_errno("receive from sharpd");
    if (got == 0) return fail(Errc::lost, "sharpd hung up");
    return wire::decode_host_message({bytes.data(), static_cast<std::size_t>(got)});
  }
}

Outcome<Session> Session::attach(const std::string& path, const wire::AttachBody& who, Duration patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return failure(SHARP_COLL_ESESS_INIT, "{}: SHARP_COLL_SHARPD_SOCKET_NAME={} is not a socket's path (1 to {} bytes)",
                   kNoDaemon, path, sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path, path.data(), path.size());

  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return failure(SHARP_COLL_ESESS_INIT, "{}: socket: {}", kNoDaemon, std::strerror(errno));
  const timeval limit = to_timeval(patience);  // bounds connect() while the backlog is full, and send()
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int rc;
  do rc = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  while (rc < 0 && errno == EINTR);
  if (rc < 0) return failure(SHARP_COLL_ESESS_INIT, "{}: {}: {}; {}", kNoDaemon, path, std::strerror(errno), kRemedy);

  Session session(std::move(fd));
  const Time deadline = deadline_after(monotonic_now(), patience);
  auto said = session.send(wire::host_message(HostKind::attach, who));
  if (!said) return failure(SHARP_COLL_ESESS_INIT, "{}: {}: {}; {}", kNoDaemon, path, said.error().context, kRemedy);
  auto answer = session.receive(deadline);
  if (!answer)
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}: {}; {}", kNoDaemon, path, answer.error().context, kRemedy);
  if (answer->header.kind == HostKind::job_refused)
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}: {}", kNoDaemon, path,
                   wire::get_text(wire::host_entry<wire::JobRefusedBody>(*answer).text));
  if (answer->header.kind != HostKind::attached)
    return failure(SHARP_COLL_ESESS_INIT, "{}: {}: it answers attach with {}; {}", kNoDaemon, path,
                   wire::to_string(answer->header.kind), kRemedy);
  session.host_ = wire::get_text(wire::host_entry<wire::AttachedBody>(*answer).host);
  return session;
}

template <class Entry>
Result<std::vector<Entry>> Session::receive_list(HostKind kind, std::uint32_t want, std::uint64_t job_id,
                                                 Time deadline) {
  std::vector<Entry> list;
  list.reserve(want);
  while (list.size() < want) {
    auto message = receive(deadline);
    if (!message) return tl::unexpected(message.error());
    const auto& header = message->header;
    if (header.kind != kind || header.job_id != job_id || header.total != want || header.index != list.size())
      return fail(Errc::invalid, "sharpd sent {} where {} from {} of {} was due", wire::describe(header),
                  wire::to_string(kind), list.size(), want);
    for (std::uint32_t i = 0; i < header.entries; ++i) list.push_back(wire::host_entry<Entry>(*message, i));
  }
  return list;
}

Outcome<Grant> Session::begin_job(std::uint64_t job_id, const wire::JobBeginBody& wish,
                                  const std::vector<std::string>& hosts, Duration patience) {
  const Time deadline = deadline_after(monotonic_now(), patience);
  const auto broken = [](const Error& error) {
    return failure(error.code == Errc::timeout ? SHARP_COLL_EJOB_CREATE : SHARP_COLL_ESESS_INIT,
                   "sharp_create_job failed: {}; look at the log of sharpd and of sharp_am", error.context);
  };
  std::vector<wire::JobHostEntry> entries;
  for (const auto& host : hosts) {
    entries.emplace_back();
    if (!wire::put_text(entries.back().host, host))
      return failure(SHARP_COLL_EJOB_CREATE, "sharp_create_job failed: host name {} is too long", host);
  }
  if (auto said = send(wire::host_message(HostKind::job_begin, wish, job_id)); !said) return broken(said.error());
  const std::span<const wire::JobHostEntry> all(entries);
  for (std::size_t at = 0; at < all.size();) {
    const auto part =
        all.subspan(at, std::min<std::size_t>(all.size() - at, wire::host_entries_max(HostKind::job_host)));
    const auto index = static_cast<std::uint32_t>(at), total = static_cast<std::uint32_t>(all.size());
    if (auto said = send(wire::host_list(HostKind::job_host, part, index, total, job_id)); !said)
      return broken(said.error());
    at += part.size();
  }

  auto answer = receive(deadline);
  if (!answer) return broken(answer.error());
  if (answer->header.kind == HostKind::job_refused) {
    const auto refused = wire::host_entry<wire::JobRefusedBody>(*answer);
    const auto text = wire::get_text(refused.text);
    if (refused.status == 52)
      return failure(SHARP_COLL_EJOB_CREATE,
                     "sharp_create_job failed: No Aggregation Manager (sharp_am) detected(-52): {}", text);
    return failure(SHARP_COLL_EJOB_CREATE, "sharp_get_job_data_len failed: Job error(-{}): {}", refused.status, text);
  }
  if (answer->header.kind != HostKind::job_granted || answer->header.job_id != job_id)
    return broken({Errc::invalid, fmt::format("sharpd answers job_begin with {}", wire::describe(answer->header))});

  Grant grant;
  grant.job = wire::host_entry<wire::JobGrantedBody>(*answer);
  auto nodes = receive_list<wire::JobNodeEntry>(HostKind::job_node, grant.job.node_count, job_id, deadline);
  if (!nodes) return broken(nodes.error());
  auto leaves =
      receive_list<wire::JobLeafEntry>(HostKind::job_leaf, static_cast<std::uint32_t>(hosts.size()), job_id, deadline);
  if (!leaves) return broken(leaves.error());
  grant.nodes = *std::move(nodes);
  for (const auto& leaf : *leaves) grant.host_leaf.push_back(leaf.node_id);
  return grant;
}

Outcome<> Session::end_job(std::uint64_t job_id, Duration patience) {
  const Time deadline = deadline_after(monotonic_now(), patience);
  auto said = send(wire::host_message(HostKind::job_end, job_id));
  if (!said) return failure(SHARP_COLL_ESESS_INIT, "end of job {}: {}", job_id, said.error().context);
  auto answer = receive(deadline);
  if (!answer) return failure(SHARP_COLL_ESESS_INIT, "end of job {}: {}", job_id, answer.error().context);
  if (answer->header.kind != HostKind::job_ended)
    return failure(SHARP_COLL_ESESS_INIT, "end of job {}: sharpd answers with {}", job_id,
                   wire::describe(answer->header));
  return {};
}

}  // namespace sumac::client
