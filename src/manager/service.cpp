#include "manager/service.hpp"

#include <utility>

#include "control/command_line.hpp"
#include "control/endpoint.hpp"
#include "manager/status.hpp"
#include "manager/words.hpp"

namespace sumac::manager {

using control::v1::HostDown;
using control::v1::HostUp;
using control::v1::NodeDown;
using control::v1::NodeUp;

// gRPC allows one operation in flight in each direction. Everything but the first lines of the callbacks runs under the
// service's mutex. Finish waits for the write in flight; OnDone is the last callback and deletes the stream.
template <class Up, class Down>
class Service::Stream final : public grpc::ServerBidiReactor<Up, Down> {
 public:
  Stream(Service& service, StreamId stream_id, control::Caller who)
      : id(stream_id), caller(std::move(who)), service_(service) {}

  void start() { this->StartRead(&up_); }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(service_.mutex_);
    if (ok && !closing_) {
      service_.received(*this, up_);
      if (!closing_) {
        this->StartRead(&up_);
        return;
      }
    }
    service_.ended(*this);
    close(grpc::Status::OK);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(service_.mutex_);
    writing_ = false;
    if (!ok)
      queue_.clear();  // OnReadDone(false) follows and informs the manager.
    else
      queue_.pop_front();
    write_next();
  }

  void OnCancel() override {}  // gRPC calls OnReadDone(false) next, which does the work.

  void OnDone() override {
    {
      const std::lock_guard lock(service_.mutex_);
      service_.forget(*this);
    }
    delete this;
  }

  // The caller of push() and close() holds the mutex.
  void push(Down message) {
    if (closing_) return;
    queue_.push_back(std::move(message));
    write_next();
  }
  void close(grpc::Status status) {
    if (closing_) return;
    closing_ = true;
    status_ = std::move(status);
    write_next();
  }

  const StreamId id;
  const control::Caller caller;
  /// True while the stream counts against the limit of its caller, which is until it has registered.
  bool is_limited = false;

 private:
  void write_next() {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      this->StartWrite(&queue_.front());
    } else if (closing_) {
      finished_ = true;
      this->Finish(status_);
    }
  }

  Service& service_;
  Up up_;
  std::deque<Down> queue_;
  bool writing_ = false, closing_ = false, finished_ = false;
  grpc::Status status_;
};

Service::Service(std::unique_ptr<Manager> manager, Logger& log, std::function<void()> deadline_moved)
    : manager_(std::move(manager)), log_(log), deadline_moved_(std::move(deadline_moved)) {}

Service::~Service() = default;

template <class S>
S* Service::accept(std::unordered_map<StreamId, S*>& streams, const Result<control::Caller>& caller) {
  const std::lock_guard lock(mutex_);
  auto* stream = new S(*this, ++last_id_, caller ? *caller : control::Caller{});
  streams[stream->id] = stream;
  if (caller) {
    if (may_open(*stream)) stream->start();
  } else {
    ++received_.strangers;
    if (const auto more = said_.next("unknown", monotonic_now()))
      SUMAC_WARN(log_, "rejected a caller: {}{}", caller.error().context, *more);
    stream->close(control::to_status(caller.error()));
  }
  return stream;
}

/// Root and the manager's own user may start any number of daemons. In clear text from another machine, callers cannot
/// be told apart.
template <class S>
bool Service::may_open(S& stream) {
  if (stream.caller.is_operator() || (!stream.caller.uid && !stream.caller.certificate)) return true;
  if (limits_.open(stream.caller.share(), monotonic_now())) return stream.is_limited = true;
  ++received_.limited;
  stream.close(control::to_status(
      Error{Errc::exhausted, fmt::format("{} has {} streams open that have not registered: close some",
                                         stream.caller.describe(), CallerLimits::kStreams)}));
  return false;
}

template <class S>
void Service::no_longer_limited(S& stream) {
  if (std::exchange(stream.is_limited, false)) limits_.close(stream.caller.share());
}

/// The gRPC service for the callers of one group, which `caller_of` identifies.
class Service::Door final : public control::v1::Manager::CallbackService {
 public:
  Door(manager::Service& service, control::CallerOf caller_of) : service_(service), caller_of_(std::move(caller_of)) {}

  grpc::ServerBidiReactor<NodeUp, NodeDown>* Node(grpc::CallbackServerContext* context) override {
    return service_.accept(service_.nodes_, caller_of_(*context));
  }

