#pragma once
// One job in one process: the session with sharpd, a connection to the leaf node of each tree, and the communicators on
// them. It is the shell around src/proto: it carries bytes between the transport and the engines, and completes
// requests of the C interface when operations end.
//
// Calls of the C interface take the lock (if the caller asked for thread support) around each step, but never around
// the caller's own functions, because out-of-band calls and progress_func may call the library again.
#include <sharp/api/sharp_coll.h>
#include <sharp/api/sumac_ext.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "client/fork_guard.hpp"
#include "client/job.hpp"
#include "client/light_mutex.hpp"
#include "client/patience.hpp"
#include "client/requests.hpp"
#include "client/tree/link.hpp"
#include "multicast/listeners.hpp"
#include "net/transport.hpp"
#include "net/waiter.hpp"
#include "proto/client_link.hpp"
#include "recorder/recorder.hpp"

namespace sumac::client {

class Comm;
class Recovery;

class Context final : private net::TransportEvents, public proto::Outbox {
 public:
  /// Collective over the job; see sharp_coll_init().
  static Outcome<std::unique_ptr<Context>> make(const sharp_coll_init_spec& spec);
  ~Context();

  /// Ends the job (rank 0) and logs the counts if asked to. It is the last call before the destructor.
  void finalize();

  bool is_mine() const noexcept { return same_process(mark_); }
  const Job& job() const { return job_; }
  const Logger& log() const { return log_; }
  const ClientConfig& config() const { return config_; }
  WorldRank world_rank() const { return world_rank_; }
  int coll_timeout_ms() const { return coll_timeout_ms_; }
  std::string stats_text() const;
  const sharp_coll_out_of_band_colls& oob_colls() const { return oob_colls_; }
  bool has_oob() const { return oob_colls_.bcast != nullptr && oob_colls_.gather != nullptr; }
  std::unique_lock<LightMutex> lock() { return lock_if(is_threaded_); }

  /// Polls for the caller (sharp_coll_progress, a test of a request); called without the lock. Callers poll in a loop
  /// of their own, so it yields the core after some polls in vain: the process they wait for may need it.
  void look();
  /// Waits until this process has the job's trees of this generation or a later one, and its nodes take what it sends.
  void await_trees(std::uint32_t generation, const Patience& patience);

  // Called with the lock held.
  void progress();
  /// The job, which has lost its trees, has others: groups on the earlier ones are lost.
  void take_trees(Grant grant, std::uint32_t generation);
  /// A group is without a tree since then, although the job has trees: the manager may know of nothing that is wrong with them.
  void want_trees(Time since, Time now);
  void has_returned() noexcept;
  std::uint32_t generation() const noexcept { return generation_; }  ///< It counts the job's trees from 0.
  Recovery* recovery() const { return recovery_.get(); }             ///< Null: communicators end with their trees.
  recorder::Ways& ways() noexcept { return ways_; }                  ///< It counts where there is recovery.
  std::span<Comm* const> comms() const { return comms_; }
  net::Transport& transport() { return *transport_; }
  Session& session() { return *session_; }
  std::vector<std::unique_ptr<TreeLink>>& links() { return links_; }  ///< Indexed as Job::trees.
  /// For messages to users: the port of the list that this process uses for a tree, or the tree's number if it named no
  /// port.
  std::uint32_t rail_of(std::size_t tree) const;
  std::uint64_t next_token() { return std::uint64_t{number_of(world_rank_)} << 32 | ++tokens_; }
  /// True for the first communicator without a group: thousands may follow, and one line is enough.
  bool first_without_group() noexcept { return !std::exchange(without_group_, true); }
  /// The same for one that is made while the job has lost its trees, once for each loss.
  bool first_without_tree() noexcept { return std::exchange(without_tree_, generation_ + 1) != generation_ + 1; }
  /// False once an offer could not open a group, or the group that it had opened was of no use (tree/offer.hpp).
  bool opens_early() const noexcept { return opens_early_; }
  void open_no_more_early() noexcept { opens_early_ = false; }
  Request* take_request() { return requests_.take(); }
  /// The caller has finished with the request: it returns to the pool, now or when the operation is over.
  void drop_request(Request& request) noexcept;
  /// The operation is over. `status` is 0 if it completed.
  void finish(Request& request, int status, const std::shared_ptr<const std::string>& why) noexcept;
  void add(Comm& comm) { comms_.push_back(&comm); }
  void remove(Comm& comm) noexcept;
  /// Makes progress() look at this communicator each time, because some of its operations may complete.
  void watch(Comm& comm);
  /// Keeps a communicator whose members did not all come in time, until they come or the job ends.
  void abandon(std::unique_ptr<Comm> comm);
  /// Called without the lock: frees kept communicators that all members have left meanwhile.
  void free_departed();
  /// Says that something moves without a descriptor (copies from a GPU), so that waiting calls poll again soon.
  void busy() noexcept {
    ++events_;
    is_busy_ = true;
  }
  /// Afterwards no queued message reads the user's buffers, and no message under way writes to them.
  void forget_borrowed() {
    for (const auto& link : links_) transport_->detach(link->conn());
  }
  /// Between the two calls messages are gathered: fewer system calls for an operation of many fragments.
  void cork() { transport_->cork(); }
  void uncork() { transport_->uncork(); }
  /// Lets go what send_later() holds back.
  void send_held() {
    if (std::exchange(held_back_, 0) > 0) transport_->uncork();
  }
  /// Called without the lock: sleeps at most so long while nothing can have happened to `requests`. Returns false if
  /// all are still pending.
  bool sleep(std::span<const Request* const> requests, Duration at_most);
  // The next two are called with the lock held: see sumac_coll_arm() and sumac_coll_set_bell().
  bool arm();
  void set_bell(int event_fd) noexcept { bell_ = {.fd = event_fd}; }
  /// See sumac_coll_enable_threads(). Called without the lock.
  int enable_threads() noexcept {
    // With several threads none of them writes these.
    if (!is_threaded_) is_threaded_ = true;
    if (is_threaded_by_recovery_) is_threaded_by_recovery_ = false;
    return SHARP_COLL_SUCCESS;
  }
  int wake_fd() const { return transport_->wake_fd(); }
  Time datagrams_due() const;  ///< When some datagram must be sent again.
  void fill(sumac_coll_stats& stats) const;
  multicast::Listeners& listeners() { return *listeners_; }
  void count_datagrams(std::uint64_t operations) noexcept { datagrams_ += operations; }

