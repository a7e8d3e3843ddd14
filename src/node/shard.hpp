#pragma once
// A node in one tree: a data path with an address and a thread of its own. Shards share nothing but the log, so a
// message meets no lock and no other thread. The control link posts its requests to the shard's thread and waits for
// the result. It does so when a job or a grant begins or ends, never for a message.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "control/signals.hpp"
#include "net/waiter.hpp"
#include "node/data_path.hpp"

namespace sumac::node {

struct ShardConfig {
  net::TransportConfig net;
  DataPathConfig path;
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< The limit of this shard's message buffers.
  WaitLimits waiting = waits::kMessage;
};

class Shard {
 public:
  /// Starts to listen; data is read as soon as the data path has its identity. `tell` is set when one of the
  /// functions take_... has something to return.
  static Result<std::unique_ptr<Shard>> start(const ShardConfig& config, control::WakeEvent& tell, Logger& log);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  const std::string& address() const noexcept { return address_; }
  std::optional<ParentState> take_parent_change();
  std::vector<NeighbourState> take_neighbours();
  /// Returns the revoked jobs of which this tree holds nothing any more, since the last call.
  std::vector<JobId> take_ended();

  /// Runs `work(DataPath&)` on the shard's thread and returns its result.
  template <class Work>
  auto call(Work work) {
    using Task = std::packaged_task<std::invoke_result_t<Work&, DataPath&>(DataPath&)>;
    auto task = std::make_shared<Task>(std::move(work));
    auto result = task->get_future();
    post([task](DataPath& data) { (*task)(data); });
    return result.get();
  }

 private:
  Shard(const ShardConfig& config, control::WakeEvent wake, UniqueFd epoll, control::WakeEvent& tell, Logger& log);
  void post(std::function<void(DataPath&)> work);
  void run();
  void work_off();
  void pass_on_news();

  BufferPool pool_;
  std::unique_ptr<DataPath> data_;  ///< The data path; only the shard's thread uses it, once that runs.
  net::Waiter waiter_;
  control::WakeEvent wake_;
  UniqueFd epoll_;
  control::WakeEvent& tell_;
  Logger& log_;
  std::string address_;

  std::mutex mutex_;
  std::vector<std::function<void(DataPath&)>> posted_;
  std::optional<ParentState> parent_change_;
  std::vector<JobId> ended_;
  std::vector<NeighbourState> neighbours_;
  std::atomic<bool> has_posted_ = false, stopping_ = false;
  std::thread thread_;  // The last member, because the thread uses the members before it.
};

/// Returns the address of the k-th listener of a process: the port is the first one's plus k. Port 0 stays 0.
Result<std::string> listen_address(const std::string& first, std::uint32_t k);

}  // namespace sumac::node
