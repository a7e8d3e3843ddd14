#include "hostd/server.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sumac::hostd {
namespace {
constexpr Duration kTellFullEvery = Seconds(60);
}  // namespace

Result<UniqueFd> Server::make_epoll() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  return epoll;
}

Server::Server(ServerConfig config, net::HostServer sockets, control::WakeEvent& wake, UniqueFd epoll, Logger& log)
    : config_(std::move(config)),
      sockets_(std::move(sockets)),
      wake_(wake),
      log_(log),
      epoll_(std::move(epoll)),
      manager_(config_.manager, control::start_host_stream, wake, config_.tls),
      uplink_({.host = config_.host,
               .manager = config_.manager,
               .life = config_.life,
               .timeout = config_.manager_timeout}) {}

Result<> Server::run_once(int extra, Time deadline) {
  deadline = std::min(deadline, uplink_.next_deadline());
  int timeout_ms = -1;
  if (deadline != kNever) {
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }
  // The pidfds have an epoll set of their own; the few others are listed here.
  pollfd fds[] = {
      {sockets_.wake_fd(), POLLIN, 0}, {epoll_.get(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}, {extra, POLLIN, 0}};
  if (::poll(fds, 4, timeout_ms) < 0 && errno != EINTR) return fail_errno("poll");

  // What a dying process still said comes first: it may have ended its job in good order.
  sockets_.progress(*this, 256);
  tell_full();
  epoll_event dead[16];
  const int count = ::epoll_wait(epoll_.get(), dead, 16, 0);
  for (int i = 0; i < count; ++i) client_died(net::HostClientId{dead[i].data.u64});
  if (fds[2].revents != 0) wake_.clear();
  take_answers();
  run(uplink_.tick(monotonic_now()));
  return {};
}

void Server::tell_full() {
  const auto turned_away = sockets_.turned_away() + unwatched_;
  if (turned_away == turned_away_ || monotonic_now() < tell_full_at_) return;
  SUMAC_WARN(log_,
             "no room for another client: {} are attached, {} descriptors are legal: raise --clients-max or the limit "
             "(ulimit -n, "
             "LimitNOFILE=)",
             clients_.size(), ::sysconf(_SC_OPEN_MAX));
  turned_away_ = turned_away;
  tell_full_at_ = monotonic_now() + kTellFullEvery;
}

void Server::on_client(net::HostClientId id, const net::PeerIdentity& who) {
  Client client{Session(Peer{who.pid, who.uid, who.gid}, config_.host, [this] { return ++last_ticket_; }), {}};
  auto pidfd = net::peer_pidfd(sockets_.socket_of(id));
  if (!pidfd && pidfd.error().code == Errc::exhausted) {
    ++unwatched_;
    sockets_.close(id);
    return;
  }
  if (!pidfd) {
    SUMAC_ERROR(log_, "client {}: refused: its process can't be watched: {}", client.session.describe(),
                pidfd.error().context);
    sockets_.close(id);
    return;
  }
  client.pidfd = *std::move(pidfd);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id.value;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.pidfd.get(), &event) < 0) {
    const auto error = fail_errno("epoll_ctl");
    SUMAC_ERROR(log_, "client {}: refused: {}", client.session.describe(), error.value().context);
    sockets_.close(id);
    return;
  }
  SUMAC_DEBUG(log_, "client {} connected", client.session.describe());
  clients_.emplace(id, std::move(client));
}

void Server::on_message(net::HostClientId id, const wire::HostMessage& message) {
  const auto found = clients_.find(id);
  if (found != clients_.end()) run(id, found->second.session.received(message));
}

void Server::on_closed(net::HostClientId id, const Error& why) {
  if (why.code == Errc::invalid || why.code == Errc::unsupported) {
    const auto found = clients_.find(id);
    SUMAC_WARN(log_, "client {}: {}", found == clients_.end() ? "?" : found->second.session.describe(), why.context);
  }
  release(id, "closed its connection");
}

void Server::client_died(net::HostClientId id) {
  if (!clients_.contains(id)) return;
  release(id, "died");
  sockets_.close(id);  // a child that it forked may still hold the socket open
}

void Server::release(net::HostClientId id, std::string_view why) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  for (const auto ticket : found->second.session.held()) {
    SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "client {} {} and holds a job: released",
                 found->second.session.describe(), why);
    run(uplink_.drop(ticket, fmt::format("{} {}", found->second.session.describe(), why), monotonic_now()));
  }
  std::erase_if(begun_, [&](const auto& entry) { return entry.second == id; });
  clients_.erase(found);
}

void Server::run(net::HostClientId id, Actions actions) {
  for (auto& action : actions) {
    if (const auto* to = std::get_if<ToClient>(&action)) {
      if (sockets_.send(id, to->message) != Errc::lost) continue;
      release(id, "closed its connection");
      sockets_.close(id);
      return;
    } else if (const auto* begin = std::get_if<BeginJob>(&action)) {
      begun_[begin->ticket] = id;
      SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} of {}: asked of the manager", begin->begin.job_id(),
                   begin->begin.holder());
      run(uplink_.begin(begin->ticket, begin->begin, monotonic_now()));
    } else if (const auto* end = std::get_if<EndJob>(&action)) {
      run(uplink_.end(end->ticket, monotonic_now()));
    } else if (const auto* offence = std::get_if<Offence>(&action)) {
      const auto found = clients_.find(id);
      SUMAC_WARN(log_, "client {} is sent away: {}", found == clients_.end() ? "?" : found->second.session.describe(),
                 offence->why);
      release(id, "was sent away");
      sockets_.close(id);
      return;
    }
  }
}

void Server::take_answers() {
  for (auto& answer : manager_.take()) {
    if (answer.ticket != stream_) continue;  // of a former stream
    const Time now = monotonic_now();
    run(answer.over ? uplink_.stream_over(answer.why, now) : uplink_.heard(answer.down, now));
  }
}

void Server::run(UplinkActions actions) {
  for (auto& action : actions)
    std::visit(overloaded{
                   [&](OpenStream& open) { manager_.open(++stream_, std::move(open.first)); },
                   [&](SendUp& send) { manager_.send(stream_, std::move(send.message)); },
                   [&](Note& note) {
                     SUMAC_LOG_IN(log_, note.warn ? LogLevel::warn : LogLevel::info, "GENERAL", "{}", note.text);
                   },
                   [&](Answer& answer) {
                     const auto begun = begun_.find(answer.ticket);
                     if (begun == begun_.end()) return;  // released since
                     const auto id = begun->second;
                     const auto client = clients_.find(id);
                     if (client == clients_.end()) return;
                     if (answer.lost)
                       SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "a job of {}: {}", client->second.session.describe(),
                                    answer.why.context);
                     const bool over = answer.lost || !answer.down.has_granted();
                     if (over) begun_.erase(begun);
                     run(id, answer.lost ? client->second.session.manager_lost(answer.ticket, answer.why)
                                         : client->second.session.answered(answer.ticket, answer.down));
                   },
               },
               action);
}

}  // namespace sumac::hostd
