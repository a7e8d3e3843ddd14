#pragma once
// The ucx backend: active messages over worker addresses. It uses no UCX listener (whose tcp port aborts the process on
// malformed frames): addresses travel in our authenticated control messages, and a connector sends its own address
// first.
//
// tcp survives hostile bytes on its data port; UCX does not, so use ucx only in a trusted fabric. UCX takes no memory back
// before its own completion. So borrowed bodies are copied, but not the long ones of a user that places messages
// (TransportConfig::place_from): its peer has announced memory for them, so detach() and close() wait for it a while.
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "net/conn_table.hpp"
#include "net/heartbeat.hpp"
#include "net/ucx_frame.hpp"
#include "net/ucx_functions.h"

namespace sumac::net {

namespace detail {
extern std::atomic<const sumac_ucx_functions*> ucx_functions;
}
/// UCX, since make_ucx_transport() has loaded it.
inline const sumac_ucx_functions& ucx() noexcept { return *detail::ucx_functions.load(std::memory_order_acquire); }

struct UcxContextDelete {
  void operator()(ucp_context_h context) const noexcept { ucx().ucp_cleanup(context); }
};
struct UcxWorkerDelete {
  void operator()(ucp_worker_h worker) const noexcept { ucx().ucp_worker_destroy(worker); }
};
using UcxContext = std::unique_ptr<std::remove_pointer_t<ucp_context_h>, UcxContextDelete>;
using UcxWorker = std::unique_ptr<std::remove_pointer_t<ucp_worker_h>, UcxWorkerDelete>;

class UcxTransport;

/// One message that is being sent; UCX reads from it until completion.
struct UcxSend {
  UcxTransport* transport = nullptr;
  ConnId conn;
  std::array<std::byte, sizeof(UcxHeader) + 256> header;
  std::size_t header_bytes = 0;
  Payload body;
  std::vector<std::byte> copy;  ///< A copy of a borrowed body.
  std::size_t bytes = 0;
  bool is_lent = false;                   ///< The body is its owner's memory.
  std::optional<std::uint32_t> sequence;  ///< Set if unsent() counts this message.
  UcxHeader& front() noexcept { return *reinterpret_cast<UcxHeader*>(header.data()); }
};

/// One message that is being received: stored by sequence number, delivered in order.
struct UcxArrival {
  /// `offered`: UCX holds its body until all earlier messages are delivered and the user has named memory for it.
  enum class State : std::uint8_t { missing, offered, receiving, complete, bye } state = State::missing;
  bool is_placed = false;
  BufferRef frame;       ///< It has only the head of an offered or placed message.
  void* data = nullptr;  ///< UCX's descriptor of an offered body.
  std::size_t body_bytes = 0;
};

/// Data that UCX holds for us because the pool had no buffer.
struct UcxHeld {
  ConnId conn;
  std::uint32_t sequence = 0;
  std::vector<std::byte> head;
  void* data = nullptr;  ///< UCX's descriptor; if null, the data is in `copy`.
  bool rendezvous = false;
  std::size_t body_bytes = 0;
  std::vector<std::byte> copy;
};

struct UcxConnection {
  explicit UcxConnection(ConnId conn) : id(conn) {}
  bool is_disowned() const noexcept { return disowned; }
  Error take_why() { return std::move(why); }

