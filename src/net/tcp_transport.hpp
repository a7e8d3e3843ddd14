#pragma once
// The tcp backend: one epoll set and one thread, the caller's. A pass of progress() handles the reported connections
// one after another: it does the I/O of one and notes events, then delivers them. At the end it sends what the
// callbacks queued. So a callback may close any connection, because no code is using it at that moment. Between I/O and
// delivery, when all earlier messages are delivered, the pass asks for the memory of a large message that needs it.
#include <sys/epoll.h>

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "net/address.hpp"
#include "net/conn_table.hpp"
#include "net/tcp_connection.hpp"

namespace sumac::net {

inline constexpr Millis kAcceptRetry{100};  ///< The pause after running out of descriptors.
/// A stranger is not displaced for this long: a handshake takes one round trip, and on a crowded machine a few time
/// slices.
inline constexpr Millis kStrangerUndisturbed{100};
/// The longest time that a short message may lie unread while a long one is expected.
inline constexpr Millis kWakeAfter{5};

class TcpTransport final : public Transport {
 public:
  static Result<std::unique_ptr<Transport>> make(const TransportConfig& config, BufferPool& pool);

  std::string address() const override { return address_; }
  Result<ConnId> connect_by(std::string_view interface, std::string_view address) override;
  Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body) override;
  Errc send_in_row(ConnId conn, std::span<const std::byte> head, const Payload& body) override;
  void belongs_to(ConnId conn, std::uint64_t owner) override;
  void limit_held(ConnId conn, std::size_t bytes) override;
  std::size_t held(ConnId conn) const override;
  std::size_t unsent(ConnId conn) const override;
  void detach(ConnId conn) override;
  void close(ConnId conn, bool flush) override;
  std::size_t flushing() const override { return flushing_; }
  void cork() override { ++corked_; }
  void uncork() override;
  Errc watch(ConnId conn, Millis every, Millis silent_after) override;
  Duration silence(ConnId conn) const override;
  bool is_unanswered(ConnId conn) const override;
  void admit(ConnId conn) override;
  void estrange(ConnId conn) override;
  std::size_t progress(TransportEvents& events, std::size_t budget) override;
  int wake_fd() const override { return epoll_.get(); }
  bool arm() override;
  bool wait(Duration at_most) override;
  Time next_due() const override { return std::min(next_due_, wake_due_); }
  Errc add_reader(int fd, std::uint32_t token) override;
  void remove_reader(int fd) override;
  int descriptor(ConnId conn) const override;
  std::string local(ConnId conn) const override;
  std::string peer(ConnId conn) const override;
  const TransportStats& stats() const override { return stats_; }

 private:
  using Kind = EventQueue::Kind;

  TcpTransport(const TransportConfig& config, BufferPool& pool)
      : config_(config),
        limits_{config.handshake_timeout, config.linger, config.message_max},
        pool_(pool),
        table_(config.connections_max) {}
  Result<SocketAddress> published_for(const SocketAddress& any) const;
  Result<> open_listener();

  TcpConnection* find(ConnId conn) const { return table_.find(conn); }
  TcpConnection& add(PrivateFd fd, bool connector, tcp_life::State begin);
  Time handshake_deadline() const { return deadline_after(monotonic_now(), config_.handshake_timeout); }
  void drop(TcpConnection& conn);
  bool watch_fd(TcpConnection& conn, bool in, bool out, bool fresh = false);
  bool rewatch(TcpConnection& conn, bool in, bool out);
  void arm_output(TcpConnection& conn, bool on);

  std::size_t poll_sockets(TransportEvents& events, std::size_t budget);
  void order_by_turns(int count);
  void note_turns(int served);
  void leave_owner(const TcpConnection& conn);
  std::size_t deliver(TransportEvents& events, std::size_t budget);
  void on_socket(TcpConnection& conn, std::uint32_t what, TransportEvents& events);
  void accept_some();
  void stop_listening(Time until);
  void listen_again();
  Time room_for_stranger();
  TcpConnection* oldest_stranger(const TcpConnection* newcomer = nullptr);
  void count_stranger(TcpConnection& conn);
  void forget_stranger();
  void finish_connect(TcpConnection& conn);
  void receive(TcpConnection& conn, TransportEvents& events);
  std::span<std::byte> expected(TcpConnection& conn, TransportEvents& events, std::span<std::byte, kPlaceHead> head);
  bool mute(TcpConnection& conn);
  void take(TcpConnection& conn, Frame&& frame);
  bool settle(TcpConnection& conn, TcpConnection::Read read);
  bool resume(TcpConnection& conn);
  void resume_stalled();
  void choose_wakes(TransportEvents& events);
  std::size_t place_begun(TransportEvents& events, std::size_t budget);
  Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body, bool in_row);
  void end_rows();
  void write_failed(TcpConnection& conn);
  void flush(TcpConnection& conn);
  void flush_dirty();
  void mark_dirty(TcpConnection& conn);
  void step(TcpConnection& conn, const tcp_life::Event& event);
  template <tcp_input::Event event>
  void step(TcpConnection& conn);
  void perform(TcpConnection& conn, const tcp_life::Action& action);
  void fail_with(TcpConnection& conn, Error why);
  void end(TcpConnection& conn);

  void due_by(Time when) { next_due_ = std::min(next_due_, when); }
  void check_times(Time now);
  void beat(TcpConnection& conn, Duration passed);

  TransportConfig config_;
  tcp_life::Limits limits_;
  BufferPool& pool_;
  std::string address_;
  PrivateFd listener_;  ///< A child of fork() would keep the port open after its parent's end.
  ConnTable<TcpConnection> table_;
  EventQueue events_;
  std::size_t flushing_ = 0;
  std::vector<ConnId> dirty_, stalled_, asking_, following_;
  std::vector<ConnId> rows_;      ///< The connections whose kernel keeps a packet.
  std::deque<ConnId> strangers_;  ///< In the order of arrival; some have been admitted or are gone.
  std::size_t stranger_count_ = 0;
  std::array<epoll_event, 64> reports_;
  int reported_ = 0;  ///< The number of reports that wait() left for the next pass.
  struct Owner {
    std::size_t connections = 0;
    std::uint64_t served = 0;  ///< The number of the moment when the owner was last served, as in TcpConnection.
  };
  std::unordered_map<std::uint64_t, Owner> owners_{{0, {}}};  ///< The owner 0 stands for strangers and is always there.
  std::uint64_t turns_ = 0;
  bool is_crowded_ = false;  ///< The last pass could not handle everything that was ready.
  bool waits_exactly_ = true;
  unsigned corked_ = 0;
  /// Set when descriptors or connections for strangers ran out; it listens again when that is due.
  bool listener_paused_ = false;
  Time next_due_ = kNever, now_{};
  Time wake_due_ = kNever;  ///< The time at which connections stop waiting for a whole message.
  Beats beats_;
  TransportStats stats_;
  Landing landing_;
  PrivateFd epoll_;  ///< The last member, so that it closes first: then nothing has to be removed from it.
};

/// The event is a constant, so that little is left of a step.
template <tcp_input::Event event>
void TcpTransport::step(TcpConnection& conn) {
  const auto next = tcp_input::step(conn.input, event);
  conn.input = next.state;
  if (next.watch != tcp_input::Step::Watch::as_before)
    rewatch(conn, next.watch == tcp_input::Step::Watch::begin, conn.out_armed);
  if (next.failure != nullptr) fail_with(conn, {Errc::lost, next.failure});
  if (next.listed) (next.state == tcp_input::State::asking ? asking_ : stalled_).push_back(conn.id);
}

}  // namespace sumac::net
