#include "control/inspect.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace sumac::control {
namespace {

std::chrono::system_clock::time_point in(Duration time) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
}

Result<Identity> identity_of(const v1::JobDaemon& daemon) {
  auto role = parse_role(daemon.role());
  if (!role) return tl::unexpected(role.error());
  if (!is_certificate_name(daemon.name())) return fail(Errc::invalid, "'{:.80}' is no legal name", daemon.name());
  return Identity{*role, daemon.name()};
}

}  // namespace

struct InspectServer::Shared {
  explicit Shared(const WakeEvent& event) : wake(event) {}
  const WakeEvent& wake;
  std::mutex mutex;
  bool is_closed = false;
  std::vector<std::unique_ptr<InspectCall>> waiting;
  std::map<std::string, std::size_t> open;  ///< Calls without an answer, by their callers' shares.
  std::size_t open_count = 0;
};

class InspectServer::Call final : public InspectCall {
 public:
  Call(std::shared_ptr<Shared> shared, Caller who, const v1::InspectRequest& request, v1::InspectReply& reply,
       grpc::ServerUnaryReactor& reactor, Time deadline)
      : shared_(std::move(shared)),
        caller_(std::move(who)),
        request_(request),
        reply_(reply),
        reactor_(reactor),
        deadline_(deadline) {}
  ~Call() override {
    if (!is_answered_) answer(fail(Errc::lost, "the daemon ends"));
  }
  const Caller& caller() const noexcept override { return caller_; }
  const v1::InspectRequest& request() const noexcept override { return request_; }
  Time deadline() const noexcept override { return deadline_; }
  void answer(Result<v1::InspectReply> reply) override {
    is_answered_ = true;
    {
      const std::lock_guard lock(shared_->mutex);
      --shared_->open_count;
      if (const auto own = shared_->open.find(caller_.share()); --own->second == 0) shared_->open.erase(own);
    }
    if (reply) reply_.Swap(&*reply);
    reactor_.Finish(reply ? grpc::Status::OK : to_status(reply.error()));
  }

 private:
  std::shared_ptr<Shared> shared_;
  const Caller caller_;
  const v1::InspectRequest& request_;  // gRPC keeps these three until Finish.
  v1::InspectReply& reply_;
  grpc::ServerUnaryReactor& reactor_;
  const Time deadline_;
  bool is_answered_ = false;
};

class InspectServer::Door final : public v1::Inspection::CallbackService {
 public:
  Door(std::shared_ptr<Shared> shared, CallerOf caller_of)
      : shared_(std::move(shared)), caller_of_(std::move(caller_of)) {}

  grpc::ServerUnaryReactor* Inspect(grpc::CallbackServerContext* context, const v1::InspectRequest* request,
                                    v1::InspectReply* reply) override {
    auto* reactor = context->DefaultReactor();
    if (auto taken = take(*context, *request, *reply, *reactor); !taken) reactor->Finish(to_status(taken.error()));
    return reactor;
  }

 private:
  Result<> take(grpc::CallbackServerContext& context, const v1::InspectRequest& request, v1::InspectReply& reply,
                grpc::ServerUnaryReactor& reactor) {
    auto caller = caller_of_(context);
    if (!caller) return tl::unexpected(caller.error());
    const auto left = std::chrono::duration_cast<Duration>(std::min(context.deadline(), in(kInspectMax)) -
                                                           std::chrono::system_clock::now());
    const auto share = caller->share();
    const std::lock_guard lock(shared_->mutex);
    if (shared_->is_closed) return fail(Errc::lost, "the daemon ends");
    const auto own = shared_->open.find(share);
    if (shared_->open_count >= kInspectCalls ||
        (caller->uid && own != shared_->open.end() && own->second >= kInspectCallsOfUser))
      return fail(Errc::exhausted, "others look at the same time: try again");
    ++shared_->open_count;
    ++shared_->open[share];
    shared_->waiting.push_back(
        std::make_unique<Call>(shared_, *std::move(caller), request, reply, reactor, monotonic_now() + left));
    shared_->wake.set();
    return {};
  }

  std::shared_ptr<Shared> shared_;
  CallerOf caller_of_;
};

InspectServer::InspectServer(const WakeEvent& wake) : shared_(std::make_shared<Shared>(wake)) {}

/// gRPC's servers wait for all calls to be answered.
InspectServer::~InspectServer() {
  std::vector<std::unique_ptr<InspectCall>> waiting;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
    waiting.swap(shared_->waiting);
  }
}

