#include "client/context.hpp"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "client/comm.hpp"
#include "client/recovery/recovery.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::client {
namespace {

/// For received results. Each is copied out and freed at once, but for those of small bcasts that come before their call:
/// at most a window for each group (7 MiB for 51 groups with 64 OSTs).
constexpr std::size_t kPoolBytes = std::size_t{256} << 20;
/// A shorter result arrives whole with one read, and is copied in less time than a second read takes.
constexpr std::size_t kPlaceFrom = 8192;
constexpr std::size_t kQueueBytes = std::size_t{1} << 40;  ///< Windows bound the queue, so no other limit is needed.

/// A channel index outside the host's ranks means that the caller left the field unset.
std::uint32_t channel_of(const sharp_coll_init_spec& spec) {
  const int channel = spec.group_channel_idx;
  return channel > 0 && channel < spec.world_size ? static_cast<std::uint32_t>(channel) : 0;
}

}  // namespace

Context::Context(const sharp_coll_init_spec& spec, ClientConfig config, LogLevel level)
    : mark_(process_mark()),
      log_(Logger::Form::library, level),
      config_(std::move(config)),
      world_rank_{static_cast<std::uint32_t>(spec.world_rank)},
      world_size_(spec.world_size),
      local_rank_(spec.world_local_rank),
      channel_(channel_of(spec)),
      coll_timeout_ms_(spec.config.coll_timeout),
      polls_per_user_progress_(spec.config.user_progress_num_polls > 0 ? spec.config.user_progress_num_polls
                                                                       : waits::kCallLooksPerDrive),
      user_progress_(spec.progress_func),
      oob_colls_(spec.oob_colls),
      world_oob_(spec.oob_colls, spec.oob_ctx, spec.world_rank, spec.world_size),
      is_threaded_(spec.enable_thread_support != 0),
      pool_(kPoolBytes),
      requests_(this) {
  log_.set_rank(spec.world_rank);
  log_.set_job_id(JobId{spec.job_id});
}

Context::~Context() {
  if (recovery_) recovery_->stop();
  // Objects that refer to the link or the transport are destroyed before them.
  abandoned_.clear();
  while (!comms_.empty()) delete comms_.back();
  wipe(job_.granted.job_key);
}

Outcome<std::unique_ptr<Context>> Context::make(const sharp_coll_init_spec& spec) {
  auto config = load_client_config();
  const bool is_quiet = (spec.config.flags & SHARP_COLL_HIDE_ERRORS) != 0;
  const auto level = config ? log_level_from(config->log_level) : log_level_from_environment();
  std::unique_ptr<Context> context(new Context(spec, config ? *config : ClientConfig{}, level));
  if (context->world_rank_ == WorldRank{0})
    for (const auto& sentence : unknown_client_variables()) SUMAC_WARN(context->log_, "{}", sentence);

  // 1. Steps that can fail at this rank alone: options, device, sharpd.
  Outcome<> local;
  if (!config) local = failure(SHARP_COLL_EINVAL, "{}", config.error().context);
  Session* session = nullptr;
  if (local) local = context->draw_tokens();
  if (local) local = context->find_devices(spec.config.ib_dev_list, "");
  if (local) local = context->attach(session);
  if (local && !session->devices().empty()) local = context->find_devices(spec.config.ib_dev_list, session->devices());

  // 2. The job, for all ranks.
  const auto report = [&](const Failure& why) -> tl::unexpected<Failure> {
    // Rank 0 tells the user, once for all ranks; without agreement (an out-of-band function failed) each rank reports
    // for itself.
    if (is_quiet)
      SUMAC_DEBUG(context->log_, "{}", why.text);
    else if (context->world_rank_ == WorldRank{0} || why.status == SHARP_COLL_EOOB)
      SUMAC_ERROR(context->log_, "{}", why.text);
    else
      SUMAC_DEBUG(context->log_, "{}", why.text);
    return tl::unexpected(why);
  };
  auto bytes = begin_job(context->world_oob_, local, session, JobId{spec.job_id},
                         {context->channel_, context->devices_.names()}, context->config_, context->log_);
  if (!bytes) return report(bytes.error());

  // 3. Every rank connects to its leaf node.
  auto job = decode_job(*bytes);
  Outcome<> connected;
  if (job) {
    context->job_ = *std::move(job);
    connected = context->connect();
  } else {
    connected = tl::unexpected(job.error());
  }
  auto all = context->world_oob_.agree(connected);
  if (all && context->job_.recovers) all = context->begin_recovery();
  if (!all) {
    if (context->world_rank_ == WorldRank{0})
      if (auto ended = session->end_job(JobId{spec.job_id}, context->config_.job_create_timeout); !ended)
        SUMAC_WARN(context->log_, "{}", ended.error().text);
    return report(all.error());
  }
  if (!names_are_left_to_team()) recorder::set_job(spec.job_id, spec.world_rank, spec.world_size);
  session->enter_job(context->job_.id, context->world_rank_, context->job_.granted.job_key,
                     context->recovery_ != nullptr);
  if (context->recovery_) {
    context->ways_ = recorder::Ways::of_this_process();
    context->is_threaded_by_recovery_ = !std::exchange(context->is_threaded_, true);
    if (auto started = context->recovery_->start(); !started)
      SUMAC_WARN(context->log_, "SUMAC_RECOVERY: this rank answers only in its calls: {}", started.error().context);
  }
  SUMAC_DEBUG(context->log_, "sharp_coll initialized. job_id: {}", spec.job_id);
  return context;
}

