#include "hostd/server.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "control/endpoint.hpp"
#include "control/quota.hpp"
#include "hostd/batch_job.hpp"
#include "net/address.hpp"
#include "net/own_address.hpp"

namespace sumac::hostd {
namespace {
constexpr Duration kTellFullEvery = Seconds(60);
/// Marks an entry of the epoll set as an orphan's ticket; without it the number is a client's.
constexpr std::uint64_t kOrphanBit = std::uint64_t{1} << 63;
/// Skips the tickets that the former process may have given out without writing them down.
constexpr Ticket kTicketGap = 1 << 20;
/// Processes that closed their sockets but are still running, and may yet die as ranks: of all, and of one person.
constexpr std::size_t kDepartedMax = 1024, kDepartedOfPersonMax = 256;
/// Users whose last begin was refused; beyond that number lines are not limited.
constexpr std::size_t kRefusedMax = 4096;
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
      uplink_(
          {.host = config_.host, .manager = config_.manager, .life = config_.life, .timeout = config_.manager_timeout}),
      inspections_(config_.host, wake, config_.tls,
                   [this](const control::InspectCall& call) { return inspected(call); }) {}

Result<> Server::run_once(int extra, Time deadline) {
  deadline = std::min({deadline, uplink_.next_deadline(), silent_.empty() ? kNever : silent_.front().first,
                       naming_.empty() ? kNever : naming_.front().first, inspections_.next_due()});
  int timeout_ms = -1;
  if (deadline != kNever) {
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }
  // The pidfds have an epoll set of their own; the few other descriptors are listed here.
  pollfd fds[] = {
      {sockets_.wake_fd(), POLLIN, 0}, {epoll_.get(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}, {extra, POLLIN, 0}};
  if (::poll(fds, 4, timeout_ms) < 0 && errno != EINTR) return fail_errno("poll");

  sockets_.progress(*this, 256);
  close_silent(monotonic_now());
  close_unfinished(monotonic_now());
  tell_full();
  epoll_event dead[16];
  const int count = ::epoll_wait(epoll_.get(), dead, 16, 0);
  for (int i = 0; i < count; ++i) {
    const auto which = dead[i].data.u64;
    if ((which & kOrphanBit) != 0)
      orphan_died(which & ~kOrphanBit);
    else
      client_died(net::HostClientId{which});
  }
  if (fds[2].revents != 0) wake_.clear();
  take_answers();
  inspections_.progress(monotonic_now());
  run(uplink_.tick(monotonic_now()));
  return {};
}

ServerNumbers Server::numbers() const {
  auto all = done_;
  all.turned_away = sockets_.turned_away() + unwatched_;
  all.crowded_out = sockets_.crowd().turned_away;
  all.clients = sockets_.clients();
  all.jobs = uplink_.jobs();
  all.orphans = orphans_.size();
  all.departed = departed_.size();
  all.registered = uplink_.registered();
  return all;
}

/// Closes clients that did not attach in time: a library attaches at once, and without a time limit a program could
/// occupy connections that it never uses.
void Server::close_silent(Time now) {
  for (; !silent_.empty() && silent_.front().first <= now; silent_.pop_front()) {
    const auto id = silent_.front().second;
    const auto found = clients_.find(id);
    if (found == clients_.end() || found->second.session.attached()) continue;
    offend(id,
           fmt::format("no attach within {} ms", std::chrono::duration_cast<Millis>(config_.attach_within).count()));
  }
}

/// A library names all hosts of a job at once. A program that does not could make sharpd keep names for ever, so the
/// oldest of such clients is closed in time, or when all of them together have too many names.
void Server::close_unfinished(Time now) {
  for (; !naming_.empty() && (naming_.front().first <= now || names_ > kNamesMax); naming_.pop_front()) {
    const auto [until, id] = naming_.front();
    const auto found = clients_.find(id);
    if (found != clients_.end() && found->second.session.is_naming() && found->second.naming_until == until)
      offend(id, "it began a job and did not name the last of its hosts in time");
  }
}

/// The client's connection is closed, and what it holds is released.
void Server::offend(net::HostClientId id, const std::string& why) {
  if (const auto found = clients_.find(id); found != clients_.end())
    warn_of(found->second.session, " is sent away", why);
  release(id, "was sent away");
  sockets_.close(id);
}

void Server::count_names(unsigned person, std::size_t before, std::size_t now) {
  if (before == now) return;
  auto& of_person = names_of_[person];
  of_person += now - before;
  names_ += now - before;
  if (of_person == 0) names_of_.erase(person);
  names_most_ = std::max(names_most_, names_);
  if (names_ == 0 && std::exchange(names_most_, 0) > wire::kListMax)
    ::malloc_trim(0);  // Small blocks between others would stay with the process for ever.
}

void Server::tell_full() {
  if (const auto& crowd = sockets_.crowd(); crowd.turned_away != std::exchange(crowd_, crowd.turned_away))
    if (const auto more = said_.next(fmt::format("crowd {}", crowd.uid), monotonic_now()))
      SUMAC_WARN(log_, "user {} has as many clients as one user may have: raise --user-clients-max{}", crowd.uid,
                 *more);
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
  Peer peer{who.pid, who.uid, who.gid, who.person, batch_job_of_process(who.pid)};
  Client client{Session(
                    std::move(peer), config_.host, [this] { return ++last_ticket_; }, config_.devices),
                {},
                {}};
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
  client.mark = mark_of(who.pid).value_or(ProcessMark{});
  clients_.emplace(id, std::move(client));
  silent_.emplace_back(monotonic_now() + config_.attach_within, id);
  if (!orphans_.empty()) adopt_for(id);
}

std::size_t Server::take_over(const Held& held) {
  last_ticket_ = held.last_ticket + kTicketGap;
  for (const auto& job : held.jobs) {
    // The descriptor is opened first: if the mark matches afterwards, the descriptor belongs to the right process.
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, job.holder.pid, 0)));
    if (!pidfd || mark_of(job.holder.pid) != job.holder)
      continue;  // The holder died meanwhile. Its job is not named to the manager, so it is released.
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kOrphanBit | job.ticket;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event) < 0) continue;
    uplink_.adopt(job.ticket, job.job_id);
    held_[job.ticket] = job;
    orphans_.emplace(job.ticket, Orphan{job, std::move(pidfd)});
  }
  save();
  return orphans_.size();
}

