#include "hostd/manager_link.hpp"

#include <condition_variable>
#include <deque>

namespace sumac::hostd {

using control::v1::JobDown;
using control::v1::JobUp;

struct ManagerLink::Shared {
  explicit Shared(control::WakeEvent& event) : wake(event) {}
  std::mutex mutex;
  std::condition_variable none_open;
  std::unordered_map<std::uint64_t, Stream*> streams;
  std::vector<ManagerAnswer> answers;
  control::WakeEvent& wake;
};

// Deletes itself in OnDone, gRPC's last callback. A hold keeps OnDone away while the main loop may still start a write.
class ManagerLink::Stream final : public grpc::ClientBidiReactor<JobUp, JobDown> {
 public:
  Stream(std::shared_ptr<Shared> shared, std::uint64_t ticket, const std::string& endpoint)
      : shared_(std::move(shared)), ticket_(ticket), endpoint_(endpoint), channel_(control::make_channel(endpoint)),
        stub_(control::v1::Manager::NewStub(channel_)) {}

  void start(const control::v1::JobBegin& begin) {
    JobUp up;
    *up.mutable_begin() = begin;
    queue_.push_back(std::move(up));
    stub_->async()->Job(&context_, this);
    AddHold();
    held_ = true;
    writing_ = true;
    StartWrite(&queue_.front());
    StartRead(&down_);
    StartCall();
  }

  // Under the mutex:
  void send(JobUp up) {
    if (broken_) return;
    queue_.push_back(std::move(up));
    if (!writing_) write();
  }
  void cancel() { context_.TryCancel(); }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(shared_->mutex);
    writing_ = false;
    queue_.pop_front();
    if (!ok) broken_ = true;
    if (!broken_ && !queue_.empty()) write();
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(shared_->mutex);
    if (ok) {
      ManagerAnswer answer;
      answer.ticket = ticket_;
      answer.down.Swap(&down_);
      shared_->answers.push_back(std::move(answer));
      shared_->wake.set();
      StartRead(&down_);
      return;
    }
    broken_ = true;
    if (std::exchange(held_, false)) RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    {
      const std::lock_guard lock(shared_->mutex);
      ManagerAnswer answer;
      answer.ticket = ticket_;
      answer.over = true;
      answer.why = control::from_status(status);
      if (answer.why.code == Errc::lost)
        answer.why.context = fmt::format("no manager at {} ({}): start sharp_am, or mend sharpd's --manager", endpoint_,
                                         answer.why.context);
      shared_->answers.push_back(std::move(answer));
      shared_->streams.erase(ticket_);
      shared_->wake.set();
      // Under the lock: whoever waits for none_open may free the event right after.
      shared_->none_open.notify_all();
    }
    delete this;
  }

 private:
  void write() {
    writing_ = true;
    StartWrite(&queue_.front());
  }

  std::shared_ptr<Shared> shared_;
  std::uint64_t ticket_;
  std::string endpoint_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<control::v1::Manager::Stub> stub_;
  grpc::ClientContext context_;
  std::deque<JobUp> queue_;
  JobDown down_;
  bool writing_ = false, broken_ = false, held_ = false;
};

ManagerLink::ManagerLink(std::string endpoint, control::WakeEvent& wake)
    : endpoint_(std::move(endpoint)), shared_(std::make_shared<Shared>(wake)) {}

ManagerLink::~ManagerLink() {
  std::unique_lock lock(shared_->mutex);
  for (auto& [ticket, stream] : shared_->streams) stream->cancel();
  shared_->none_open.wait(lock, [&] { return shared_->streams.empty(); });
}

void ManagerLink::begin(std::uint64_t ticket, const control::v1::JobBegin& begin) {
  auto* stream = new Stream(shared_, ticket, endpoint_);
  const std::lock_guard lock(shared_->mutex);
  shared_->streams[ticket] = stream;
  stream->start(begin);
}

void ManagerLink::end(std::uint64_t ticket) {
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->streams.find(ticket);
  if (found == shared_->streams.end()) return;
  JobUp up;
  up.mutable_end();
  found->second->send(std::move(up));
}

void ManagerLink::cancel(std::uint64_t ticket) {
  const std::lock_guard lock(shared_->mutex);
  if (const auto found = shared_->streams.find(ticket); found != shared_->streams.end()) found->second->cancel();
}

std::vector<ManagerAnswer> ManagerLink::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answers, {});
}

std::size_t ManagerLink::open() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->streams.size();
}

}  // namespace sumac::hostd