/// Draws the first token of this process's groups. An earlier job may have had the same number, and nodes remember
/// their answers to its tokens; besides, no other process may guess the next token.
Outcome<> Context::draw_tokens() {
  const auto drawn = draw_secret();
  if (!drawn) return failure(SHARP_COLL_ESESS_INIT, "{}", drawn.error().context);
  std::memcpy(&tokens_, drawn->data(), sizeof tokens_);
  return {};
}

Outcome<> Context::find_devices(const char* program, const std::string& host) {
  const DeviceRequests requests{config_.devices, program == nullptr ? "" : program, host, config_.net_device};
  devices_ = {};
  if (!names_devices(requests)) return {};  // Then it does not matter which ports there are.
  const auto ports = net::host_ports();
  if (!ports) return failure(SHARP_COLL_EDEV, "{}", ports.error().context);
  auto found = client::find_devices(requests, *ports);
  if (!found) return tl::unexpected(found.error());
  devices_ = *std::move(found);
  return {};
}

Outcome<> Context::attach(Session*& session) {
  wire::AttachBody who;
  who.world_rank = world_rank_;
  who.world_size = static_cast<std::uint32_t>(world_size_);
  who.local_rank = static_cast<std::uint32_t>(std::max(0, local_rank_));
  auto attached = Session::attach(config_.sharpd_socket, who, config_.job_create_timeout);
  if (!attached) return tl::unexpected(attached.error());
  session_ = std::make_unique<Session>(*std::move(attached));
  session = session_.get();
  return {};
}

Outcome<> Context::connect() {
  const auto backend = common_backend(job_, world_rank_, config_.transport);
  if (!backend) return tl::unexpected(backend.error());
  auto ports = ports_to_trees(job_, world_rank_, devices_, channel_);
  if (!ports) return tl::unexpected(ports.error());
  ports_ = *std::move(ports);
  if (world_rank_ == WorldRank{0}) announce_trees();
  net::TransportConfig config;
  config.backend = *backend;
  if (*backend == "ucx") config.device = devices_.names();
  config.queue_max = kQueueBytes;
  config.place_from = kPlaceFrom;
  config.handshake_timeout = config_.job_create_timeout;
  auto transport = net::make_transport(config, pool_);
  if (!transport) return failure(SHARP_COLL_ECONN_TREE, "{}", transport.error().context);
  transport_ = *std::move(transport);
  listeners_ = std::make_unique<multicast::Listeners>(*transport_, pool_, log_);
  for (std::size_t i = 0; i < job_.trees.size(); ++i) {
    auto link =
        TreeLink::begin(job_, job_.trees[i], world_rank_, session_->host(), *transport_, *this, ports_[i].interface);
    if (!link) return tl::unexpected(link.error());
    links_.push_back(*std::move(link));
  }
  const Patience patience(config_.job_create_timeout);
  wait_until([&] { return std::ranges::all_of(links_, [](const auto& link) { return link->settled(); }); }, patience);
  for (const auto& link : links_)
    if (auto stands = link->check(*transport_, patience.waited(), config_.node_lost_after); !stands) return stands;
  return {};
}