/// The process has connected again: its jobs now belong to its new connection.
void Server::adopt_for(net::HostClientId id) {
  auto& client = clients_.at(id);
  for (auto at = orphans_.begin(); at != orphans_.end();) {
    const auto& job = at->second.job;
    if (job.holder != client.mark) {
      ++at;
      continue;
    }
    client.session.adopt(job.job_id, job.ticket);
    begun_[job.ticket] = {id, job.job_id};
    SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "client {} is back and holds job {}", client.session.describe(),
                 job.job_id);
    at = orphans_.erase(at);
  }
}

void Server::orphan_died(Ticket ticket) {
  const auto found = orphans_.find(ticket);
  if (found == orphans_.end()) return;
  const auto why = fmt::format("pid {} died", found->second.job.holder.pid);
  SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "{} and holds job {}: released", why, found->second.job.job_id);
  orphans_.erase(found);
  forget(ticket);
  run(uplink_.drop(ticket, why, monotonic_now()));
}

void Server::keep(Ticket ticket, const HeldJob& job) {
  held_[ticket] = job;
  save();
}

void Server::forget(Ticket ticket) {
  if (held_.erase(ticket) != 0) save();
}

void Server::save() {
  if (config_.held_file.empty()) return;
  Held held{config_.life, last_ticket_, {}};
  for (const auto& [ticket, job] : held_) held.jobs.push_back(job);
  const auto saved = save_held(config_.held_file, held);
  if (!saved && !save_failed_)
    SUMAC_WARN(log_, "{}: if sharpd is restarted, running jobs end 8 s later", saved.error().context);
  save_failed_ = !saved;
}

void Server::on_message(net::HostClientId id, const wire::HostMessage& message) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  auto& client = found->second;
  const bool was_naming = client.session.is_naming();
  const auto memberships = client.session.memberships().size();
  auto actions = client.session.received(message);
  if (const auto& jobs = client.session.memberships(); jobs.size() > memberships)
    enter(id, Membership(jobs.back()));
  else if (jobs.size() < memberships)
    uplink_.left(message.header.job_id);
  if (!was_naming && client.session.is_naming()) {
    client.naming_until = monotonic_now() + config_.attach_within;
    naming_.emplace_back(client.naming_until, id);
  }
  if (const auto names = client.session.names(); names != client.names) {
    const auto person = client.session.peer().person;
    count_names(person, std::exchange(client.names, names), names);
    const auto of_person = names_of_.find(person);
    if (of_person != names_of_.end() && of_person->second > kNamesOfPersonMax)
      return offend(id, "jobs of its user that have no answer yet name too many hosts: begin fewer at once");
  }
  run(id, std::move(actions));
}