  ConnId id;
  ucp_ep_h endpoint = nullptr;
  bool is_connector = false, open = false, dead = false, disowned = false, bye_sent = false, tell_writable = false;
  std::uint32_t peer_id = 0;
  std::uint64_t our_key = 0, peer_key = 0;
  std::uint32_t next_out = 0, next_in = 0;
  std::uint32_t peer_message_max = 0;
  std::deque<UcxArrival> arrivals;               ///< arrivals[i] has the sequence number next_in + i.
  std::deque<std::unique_ptr<UcxSend>> waiting;  ///< Messages sent before the peer's welcome arrived.
  std::size_t out_bytes = 0, out_count = 0;      ///< The messages that wait or that UCX has not finished.
  std::size_t held_max = SIZE_MAX;
  std::size_t held_bytes = 0;
  /// The messages from number `first_unsent` on: their bytes, and whether UCX has finished them.
  std::deque<std::pair<std::size_t, bool>> unsent;
  std::uint32_t first_unsent = 0;
  std::size_t unsent_bytes = 0;
  std::size_t lent = 0;            ///< Messages that UCX sends from, or receives in, memory of our user.
  std::span<std::byte> placing{};  ///< The memory of the last placed message.
  Time deadline = kNever;
  Heartbeat heartbeat;
  std::string peer_name;
  Error why;
};

/// A hello that arrived while UCX was in a callback, where no endpoint may be made.
struct UcxHello {
  UcxHeader header;
  UcxGreeting greeting;
  std::vector<std::byte> address;
};

class UcxTransport final : public Transport {
 public:
  static Result<std::unique_ptr<Transport>> make(const TransportConfig& config, BufferPool& pool);
  ~UcxTransport() override;

  std::string address() const override { return address_; }
  Result<ConnId> connect_by(std::string_view interface, std::string_view address) override;
  Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body) override;
  void limit_held(ConnId conn, std::size_t bytes) override;
  std::size_t held(ConnId conn) const override;
  std::size_t unsent(ConnId conn) const override;
  void detach(ConnId conn) override;
  void close(ConnId conn, bool flush) override;
  std::size_t flushing() const override { return flushing_ + to_close_.size() + closing_.size(); }
  void cork() override {}  // UCX decides by itself whether it gathers messages.
  void uncork() override {}
  Errc watch(ConnId conn, Millis every, Millis silent_after) override;
  Duration silence(ConnId conn) const override;
  void admit(ConnId conn) override;
  std::size_t progress(TransportEvents& events, std::size_t budget) override;
  int wake_fd() const override { return wake_fd_; }
  bool arm() override;
  bool wait(Duration at_most) override;
  Time next_due() const override { return next_due_; }
  std::string peer(ConnId conn) const override;
  const TransportStats& stats() const override { return stats_; }

 private:
  using Kind = EventQueue::Kind;
  /// An endpoint that is being closed: it is flushed if its last message matters, then closed by force. (UCX 1.13's own
  /// closing flush fails an assertion when the peer closes by force at the same time.)
  struct Closing {
    ucp_ep_h endpoint;
    void *flush, *close;  ///< The requests in progress.
    Time deadline;        ///< The time limit of the flush.
  };
  struct ToClose {
    ucp_ep_h endpoint;
    bool flush;
  };

  UcxTransport(const TransportConfig& config, BufferPool& pool)
      : config_(config), pool_(pool), table_(config.connections_max) {}
  Result<> open();
  Result<> open_worker(const ucp_config_t* config);
  Result<> publish();

  Result<ucp_ep_h> make_endpoint(UcxConnection& conn, std::span<const std::byte> address);
  UcxConnection& add(bool connector);
  void drop(UcxConnection& conn);
  void end(UcxConnection& conn, Errc code, std::string text, bool flush = false);
  void give_up_endpoint(UcxConnection& conn, bool flush);
  void close_endpoints();
  static void* force_close(ucp_ep_h endpoint);
  bool closed(Closing& closing);
  void take_failures();
  bool is_stranger(const UcxConnection& conn) const noexcept;
  void make_room_for_stranger();
  void say_bye(UcxConnection& conn);
  Errc say(UcxConnection& conn, UcxKind kind);
  void answer_pings();
  void beat(UcxConnection& conn, Duration passed);

  std::unique_ptr<UcxSend> take_send();
  Errc post(UcxConnection& conn, std::unique_ptr<UcxSend> send);
  void sent(std::unique_ptr<UcxSend> send, ucs_status_t status);
  std::unique_ptr<UcxSend> greeting(UcxConnection& conn, UcxKind kind, std::span<const std::byte> address);