/// Collective. Ranks that cannot have it agree that nobody has: they end as without it.
Outcome<> Context::begin_recovery() {
  auto made = Recovery::make(*this, transport_->local(links_.front()->conn()));
  const auto why_not = Recovery::meet(world_oob_, made);
  if (!why_not) return tl::unexpected(why_not.error());
  if (!why_not->empty()) {
    if (world_rank_ == WorldRank{0})
      SUMAC_LOG(log_, config_.no_recovery(), "SUMAC_RECOVERY: not in this job: {}", *why_not);
    return {};
  }
  recovery_ = *std::move(made);
  if (job_.settings.enable_sat || links_.size() != 1) return {};
  const auto silent_after = std::min(config_.node_lost_after, kLeafSilentAfter);
  if (transport_->watch(links_.front()->conn(), Millis{0}, silent_after) != Errc::ok)
    SUMAC_DEBUG(log_, "the tree is lost before the first group");
  return {};
}

/// Two ports of a host on one tree share its channels, so the line shows the number of ports for each tree.
void Context::announce_trees() const {
  const auto& g = job_.granted.quota;
  if (devices_.is_stood_in_for() && !ports_.empty())
    SUMAC_WARN(log_, "{}: this host has no RDMA adapter; the port that stands in: {}", devices_.origin,
               ports_.front().stand_in);
  for (std::size_t i = 0; i < job_.trees.size(); ++i) {
    const auto ports = std::max(ports_[i].leading, 1u);
    SUMAC_INFO(
        log_,
        "tree_info: tree idx:{} quota: ( osts:{} user_data_per_ost:{} max_groups:{} max_qps:{} max_group_channels:{})",
        job_.trees[i].body.tree_index, g.osts, g.payload_per_ost, g.max_groups, g.max_qps,
        (g.max_group_channels + ports - 1) / ports);
    if (ports_[i].port >= 0)
      SUMAC_DEBUG(log_, "tree idx:{} by {}", job_.trees[i].body.tree_index,
                  devices_.ports[static_cast<std::size_t>(ports_[i].port)].name);
  }
  if (job_.trees.size() < config_.trees_requested())
    SUMAC_INFO(log_, "{} of {} trees granted: no more of them reach all hosts of the job and have room",
               job_.trees.size(), config_.trees_requested());
  if (job_.settings.enable_sat && job_.granted.quota.stream_window == 0)
    SUMAC_WARN(log_,
               "SHARP_COLL_ENABLE_SAT=1, but no streaming was granted: large operations go in fragments of {} bytes; "
               "SUMAC_AM_STREAM_WINDOW is 0 at sharp_am",
               g.payload_per_ost);
}

std::uint32_t Context::rail_of(std::size_t tree) const {
  return ports_[tree].port < 0 ? static_cast<std::uint32_t>(tree) : static_cast<std::uint32_t>(ports_[tree].port);
}

TreeLink& Context::link_of(net::ConnId conn) noexcept {
  for (const auto& link : links_)
    if (link->conn() == conn) return *link;
  for (const auto& [tree, link] : former_)
    if (link && link->conn() == conn) return *link;
  return *links_.front();  // The transport has no other connections.
}

void Context::progress() {
  send_held();
  is_busy_ = false;
  events_ = transport_->progress(*this);
  if (!broken_.empty())
    for (const auto& broken : std::exchange(broken_, {})) link_of(broken.conn).on_closed(broken.why), ++events_;
  if (recovery_) events_ += recovery_->progress(events_ > 0);
  if (has_sent_datagrams_) tick_datagrams();
  if (is_link_new_) watch_new_link();
  if (!watched_.empty()) drain();
  send_held();  // A message that waited for another one must not keep those back that others wait for.
  // This pass has taken the events that the sleeping thread was to be woken by: its descriptor must be armed again.
  if (bell_.is_wanted && !is_armed()) ring_bell();
}

bool Context::is_armed() {
  if (datagram_timer_) set_datagram_timer();
  return transport_->arm() && (!recovery_ || recovery_->arm());
}

void Context::on_readable(std::uint32_t token) {
  if (recovery_ && recovery_->on_readable(token)) return;
  if (!receive_datagrams(token)) listeners_->on_readable(token);
}

bool Context::arm() {
  send_held();
  if (bell_.fd < 0) return is_armed();
  if (!watched_.empty()) drain();  // Posting alone may have ended an operation.
  bell_.is_wanted = !std::exchange(bell_.has_ended, false) && !is_busy_ && broken_.empty() && is_armed();
  return bell_.is_wanted;
}

void Context::ring_bell() noexcept {
  bell_.is_wanted = false;
  const std::uint64_t once = 1;
  // It can only fail if the number in the eventfd is at its maximum, and then the sleeper wakes up anyway.
  static_cast<void>(!::write(bell_.fd, &once, sizeof once));
}