void Server::enter(net::HostClientId id, const Membership& member) {
  run(uplink_.joined(member.job_id, member.job_key));
  if (const auto* trees = uplink_.trees_of(member.job_id)) tell_trees(*trees, id);
  for (const auto& death : uplink_.deaths_of(member.job_id)) tell_members(death, id);
}

/// The grant carries the job's key, so it is for those alone who have shown it.
void Server::tell_trees(const control::v1::JobTrees& word, std::optional<net::HostClientId> only) {
  const JobId job_id{word.job_id()};
  const auto key = control::key_of(word.granted().job_key());
  const auto messages = granted_messages(job_id, word.granted(), word.times_again());
  if (!key || !messages) return;
  std::vector<net::HostClientId> told;
  for (const auto& [id, client] : clients_)
    for (const auto& member : client.session.memberships())
      if ((!only || *only == id) && member.hears_deaths && member.job_id == job_id && same_secret(member.job_key, *key))
        told.push_back(id);
  for (const auto id : told) run(id, Actions(*messages));
}

void Server::on_closed(net::HostClientId id, const Error& why) {
  if (why.code == Errc::invalid || why.code == Errc::unsupported) {
    const auto found = clients_.find(id);
    if (found != clients_.end()) warn_of(found->second.session, "", why.context);
  }
  release(id, "closed its connection");
}

void Server::on_descriptor(net::HostClientId id, UniqueFd handed) {
  if (const auto found = clients_.find(id); found != clients_.end()) found->second.page = std::move(handed);
}

Result<> Server::answer_inspections() {
  const auto endpoint = "unix:" + sockets_.path() + control::kInspectSuffix;
  auto bound = inspections_.listen(endpoint, {.log = &log_});
  if (bound && control::is_unix(config_.manager)) inspectable_ = endpoint;
  return bound ? Result<>{} : tl::unexpected(bound.error());
}

/// Called when the manager has registered this sharpd. Where all daemons are on one machine, they meet at unix sockets.
void Server::be_inspectable() {
  if (inspectable_.empty() && !control::is_unix(config_.manager)) {
    const auto own = net::address_towards(net::host_of(config_.manager));
    auto bound = own ? inspections_.listen(net::format_address(own->address), {.tls = config_.tls.get(), .log = &log_})
                     : Result<std::string>(tl::unexpected(own.error()));
    if (!bound) {
      SUMAC_WARN(log_, "`sumac explain` on other hosts does not see this one: {}", bound.error().context);
      return;
    }
    inspectable_ = *std::move(bound);
  }
  if (!inspectable_.empty()) run(uplink_.inspectable(inspectable_));
}

/// A daemon shows the job's key, which its members alone have. A person is known by the kernel, and sees his own jobs.
Result<InspectedJob> Server::inspected(const control::InspectCall& call) const {
  const JobId id{call.request().job_id()};
  const auto& caller = call.caller();
  std::optional<Secret> key;
  if (const auto& shown = call.request().job_key(); !shown.empty()) {
    auto read = control::key_of(shown);
    if (!read) return tl::unexpected(read.error());
    key = *read;
  }
  if (caller.certificate && caller.certificate->role != control::CertRole::host)
    return fail(Errc::denied, "{} is no sharpd", caller.describe());
  InspectedJob job;
  for (const auto& [client, one] : clients_)
    for (const auto& member : one.session.memberships()) {
      const auto& peer = one.session.peer();
      const bool may =
          key ? same_secret(*key, member.job_key) : caller.uid && (*caller.uid == 0 || *caller.uid == peer.uid);
      if (member.job_id != id || !may) continue;
      job.key = member.job_key;
      job.ranks.push_back({peer.pid, peer.uid, one.page ? one.page.get() : -1});
    }
  for (const auto& [when, word, page] : uplink_.deaths()) {
    const auto of = control::key_of(word.job_key());
    const bool may = key ? of && same_secret(*key, *of) : caller.uid && (*caller.uid == 0 || *caller.uid == word.uid());
    if (JobId{word.job_id()} != id || !may || !of) continue;
    job.key = *of;
    auto& death = job.deaths.emplace_back();
    death.set_world_rank(word.world_rank());
    death.set_who(word.who());
    death.set_since_ns(when.time_since_epoch().count());
    death.set_page(page);
  }
  if (const auto* daemons = uplink_.daemons_of(id); daemons != nullptr && !(job.ranks.empty() && job.deaths.empty()))
    job.daemons = *daemons;
  for (const auto& [ticket, held] : held_) {
    if (job.daemons || held.job_id != id) continue;
    control::v1::HeldDaemons kept;
    const auto bytes = from_hex(held.daemons);
    if (!bytes || !kept.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) continue;
    const auto of = control::key_of(kept.job_key());
    if (!of || !(key ? same_secret(*key, *of) : caller.uid && (*caller.uid == 0 || *caller.uid == kept.uid())))
      continue;
    job.key = *of;
    job.daemons.emplace(kept.daemons().begin(), kept.daemons().end());
  }
  if (job.ranks.empty() && job.deaths.empty() && !job.daemons)
    return fail(Errc::not_found, "no rank of job {} is on this host that you may look into", id);
  return job;
}