  ucs_status_t arrived(std::span<const std::byte> header, void* data, std::size_t length, std::uint64_t attributes);
  ucs_status_t arrived_data(UcxConnection& conn, const UcxHeader& header, std::span<const std::byte> head, void* data,
                            std::size_t length, std::uint64_t attributes);
  void answer_hello(const UcxHello& hello);
  void take_welcome(UcxConnection& conn, const UcxHeader& header, const UcxGreeting& greeting);
  BufferRef make_frame(std::span<const std::byte> head, std::size_t body_bytes);
  void fetch(UcxConnection& conn, std::uint32_t sequence, BufferRef frame, std::size_t offset, void* data);
  bool hold(UcxConnection& conn, UcxHeld held);
  bool place(UcxConnection& conn, UcxHeld& held);
  UcxArrival* arrival(UcxConnection& conn, std::uint32_t sequence);
  void hand_over(UcxConnection& conn);
  void retry_held();
  void release(UcxHeld& held);

  // ---- ucx_placing.cpp: messages that go from and to the memory of our user
  bool lends(const UcxConnection& conn, const Payload& body, std::size_t bytes) const noexcept;
  void count_sent(UcxConnection& conn, std::uint32_t sequence);
  std::optional<ucs_status_t> arrived_long(UcxConnection& conn, std::uint32_t sequence, UcxArrival& at,
                                           std::span<const std::byte> head, void* data, std::size_t length,
                                           bool rendezvous);
  bool place_offered(TransportEvents& events);
  void forget_offered(UcxConnection& conn);
  void give_back(UcxConnection& conn);
  void take_back(UcxConnection& conn);

  void due_by(Time when) { next_due_ = std::min(next_due_, when); }
  void check_times(Time now);

  static ucs_status_t on_am(void* self, const void* header, size_t header_length, void* data, size_t length,
                            const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* user);
  static void on_received(void* request, ucs_status_t status, size_t length, void* user);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);

  struct Receiving {  ///< A rendezvous in progress: UCX writes into the frame even after the connection has ended.
    UcxTransport* transport;
    ConnId conn;
    std::uint32_t sequence;
    BufferRef frame;
    bool is_placed = false;  ///< It writes into our user's memory; the frame has only the head.
  };
  void fetch(Receiving receiving, std::span<std::byte> to, void* data);
  void received(UcxConnection& conn, Receiving& done, ucs_status_t status);

  TransportConfig config_;
  BufferPool& pool_;
  std::string address_, name_;
  std::vector<std::byte> worker_address_;
  std::string device_;
  ConnTable<UcxConnection> table_;
  EventQueue events_;
  std::vector<UcxHello> hellos_;
  std::vector<std::pair<ucp_ep_h, ucs_status_t>> failed_;
  std::vector<ConnId> pinged_;  ///< They are answered when UCX is in no callback.
  Beats beats_;
  bool drained_ = false;  ///< The last pass took everything that UCX had.
  std::deque<UcxHeld> held_;
  TransportEvents* receiver_ = nullptr;  ///< Asked for memory while UCX hands out what has arrived.
  std::vector<ConnId> offered_;          ///< One entry for each arrival in state `offered`.
  std::vector<std::unique_ptr<UcxSend>> idle_sends_;
  std::vector<ToClose> to_close_;  ///< UCX may be in a callback, so endpoints are closed after its return.
  std::vector<Closing> closing_;   ///< Endpoints that are being closed.
  std::size_t flushing_ = 0, in_flight_ = 0;
  Time next_due_ = kNever;
  TransportStats stats_;
  std::mt19937_64 random_;
  int wake_fd_ = -1;
  UcxContext context_;
  UcxWorker worker_;  ///< Must be destroyed before its context.
};

}  // namespace sumac::net