void Context::look() {
  bool may_yield = false;
  {
    auto guard = lock();
    if (recovery_) recovery_->call_looks();
    if (!caller_looks_.looks(!watched_.empty())) return;
    progress();
    may_yield = caller_looks_.after(events_ > 0, !watched_.empty()).yields;
  }
  if (may_yield) ::sched_yield();
}

void Context::drain() {
  for (std::size_t i = 0; i < watched_.size();) {
    Comm* comm = watched_[i];
    if (comm->drain()) {
      ++i;
      continue;
    }
    comm->is_watched = false;
    watched_[i] = watched_.back();
    watched_.pop_back();
  }
}

void Context::watch(Comm& comm) {
  if (std::exchange(comm.is_watched, true)) return;
  watched_.push_back(&comm);
}

void Context::abandon(std::unique_ptr<Comm> comm) { abandoned_.push_back(std::move(comm)); }

void Context::free_departed() {
  std::vector<std::unique_ptr<Comm>> departed;  // Destroyed after the guard, because they take the lock themselves.
  auto guard = lock();
  const auto rest =
      std::partition(abandoned_.begin(), abandoned_.end(), [](const auto& comm) { return !comm->has_left(); });
  departed.assign(std::move_iterator(rest), std::move_iterator(abandoned_.end()));
  abandoned_.erase(rest, abandoned_.end());
}

void Context::remove(Comm& comm) noexcept {
  std::erase(comms_, &comm);
  std::erase(watched_, &comm);
  comm.detach();
  // Requests of a communicator that is destroyed will never end, and nothing may write to their result buffers.
  forget_borrowed();
  requests_.each([&](Request& request) {
    if (request.comm != &comm || request.state == Request::State::free) return;
    request.comm = nullptr;
    if (request.state == Request::State::pending)
      finish(request, SHARP_COLL_ERROR, std::make_shared<const std::string>("its communicator was destroyed"));
  });
}

void Context::finish(Request& request, int status, const std::shared_ptr<const std::string>& why) noexcept {
  if (!request.is_leave) {
    auto& counts = counts_[request.kind];
    if (status == SHARP_COLL_SUCCESS) {
      ++counts.answered;
      counts.streamed += request.streamed ? 1 : 0;
      counts.fragments += request.fragments;
      counts.bytes += request.bytes;
    } else {
      ++counts.failed;
    }
  }
  request.status = status;
  request.why = why;
  request.state = status == SHARP_COLL_SUCCESS ? Request::State::complete : Request::State::failed;
  request.staging.reset();
  if (request.dropped) requests_.put(&request);
  bell_.has_ended = true;
  if (bell_.is_wanted) ring_bell();
}

void Context::drop_request(Request& request) noexcept {
  if (request.state != Request::State::pending || request.comm == nullptr) return requests_.put(&request);
  request.dropped = true;
}

Context::CallWait::CallWait(Context& context) : context_(context) {
  if (context.user_progress_ != nullptr) drives_.done(monotonic_now());
  if (context.recovery_) context.recovery_->call_begins();
  auto guard = context.lock_if(context.has_callers());
  if (context.waiters_.empty()) return;
  waiter_ = std::move(context.waiters_.back());
  context.waiters_.pop_back();
}

Context::CallWait::~CallWait() {
  if (waiter_) waiter_->wait(1, -1, kNever);  // A message came, so the next wait starts afresh.
  if (context_.recovery_) context_.recovery_->call_ends();
  if (!waiter_) return;
  auto guard = context_.lock_if(context_.has_callers());
  context_.waiters_.push_back(std::move(waiter_));
}

WaitLimits Context::waiter_limits() const {
  WaitLimits limits = waits::kMessage;
  // With a progress function a sleep is never longer than its 1 ms, because our peer may wait for the caller's own
  // communication. With threads another thread may have received the message that we sleep for. Otherwise only a
  // message can end the wait, and waking up earlier only costs processor time (in a 4 MiB stream at 200 Mbit/s every
  // second wake-up was useless).
  // The thread of recovery wakes its callers by itself.
  if (user_progress_ == nullptr && (!is_threaded_ || is_threaded_by_recovery_)) limits.sleep_max = waits::kCallSleepMax;
  return limits;
}

bool Context::sleeps_alone() const noexcept {
  return !is_threaded_ || (is_threaded_by_recovery_ && recovery_->is_idle());
}