/// The successor of this process does not hear from the job's ranks, but it can ask the job's other daemons.
void Server::keep_daemons(JobId id) {
  const auto* daemons = uplink_.daemons_of(id);
  const auto held = std::ranges::find(held_, id, [](const auto& one) { return one.second.job_id; });
  if (daemons == nullptr || held == held_.end() || !held->second.daemons.empty()) return;
  control::v1::HeldDaemons kept;
  for (const auto& [client, one] : clients_)
    for (const auto& member : one.session.memberships())
      if (member.job_id == id && one.mark == held->second.holder) {
        kept.set_uid(one.session.peer().uid);
        kept.set_job_key(member.job_key.data(), member.job_key.size());
      }
  if (kept.job_key().empty()) return;
  kept.mutable_daemons()->Assign(daemons->begin(), daemons->end());
  const auto bytes = kept.SerializeAsString();
  held->second.daemons = hex(std::as_bytes(std::span(bytes)), "");
  save();
}

/// A user's programs may repeat the same mistake as often as they like; it is logged at most once a minute.
void Server::warn_of(const Session& session, std::string_view what, std::string_view why) {
  ++done_.offences;
  const auto kind = fmt::format("{}{} {}", session.peer().person, what, why);
  if (const auto more = said_.next(kind, monotonic_now()))
    SUMAC_WARN(log_, "client {}{}: {}{}", session.describe(), what, why, *more);
}

void Server::client_died(net::HostClientId id) {
  // Its last messages may have come after this pass looked for some: that it is a rank of a job, or that it has left.
  sockets_.read_rest(id, *this);
  if (const auto departed = departed_.find(id); departed != departed_.end()) {
    tell_deaths(departed->second.peer, departed->second.who, departed->second.memberships, departed->second.page);
    departed_.erase(departed);
  }
  if (!clients_.contains(id)) return;
  release(id, "died", true);
  sockets_.close(id);  // A child that the process forked may still hold the socket open.
}

/// A rank may outlive its tree (SUMAC_RECOVERY), so no node would tell it.
void Server::tell_members(const control::v1::RankDied& dead, std::optional<net::HostClientId> only) {
  const JobId job_id{dead.job_id()};
  const WorldRank rank{dead.world_rank()};
  const auto key = control::key_of(dead.job_key());
  if (!key) return;
  const auto word = wire::host_message(wire::HostKind::rank_died, wire::MemberBody{rank, 0, {}}, job_id);
  for (const auto& [id, client] : clients_)
    for (const auto& member : client.session.memberships())
      if ((!only || *only == id) && member.hears_deaths && member.job_id == job_id && member.world_rank != rank &&
          same_secret(member.job_key, *key))
        (void)sockets_.send(id, word);  // One that is lost is heard of by on_closed().
}

void Server::tell_deaths(const Peer& peer, const std::string& who, const std::vector<Membership>& memberships,
                         const UniqueFd& page) {
  done_.deaths += memberships.size();
  const auto packed = page ? recorder::packed(page.get()).value_or("") : "";
  for (const auto& member : memberships) {
    SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "rank {} of job {} died: {}", member.world_rank, member.job_id, who);
    control::v1::RankDied word;
    word.set_job_id(number_of(member.job_id));
    word.set_world_rank(number_of(member.world_rank));
    word.set_uid(peer.person);
    word.set_job_key(member.job_key.data(), member.job_key.size());
    word.set_who(who);
    tell_members(word);
    run(uplink_.rank_died(std::move(word), monotonic_now(), packed));
  }
}

std::size_t Server::departed_of(unsigned person) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(departed_, [&](const auto& one) { return one.second.peer.person == person; }));
}