  grpc::ServerBidiReactor<HostUp, HostDown>* Host(grpc::CallbackServerContext* context) override {
    return service_.accept(service_.hosts_, caller_of_(*context));
  }

  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const control::v1::PingRequest*,
                                 control::v1::PingReply* reply) override {
    reply->set_version(std::string(control::version_text()));
    reply->set_uptime_ms(
        static_cast<std::uint64_t>(std::chrono::duration_cast<Millis>(monotonic_now() - service_.started_).count()));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const control::v1::StatusRequest*,
                                   control::v1::StatusReply* reply) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(for_person(*context, [&](const control::Caller& caller) -> Result<> {
      reply->set_json(service_.status_json({.everything = caller.is_operator(), .uid = caller.uid}));
      return {};
    }));
    return reactor;
  }

  grpc::ServerUnaryReactor* Page(grpc::CallbackServerContext* context, const control::v1::PageRequest*,
                                 control::v1::PageReply* reply) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(for_person(*context, [&](const control::Caller& caller) -> Result<> {
      auto ticket = service_.page_ticket(caller);
      if (!ticket) return tl::unexpected(ticket.error());
      reply->set_site(ticket->site);
      reply->set_name(ticket->name);
      reply->set_token(ticket->token);
      reply->set_life_s(static_cast<std::uint64_t>(std::chrono::duration_cast<Seconds>(ticket->life).count()));
      reply->set_is_operator(caller.is_operator());
      return {};
    }));
    return reactor;
  }

  grpc::ServerUnaryReactor* Reserve(grpc::CallbackServerContext* context, const control::v1::ReserveRequest* request,
                                    control::v1::ReserveReply*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(
        for_person(*context, [&](const control::Caller& caller) { return service_.reserve(caller, *request); }));
    return reactor;
  }

 private:
  /// Answers a call of a person or a tool, who may not call too often.
  template <class Answer>
  grpc::Status for_person(grpc::CallbackServerContext& context, Answer answer) {
    const auto caller = caller_of_(context);
    if (!caller) return control::to_status(caller.error());
    if (!service_.may_ask(*caller))
      return control::to_status(
          Error{Errc::exhausted, fmt::format("{} asks for the status more than {} times a second: ask less often",
                                             caller->describe(), CallerLimits::kStatusPerSecond)});
    const Result<> done = answer(*caller);
    return done ? grpc::Status::OK : control::to_status(done.error());
  }

  manager::Service& service_;
  control::CallerOf caller_of_;
};

/// A token goes to a caller whom the kernel or a certificate names, and to no other.
Result<page::Ticket> Service::page_ticket(const control::Caller& caller) {
  if (page_ == nullptr)
    return fail(Errc::not_found,
                "this manager serves no page: start it with --page-listen 127.0.0.1:0 (SUMAC_AM_PAGE_LISTEN)");
  if (!caller.uid && !caller.is_operator())
    return fail(Errc::denied,
                "nothing proves which user {} is: ask on the manager's machine by its unix socket, or with an "
                "administrator's certificate (sumac pki issue DIR admin NAME)",
                caller.describe());
  return page_->issue(caller.describe(), {.everything = caller.is_operator(), .uid = caller.uid});
}

Result<> Service::reserve(const control::Caller& caller, const control::v1::ReserveRequest& request) {
  if (!caller.is_operator())
    return fail(Errc::denied, "{} may not reserve: root and the manager's user may, and an administrator's certificate",
                caller.describe());
  const auto now = monotonic_now();
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (!request.release())
    return manager_->reserve(
        {request.name(), request.uid(), {request.hosts().begin(), request.hosts().end()}, request.osts()});
  auto actions = manager_->release(request.name(), now);
  if (!actions) return tl::unexpected(actions.error());
  run(*std::move(actions), now);
  return {};
}

bool Service::may_ask(const control::Caller& caller) {
  if (caller.is_operator()) return true;
  const std::lock_guard lock(mutex_);
  if (limits_.ask(caller.share(), monotonic_now())) return true;
  ++received_.limited;
  return false;
}

std::unique_ptr<grpc::Service> Service::door(control::CallerOf caller_of) {
  return std::make_unique<Door>(*this, std::move(caller_of));
}

template <class S>
bool Service::is_who_it_says(S& stream, control::CertRole role, const std::string& name) {
  const auto may = stream.caller.may_be(role, name);
  if (may) {
    no_longer_limited(stream);
    return true;
  }
  ++received_.strangers;
  if (const auto more =
          said_.next(fmt::format("{} {}", control::to_string(role), stream.caller.describe()), monotonic_now()))
    SUMAC_WARN(log_, "rejected a caller that claims to be {} {:.64}: {}{}", control::to_string(role), name,
               may.error().context, *more);
  stream.close(control::to_status(may.error()));
  return false;
}