void Context::CallWait::rest(std::size_t events, Time deadline) {
  if (!waiter_) waiter_ = std::make_unique<net::Waiter>(context_.waiter_limits());
  bool slept = false;
  if (context_.sleeps_alone() && !context_.is_busy_ && context_.broken_.empty()) {
    const auto sleeps = waiter_->sleeps();
    waiter_->rest(events, *context_.transport_, std::min(deadline, context_.datagrams_due()));
    slept = waiter_->sleeps() != sleeps;
    context_.sleeps_ += slept ? 1 : 0;
  } else if (events > 0) {
    waiter_->wait(events, -1, kNever);
  } else {
    bool is_armed = false;
    Time due = deadline;
    {
      auto guard = context_.lock();
      is_armed = context_.is_armed();
      due = std::min(due, context_.next_due());
    }
    const auto sleeps = waiter_->sleeps();
    if (is_armed) waiter_->wait(0, context_.wake_fd(), due);
    if ((slept = waiter_->sleeps() != sleeps)) {
      auto guard = context_.lock();
      ++context_.sleeps_;
    }
  }
  if (context_.user_progress_ == nullptr) return;
  if (!slept && ++polls_ < context_.polls_per_user_progress_ &&
      !drives_.is_due(monotonic_now(), waits::kCallDriveEvery))
    return;
  context_.user_progress_();
  polls_ = 0;
  drives_.done(monotonic_now());
}

bool Context::sleep(std::span<const Request* const> requests, Duration at_most) {
  const auto one_is_over = [requests] {
    return std::ranges::any_of(requests, [](const Request* one) { return one->state != Request::State::pending; });
  };
  {
    auto guard = lock();
    send_held();
    if (!watched_.empty()) drain();  // Posting alone, or progress for another caller, may have ended it.
    if (one_is_over() || is_busy_ || !broken_.empty() || !is_armed()) return true;
    if (const Time due = next_due(); due != kNever)
      at_most = std::clamp<Duration>(due - monotonic_now(), Duration(0), at_most);
    ++sleeps_;
    if (recovery_) recovery_->call_begins();
  }
  bool has_come = false;
  if (sleeps_alone()) {
    has_come = transport_->wait(at_most);
  } else {
    pollfd wake{wake_fd(), POLLIN, 0};
    const timespec exactly = net::wait_time(at_most);
    has_come = ppoll(&wake, 1, &exactly, nullptr) != 0;
  }
  if (recovery_) recovery_->call_ends();
  if (!is_threaded_) return has_come;
  auto guard = lock();
  return has_come || one_is_over();  // Another thread may have received the message.
}

void Context::on_message(net::ConnId conn, BufferRef frame) {
  link_of(conn).engine().on_message(std::move(frame), monotonic_now());
}

void Context::on_placed(net::ConnId conn, BufferRef head) {
  link_of(conn).engine().on_placed(proto::ClientLink::Head(head.data(), wire::kAggHeaderBytes), monotonic_now());
}

void Context::on_closed(net::ConnId conn, const Error& why) { link_of(conn).on_closed(why); }

void Context::queue(proto::LinkId to, std::span<const std::byte> head, const Payload& data, bool in_row) {
  const net::ConnId conn{to.value};
  const auto sent = in_row ? transport_->send_in_row(conn, head, data) : transport_->send(conn, head, data);
  // With Errc::lost, on_closed() reports it. Any other error would leave a hole in the sequence, so it ends the
  // connection.
  if (sent == Errc::ok || sent == Errc::lost) return;
  transport_->close(net::ConnId{to.value});
  broken_.push_back({net::ConnId{to.value}, {sent, fmt::format("a message could not be sent: {}", to_string(sent))}});
}

void Context::send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) {
  const auto head = wire::encoded(header);
  queue(to, head, data);
  send_held();
}

void Context::send_in_row(proto::LinkId to, const wire::AggHeader& header, const Payload& data) {
  const auto head = wire::encoded(header);
  queue(to, head, data, true);
  send_held();
}

void Context::send_later(proto::LinkId to, const wire::AggHeader& header, std::uint32_t most) {
  if (held_back_++ == 0) transport_->cork();
  queue(to, wire::encoded(header), {});
  if (held_back_ >= most) send_held();
}

void Context::send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) {
  std::array<std::byte, 256> head;
  const auto bytes = wire::encoded(header);
  std::copy(bytes.begin(), bytes.end(), head.begin());
  std::copy(body.begin(), body.end(), head.begin() + bytes.size());
  queue(to, std::span(head).first(bytes.size() + body.size()), {});
  send_held();
}