void Server::release(net::HostClientId id, std::string_view why, bool is_dead) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  // Nodes hear of a death only while they have the job.
  auto& client = found->second;
  if (const auto& memberships = client.session.memberships(); !memberships.empty()) {
    for (const auto& member : memberships) uplink_.left(member.job_id);
    if (is_dead)
      tell_deaths(client.session.peer(), client.session.describe(), memberships, client.page);
    else if (departed_.size() < kDepartedMax && departed_of(client.session.peer().person) < kDepartedOfPersonMax)
      departed_.emplace(id, Departed{client.session.peer(), client.session.describe(), memberships,
                                     std::move(client.pidfd), std::move(client.page)});
  }
  for (const auto ticket : found->second.session.held()) {
    forget(ticket);
    SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "client {} {} and holds a job: released",
                 found->second.session.describe(), why);
    run(uplink_.drop(ticket, fmt::format("{} {}", found->second.session.describe(), why), monotonic_now()));
  }
  std::erase_if(begun_, [&](const auto& entry) { return entry.second.client == id; });
  const auto gone = std::make_pair(client.session.peer().person, client.names);
  clients_.erase(found);
  count_names(gone.first, gone.second, 0);
}

void Server::run(net::HostClientId id, Actions actions) {
  for (auto& action : actions) {
    if (const auto* to = std::get_if<ToClient>(&action)) {
      if (sockets_.send(id, to->message) != Errc::lost) continue;
      release(id, "closed its connection");
      sockets_.close(id);
      return;
    } else if (const auto* begin = std::get_if<BeginJob>(&action)) {
      const auto found = clients_.find(id);
      if (found == clients_.end()) return;
      begun_[begin->ticket] = {id, JobId{begin->begin.job_id()}};
      // A user whose jobs are refused may try again as often as he likes.
      const auto person = found->second.session.peer().person;
      const bool is_limited = refused_.contains(person);
      if (const auto more =
              is_limited ? said_.next(fmt::format("begin {}", person), monotonic_now()) : std::optional(std::string()))
        SUMAC_LOG_IN(log_, LogLevel::info, "JOBS", "job {} of {}: asked of the manager{}", begin->begin.job_id(),
                     begin->begin.holder(), *more);
      ++done_.jobs_begun;
      run(uplink_.begin(begin->ticket, begin->begin, monotonic_now()));
    } else if (const auto* end = std::get_if<EndJob>(&action)) {
      run(uplink_.end(end->ticket, monotonic_now()));
    } else if (const auto* want = std::get_if<WantTrees>(&action)) {
      run(uplink_.want_trees(want->job_id, want->job_key, want->times_again));
    } else if (const auto* offence = std::get_if<Offence>(&action)) {
      return offend(id, offence->why);
    }
  }
}

void Server::take_answers() {
  for (auto& answer : manager_.take()) {
    if (answer.ticket != stream_) continue;  // This answer belongs to a former stream.
    const Time now = monotonic_now();
    run(answer.over ? uplink_.stream_over(answer.why, now) : uplink_.heard(answer.down, now));
    if (!answer.over && answer.down.has_registered()) be_inspectable();
    if (!answer.over && answer.down.has_job_daemons()) keep_daemons(JobId{answer.down.job_daemons().job_id()});
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
                   [&](TellMembers& tell) { tell_members(tell.word); },
                   [&](TellTrees& tell) { tell_trees(tell.word); },
                   [&](Answer& answer) {
                     if (answer.lost)
                       ++done_.jobs_lost;
                     else if (answer.down.has_refused())
                       ++done_.jobs_refused;
                     const auto begun = begun_.find(answer.ticket);
                     // The job was released since, or its holder has not connected since the restart.
                     if (begun == begun_.end()) {
                       if (answer.lost && orphans_.erase(answer.ticket) != 0) forget(answer.ticket);
                       return;
                     }
                     const auto [id, job_id] = begun->second;
                     const auto client = clients_.find(id);
                     if (client == clients_.end()) return;
                     if (answer.lost)
                       SUMAC_LOG_IN(log_, LogLevel::warn, "JOBS", "a job of {}: {}", client->second.session.describe(),
                                    answer.why.context);
                     const bool over = answer.lost || !answer.down.has_granted();
                     if (answer.down.has_refused() && refused_.size() < kRefusedMax)
                       refused_.insert(client->second.session.peer().person);
                     else if (!over)
                       refused_.erase(client->second.session.peer().person);
                     // Written to the file before the client is informed: from then on the client relies on the job.
                     if (over) {
                       begun_.erase(begun);
                       forget(answer.ticket);
                     } else {
                       keep(answer.ticket, {answer.ticket, job_id, client->second.mark});
                     }
                     auto next = answer.lost ? client->second.session.manager_lost(answer.ticket, answer.why)
                                             : client->second.session.answered(answer.ticket, answer.down);
                     const auto names = client->second.session.names();
                     count_names(client->second.session.peer().person, std::exchange(client->second.names, names),
                                 names);
                     run(id, std::move(next));
                   },
               },
               action);
}

}  // namespace sumac::hostd
