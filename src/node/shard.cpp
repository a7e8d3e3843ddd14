#include "node/shard.hpp"

#include <sys/epoll.h>

#include <charconv>

#include "node/memory_bound.hpp"

namespace sumac::node {
namespace {

Result<> watch(const UniqueFd& epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

}  // namespace

Result<std::string> listen_address(const std::string& first, std::uint32_t k) {
  const auto colon = first.rfind(':');
  std::uint32_t port = 0;
  const char* end = first.data() + first.size();
  if (k == 0 || colon == std::string::npos) return first;
  if (const auto [at, error] = std::from_chars(first.data() + colon + 1, end, port); error != std::errc{} || at != end)
    return first;  // The port is not a number, which the transport will report.
  if (port == 0) return first;
  if (port + k > 65535)
    return fail(Errc::invalid, "tree {} of this node would listen at port {}: choose a lower port for --listen", k + 1,
                port + k);
  return fmt::format("{}:{}", first.substr(0, colon), port + k);
}

Result<std::unique_ptr<Shard>> Shard::start(const ShardConfig& config, control::WakeEvent& tell, Logger& log) {
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  if (auto watched = watch(epoll, wake->fd()); !watched) return tl::unexpected(watched.error());
  std::unique_ptr<Shard> shard(new Shard(config, *std::move(wake), std::move(epoll), tell, log));
  // Groups of a former process are found at its port.
  auto again = config.net;
  const std::uint16_t former = config.path.pins.empty() ? 0 : Datagrams::former_port(config.path.pins);
  if (former != 0 && again.listen.ends_with(":0"))
    again.listen = fmt::format("{}{}", again.listen.substr(0, again.listen.size() - 1), former);
  auto transport = net::make_transport(again, shard->pool_);
  if (!transport && again.listen != config.net.listen) transport = net::make_transport(config.net, shard->pool_);
  if (!transport) return tl::unexpected(transport.error());
  shard->address_ = (*transport)->address();
  shard->data_ = std::make_unique<DataPath>(config.path, *std::move(transport), shard->pool_, log);
  shard->thread_ = std::thread([raw = shard.get()] { raw->run(); });
  return shard;
}

Shard::Shard(const ShardConfig& config, control::WakeEvent wake, UniqueFd epoll, control::WakeEvent& tell, Logger& log)
    : pool_(config.memory_bytes, small_bytes(config.memory_bytes, config.net, config.path.limits)),
      waiter_(config.waiting),
      wake_(std::move(wake)),
      epoll_(std::move(epoll)),
      tell_(tell),
      log_(log) {}

Shard::~Shard() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake_.set();
  thread_.join();
}

void Shard::post(std::function<void(DataPath&)> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  // The thread that reads true takes the mutex next, which orders the rest.
  has_posted_.store(true, std::memory_order_release);
  wake_.set();
}

std::optional<ParentState> Shard::take_parent_change() {
  const std::lock_guard lock(mutex_);
  return std::exchange(parent_change_, std::nullopt);
}

std::vector<NeighbourState> Shard::take_neighbours() {
  const std::lock_guard lock(mutex_);
  return std::exchange(neighbours_, {});
}

std::vector<JobId> Shard::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

void Shard::work_off() {
  has_posted_.store(false, std::memory_order_relaxed);  // The mutex orders this store with the access to the list.
  std::vector<std::function<void(DataPath&)>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& work : posted) work(*data_);
}

void Shard::pass_on_news() {
  const auto ended = data_->take_ended();
  const auto neighbours = data_->take_neighbours();
  {
    const std::lock_guard lock(mutex_);
    if (auto change = data_->take_parent_change()) parent_change_ = std::move(change);
    ended_.insert(ended_.end(), ended.begin(), ended.end());
    neighbours_.insert(neighbours_.end(), neighbours.begin(), neighbours.end());
  }
  tell_.set();
}

void Shard::run() {
  bool takes_data = false, complained = false;
  std::uint64_t slept = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    if (waiter_.sleeps() != slept) {
      // Cleared before the look at the flag: a poster sets the flag first and the event second, so the look below sees
      // any work whose wake-up is cleared here.
      slept = waiter_.sleeps();
      wake_.clear();
    }
    if (has_posted_.load(std::memory_order_acquire)) work_off();
    // Until the node has its identity, it reads nothing from its sockets: children that come early wait in the backlog.
    if (data_->identified() && !takes_data) {
      const auto watched = watch(epoll_, data_->transport().wake_fd());
      takes_data = watched.has_value();
      if (!takes_data && !std::exchange(complained, true))  // The loop tries it again in each pass.
        SUMAC_ERROR(log_, "{} takes no data: {}", address_, watched.error().context);
    }
    const std::size_t events = data_->progress(monotonic_now());
    if (data_->has_news()) pass_on_news();
    const bool busy = events > 0 || (takes_data && !data_->transport().arm());
    waiter_.wait(busy ? 1 : 0, epoll_.get(), data_->next_due());
  }
}

}  // namespace sumac::node