void Context::drop(proto::LinkId link, const Error& why) {
  send_held();
  SUMAC_ERROR(log_, "connection to the aggregation node ended: {}", why.context);
  transport_->close(net::ConnId{link.value}, true);
}

void Context::fill(sumac_coll_stats& stats) const {
  std::copy(std::begin(counts_), std::end(counts_), std::begin(stats.per_coll));
  const auto& net = transport_->stats();
  stats.messages_in = net.messages_in;
  stats.messages_out = net.messages_out;
  stats.bytes_in = net.bytes_in;
  stats.bytes_out = net.bytes_out;
  stats.system_calls = net.system_calls;
  stats.sleeps = sleeps_;
  const auto& heard = listeners_->counts();
  stats.multicast_taken = heard.taken;
  stats.multicast_late = heard.late;
  stats.multicast_discarded = heard.discarded;
  stats.datagrams = datagrams();
}

namespace {
std::string stats_line(const sumac_coll_counts (&counts)[SUMAC_STATS_KINDS], const multicast::Counts& heard,
                       std::uint64_t datagrams) {
  std::string text;
  for (const auto& [kind, name] :
       {std::pair{SUMAC_STATS_BARRIER, "barrier"}, std::pair{SUMAC_STATS_ALLREDUCE, "allreduce"},
        std::pair{SUMAC_STATS_REDUCE, "reduce"}, std::pair{SUMAC_STATS_BCAST, "bcast"},
        std::pair{SUMAC_STATS_REDUCE_SCATTER, "reduce_scatter"}, std::pair{SUMAC_STATS_ALLGATHER, "allgather"}}) {
    const auto& c = counts[kind];
    if (c.posted == 0 && kind > SUMAC_STATS_ALLREDUCE) continue;
    text +=
        fmt::format("{}{}: posted:{} answered:{} failed:{} streamed:{} fragments:{} bytes:{}", text.empty() ? "" : ", ",
                    name, c.posted, c.answered, c.failed, c.streamed, c.fragments, c.bytes);
  }
  if (heard.all() != 0)
    text += fmt::format(", multicast: taken:{} late:{} discarded:{}", heard.taken, heard.late, heard.discarded);
  if (datagrams != 0) text += fmt::format(", datagrams:{}", datagrams);
  return text;
}
}  // namespace

std::string Context::stats_text() const { return stats_line(counts_, listeners_->counts(), datagrams()); }

void Context::finalize() {
  if (!names_are_left_to_team()) recorder::forget_job();
  const auto tell_own = [&] {
    log_.write(LogLevel::info, __FILE__, __LINE__, "",
               fmt::format("statistics of rank {}: {}", world_rank_, stats_text()));
  };
  if (config_.stats_dump_mode == 1) tell_own();
  if (config_.stats_dump_mode == 2) {
    struct AllCounts {
      sumac_coll_counts of[SUMAC_STATS_KINDS];
      multicast::Counts heard;
      std::uint64_t datagrams;
    } mine;
    mine.heard = listeners_->counts();
    mine.datagrams = datagrams();
    std::copy(std::begin(counts_), std::end(counts_), std::begin(mine.of));
    if (auto all = world_oob_.gather(mine); !all) {
      // An MPI that is being shut down exchanges nothing any more.
      SUMAC_DEBUG(log_, "statistics: {}", all.error().text);
      tell_own();
    } else if (world_rank_ == WorldRank{0}) {
      AllCounts sum{};
      for (const auto& one : *all) {
        sum.heard += one.heard;
        sum.datagrams += one.datagrams;
        for (std::size_t k = 0; k < SUMAC_STATS_KINDS; ++k) {
          sum.of[k].posted += one.of[k].posted;
          sum.of[k].answered += one.of[k].answered;
          sum.of[k].failed += one.of[k].failed;
          sum.of[k].streamed += one.of[k].streamed;
          sum.of[k].fragments += one.of[k].fragments;
          sum.of[k].bytes += one.of[k].bytes;
        }
      }
      log_.write(LogLevel::info, __FILE__, __LINE__, "",
                 fmt::format("statistics of {} ranks: {}", world_size_, stats_line(sum.of, sum.heard, sum.datagrams)));
    }
  }
  if (recovery_) {
    recovery_->stop();
    recovery_->close();
  }
  session_->leave_job(job_.id);
  if (world_rank_ == WorldRank{0})
    if (auto ended = session_->end_job(job_.id, config_.job_create_timeout); !ended)
      SUMAC_WARN(log_, "{}", ended.error().text);
}

}  // namespace sumac::client