Result<std::string> InspectServer::listen(const std::string& endpoint, const Server::Options& options) {
  auto server = Server::start(
      endpoint, [shared = shared_](CallerOf caller_of) { return std::make_unique<Door>(shared, std::move(caller_of)); },
      options);
  if (!server) return tl::unexpected(server.error());
  servers_.push_back(*std::move(server));
  return servers_.back().endpoint();
}

std::vector<std::unique_ptr<InspectCall>> InspectServer::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->waiting, {});
}

/// Destroyed by the loop's thread, as all channels must be (client_streams.hpp).
struct InspectClients::Call {
  std::uint64_t ticket = 0;
  v1::JobDaemon of;
  v1::InspectRequest request;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Inspection::Stub> stub;
  grpc::ClientContext context;
  v1::InspectReply reply;
  Error why;
};

struct InspectClients::Shared {
  explicit Shared(const WakeEvent& event) : wake(event) {}
  const WakeEvent& wake;
  std::mutex mutex;
  std::condition_variable none_open;
  std::map<Call*, std::unique_ptr<Call>> open;
  std::vector<std::unique_ptr<Call>> over;

  /// The caller holds the mutex.
  void end(Call* call) {
    over.push_back(std::move(open.extract(call).mapped()));
    wake.set();
    none_open.notify_all();
  }
};

InspectClients::InspectClients(const WakeEvent& wake, std::shared_ptr<Tls> tls)
    : shared_(std::make_shared<Shared>(wake)), tls_(std::move(tls)) {}

InspectClients::~InspectClients() {
  std::unique_lock lock(shared_->mutex);
  for (auto& [call, own] : shared_->open) call->context.TryCancel();
  shared_->none_open.wait(lock, [&] { return shared_->open.empty(); });
  const auto over = std::move(shared_->over);
  lock.unlock();
}

void InspectClients::ask(std::uint64_t ticket, const v1::JobDaemon& daemon, const v1::InspectRequest& request,
                         Duration at_most) {
  auto own = std::make_unique<Call>();
  Call* call = own.get();
  call->ticket = ticket;
  call->of = daemon;
  call->request = request;
  const auto identity = identity_of(daemon);
  auto channel = !identity                  ? Result<std::shared_ptr<grpc::Channel>>(tl::unexpected(identity.error()))
                 : daemon.address().empty() ? fail(Errc::lost, "the manager knows no address of it")
                                            : make_channel(daemon.address(), tls_.get(), dns_name(*identity));
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->open.emplace(call, std::move(own));
    if (!channel) {
      call->why = channel.error();
      return shared_->end(call);
    }
  }
  call->channel = *std::move(channel);
  call->stub = v1::Inspection::NewStub(call->channel);
  call->context.set_deadline(in(at_most));
  call->context.set_wait_for_ready(false);
  call->stub->async()->Inspect(&call->context, &call->request, &call->reply,
                               [shared = shared_, call](const grpc::Status& status) {
                                 const std::lock_guard lock(shared->mutex);
                                 call->why = from_status(status);
                                 if (call->why.context.starts_with(kTlsFailure))
                                   call->why.context = fmt::format(
                                       "{}its certificate is not the one of {} {} for calls, as `sumac pki issue "
                                       "--renew` makes it, or is not of our authority",
                                       kTlsFailure, call->of.role(), call->of.name());
                                 shared->end(call);
                               });
}

std::vector<InspectClients::Answer> InspectClients::take() {
  std::vector<std::unique_ptr<Call>> over;
  {
    const std::lock_guard lock(shared_->mutex);
    over.swap(shared_->over);
  }
  std::vector<Answer> answers;
  for (auto& call : over)
    answers.push_back({call->ticket, std::move(call->of),
                       call->why.code == Errc::ok ? Result<v1::InspectReply>(std::move(call->reply))
                                                  : Result<v1::InspectReply>(tl::unexpected(call->why))});
  return answers;
}

Result<v1::InspectReply> inspect(const std::string& endpoint, const v1::InspectRequest& request, Duration at_most) {
  const auto channel = make_channel(endpoint);
  if (!channel) return tl::unexpected(channel.error());
  grpc::ClientContext context;
  context.set_deadline(in(at_most));
  v1::InspectReply reply;
  const auto status = v1::Inspection::NewStub(*channel)->Inspect(&context, request, &reply);
  if (!status.ok()) return tl::unexpected(from_status(status));
  return reply;
}

}  // namespace sumac::control