  // proto::Outbox, for the engines.
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override;
  void send_in_row(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override;
  void send_later(proto::LinkId to, const wire::AggHeader& header, std::uint32_t most) override;
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override;
  void drop(proto::LinkId link, const Error& why) override;
  proto::Multicast* multicast() override { return listeners_.get(); }
  void send_datagram(proto::LinkId to, std::span<const std::byte> frame) override;
  void await_datagrams(bool is_over) override;
  void datagrams_fail(GroupId group_id) override;

  /// Called without the lock: makes progress until `done` (called with the lock) returns true. Returns false if
  /// `deadline` passed.
  template <class Done>
  bool wait_until(Done&& done, Time deadline = kNever);
  /// The same for a step of start-up.
  template <class Done>
  bool wait_until(Done&& done, const Patience& patience);

 private:
  Context(const sharp_coll_init_spec& spec, ClientConfig config, LogLevel level);
  std::unique_lock<LightMutex> lock_if(bool needed) {
    return needed ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  /// Several threads of the program may call.
  bool has_callers() const noexcept { return is_threaded_ && !is_threaded_by_recovery_; }
  /// While this one call waits nobody else touches the transport, so that the transport may sleep for it (Recovery::work()).
  bool sleeps_alone() const noexcept;
  Outcome<> draw_tokens();
  Outcome<> find_devices(const char* program, const std::string& host);
  Outcome<> attach(Session*& session);
  Outcome<> connect();
  Outcome<> begin_recovery();
  bool is_armed();
  void tick_datagrams();
  template <class Do>
  void each_with_datagrams(Do what) const;
  void set_datagram_timer();
  bool receive_datagrams(std::uint32_t token);
  std::uint64_t datagrams() const;
  Time next_due() const;
  void announce_trees() const;
  void watch_new_link();
  void drain();
  void ring_bell() noexcept;
  // net::TransportEvents.
  void on_accepted(net::ConnId) override {}
  void on_connected(net::ConnId conn) override { link_of(conn).on_connected(); }
  void on_message(net::ConnId conn, BufferRef frame) override;
  std::span<std::byte> on_head(net::ConnId conn, proto::ClientLink::Head head, std::size_t bytes) override {
    return link_of(conn).engine().place(head, bytes - head.size());
  }
  std::span<std::byte> on_expect(net::ConnId conn, std::span<std::byte, wire::kAggHeaderBytes> head) override {
    return link_of(conn).engine().expect(head);
  }
  void on_placed(net::ConnId conn, BufferRef head) override;
  void on_closed(net::ConnId conn, const Error& why) override;
  void on_writable(net::ConnId) override {}
  void on_readable(std::uint32_t token) override;
  TreeLink& link_of(net::ConnId conn) noexcept;
  void queue(proto::LinkId to, std::span<const std::byte> head, const Payload& data, bool in_row = false);

  /// The waiting of one blocking call. Each has a Waiter of its own while it waits, because several threads may wait at
  /// once and a Waiter learns from its own thread.
  class CallWait {
   public:
    explicit CallWait(Context& context);
    ~CallWait();
    /// Called after a poll, without the lock: spins, yields or sleeps, and drives the caller's communication.
    void rest(std::size_t events, Time deadline);

   private:
    Context& context_;
    std::unique_ptr<net::Waiter> waiter_;
    Rhythm drives_;
    int polls_ = 0;
  };

  WaitLimits waiter_limits() const;

  const unsigned long mark_;
  Logger log_;
  ClientConfig config_;
  const WorldRank world_rank_;
  const int world_size_, local_rank_;
  const std::uint32_t channel_;
  const int coll_timeout_ms_, polls_per_user_progress_;
  int (*const user_progress_)(void);
  const sharp_coll_out_of_band_colls oob_colls_;
  const Oob world_oob_;
  bool is_threaded_;                      ///< Never changes once a second thread uses the context.
  bool is_threaded_by_recovery_ = false;  ///< The second thread is recovery's alone.
  LightMutex mutex_;
  std::unique_ptr<Session> session_;
  DeviceList devices_;
  std::vector<TreePort> ports_;  ///< Indexed as Job::trees.
  Job job_;
  BufferPool pool_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<multicast::Listeners> listeners_;
  std::vector<std::unique_ptr<TreeLink>> links_;  ///< Indexed as Job::trees.
  /// A tree that the job has no more, and the connection to it. Groups may still refer to them.
  struct Former {
    std::unique_ptr<JobTree> tree;
    std::unique_ptr<TreeLink> link;  ///< Null: there was no way to the next tree, so the connection is still in links_.
  };
  std::vector<Former> former_;
  std::uint32_t generation_ = 0;
  bool is_link_new_ = false;  ///< The connection to the new tree is not watched yet.
  static constexpr Millis kWantPause{4000};
  Millis want_pause_ = kWantPause;
  Time want_from_{};  ///< The manager is not asked for other trees before.
  bool has_sent_datagrams_ = false;
  std::uint64_t datagrams_ = 0;  ///< Operations of communicators that are gone.
  UniqueFd datagram_timer_;      ///< Whoever sleeps on wake_fd() wakes up when datagrams must be sent again.
  struct Broken {
    net::ConnId conn;
    Error why;
  };
  std::vector<Broken> broken_;  ///< Connections on which sending failed for good; the next progress tells the engine.
  std::size_t events_ = 0;      ///< The number of events in the last progress.
  bool is_busy_ = false;        ///< busy() was called in the last progress.
  struct {
    int fd = -1;             ///< The eventfd of the thread that sleeps on wake_fd(), or -1.
    bool is_wanted = false;  ///< That thread sleeps, or is about to.
    bool has_ended = false;  ///< An operation has ended since the last arm().
  } bell_;
  std::uint32_t tokens_ = 0;
  bool without_group_ = false;
  std::uint32_t without_tree_ = 0;  ///< It was said of the trees of this generation, counted from 1.
  bool opens_early_ = true;
  std::unique_ptr<Recovery> recovery_;
  recorder::Ways ways_;
  std::uint32_t held_back_ = 0;  ///< Messages that wait for another one; while there are some, the transport is corked.
  std::uint64_t sleeps_ = 0;
  CallerPolicy caller_looks_;                          ///< Decides which calls of look() do look.
  std::vector<std::unique_ptr<net::Waiter>> waiters_;  ///< The waiters that no call uses at the moment.
  RequestPool requests_;
  std::vector<Comm*> comms_, watched_;
  std::vector<std::unique_ptr<Comm>> abandoned_;
  sumac_coll_counts counts_[SUMAC_STATS_KINDS] = {};

 public:
  sumac_coll_counts& counts(std::size_t kind) { return counts_[kind]; }
};

template <class Done>
bool Context::wait_until(Done&& done, Time deadline) {
  CallWait waiting(*this);
  for (;;) {
    std::size_t events = 0;
    {
      auto guard = lock();
      progress();
      if (done()) return true;
      events = events_;
    }
    if (deadline != kNever && monotonic_now() >= deadline) return false;
    waiting.rest(events, deadline);
  }
}

template <class Done>
bool Context::wait_until(Done&& done, const Patience& patience) {
  for (;;) {
    if (wait_until(done, patience.next_look())) return true;
    if (patience.is_over()) return false;
  }
}

}  // namespace sumac::client