void Service::received(NodeStream& stream, const NodeUp& message) {
  const StreamId id = stream.id;
  if (message.has_register_() && !is_who_it_says(stream, control::CertRole::node, message.register_().name())) return;
  const Time now = monotonic_now();
  ++received_.messages;
  ++changes_;
  if (const auto word = read(message)) return run(manager_->node_says(id, *word, now), now);
  refuse(id, Error{Errc::invalid,
                   "a message of a kind that this manager does not know: install the same version everywhere"});
}

void Service::received(HostStream& stream, const HostUp& message) {
  const StreamId id = stream.id;
  if (message.has_register_() && !is_who_it_says(stream, control::CertRole::host, message.register_().host())) return;
  const Time now = monotonic_now();
  if (!message.has_renew()) {
    ++received_.messages;
    ++changes_;
  }
  if (const auto word = read(message)) return run(manager_->host_says(id, *word, now), now);
  refuse(id, Error{Errc::invalid,
                   "a message of a kind that this manager does not know: install the same version everywhere"});
}

void Service::ended(NodeStream& stream) {
  ++changes_;
  const Time now = monotonic_now();
  run(manager_->node_stream_ended(stream.id, now), now);
}
void Service::ended(HostStream& stream) {
  ++changes_;
  const Time now = monotonic_now();
  run(manager_->host_stream_ended(stream.id, now), now);
}
void Service::forget(NodeStream& stream) {
  no_longer_limited(stream);
  nodes_.erase(stream.id);
}
void Service::forget(HostStream& stream) {
  no_longer_limited(stream);
  hosts_.erase(stream.id);
}

void Service::refuse(StreamId id, const Error& why) {
  if (const auto node = nodes_.find(id); node != nodes_.end()) node->second->close(control::to_status(why));
  if (const auto host = hosts_.find(id); host != hosts_.end()) host->second->close(control::to_status(why));
}

void Service::run(std::vector<Action> actions, Time now) {
  for (auto& action : actions)
    std::visit(overloaded{
                   [&](SendToNode& to) {
                     if (const auto node = nodes_.find(to.stream); node != nodes_.end())
                       node->second->push(written(to));
                   },
                   [&](SendToHost& to) {
                     if (const auto host = hosts_.find(to.stream); host != hosts_.end())
                       host->second->push(written(to));
                   },
                   [&](Refuse& no) { refuse(no.stream, no.why); },
                   [&](Say& say) {
                     if (const auto more = say.kind.empty() ? std::optional(std::string()) : said_.next(say.kind, now))
                       SUMAC_LOG_IN(log_, say.level, say.category, "{}{}", say.text, *more);
                   },
                   [&](const Happened& event) {
                     if (page_ != nullptr) view_.add(event, now);  // Nothing else shows an hour's events.
                   },
               },
               action);
  const Time next = manager_->next_deadline();
  if (next < std::exchange(told_, next) && deadline_moved_) deadline_moved_();
}

void Service::restore(const SavedState& saved) {
  const std::lock_guard lock(mutex_);
  const Time now = monotonic_now();
  run(manager_->restore(saved, now), now);
}

void Service::set_reservations(Reservations reservations) {
  const std::lock_guard lock(mutex_);
  manager_->set_reservations(std::move(reservations));
}

void Service::set_rules(const Rules& rules) {
  const std::lock_guard lock(mutex_);
  manager_->set_rules(rules);
  ++changes_;
}

void Service::fabric_changes(const topo::Fabric& described) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  const Time now = monotonic_now();
  run(manager_->fabric_changes(described, now), now);
}

void Service::tick(Time now) {
  const std::lock_guard lock(mutex_);
  if (manager_->next_deadline() > now) return;
  auto actions = manager_->tick(now);
  // While jobs run, most ticks only look; a message or a line goes with each change.
  if (!actions.empty()) ++changes_;
  run(std::move(actions), now);
}

Time Service::next_deadline() const {
  const std::lock_guard lock(mutex_);
  return manager_->next_deadline();
}

metrics::Page Service::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_page(manager_->facts(), received_);
}

page::Snapshot Service::snapshot(const page::Known& known) {
  const std::lock_guard lock(mutex_);
  page::Snapshot snapshot;
  if (known.state == changes_)
    snapshot.changed = false;
  else
    snapshot = view_.snapshot(manager_->facts(), known, monotonic_now());
  snapshot.version.state = changes_;
  return snapshot;
}

std::string Service::status_json(const page::Viewer& viewer) const {
  const std::lock_guard lock(mutex_);
  return manager::status_json(manager_->facts(), monotonic_now(), received_.messages, viewer);
}

}  // namespace sumac::manager
