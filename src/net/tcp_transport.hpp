#pragma once
// The tcp backend: one epoll set, one thread (the caller's), no surprise. A pass of progress() takes the connections that epoll
// reports in turn: it does the I/O of one and notes what happened as events, then delivers these. At the end it sends what the
// callbacks queued. So a callback may close any connection: nothing is in the middle of using it. A large message that asks where it
// belongs is asked about between the two, when all before it is told.
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

inline constexpr Millis kAcceptRetry{100};  ///< After running out of descriptors.
/// For so long nobody takes a stranger's place: a handshake takes one round trip, and on a crowded machine a few turns of the scheduler.
inline constexpr Millis kStrangerUndisturbed{100};
/// How long something short may lie unread while something long is expected.
inline constexpr Millis kWakeAfter{5};

class TcpTransport final : public Transport {
 public:
  static Result<std::unique_ptr<Transport>> make(const TransportConfig& config, BufferPool& pool);

  std::string address() const override { return address_; }
  Result<ConnId> connect_by(std::string_view interface, std::string_view address) override;
  Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body) override;
  void belongs_to(ConnId conn, std::uint64_t owner) override;
  void limit_held(ConnId conn, std::size_t bytes) override;
  std::size_t held(ConnId conn) const override;
  void detach(ConnId conn) override;
  void close(ConnId conn, bool flush) override;
  std::size_t flushing() const override { return flushing_; }
  void cork() override { ++corked_; }
  void uncork() override;
  Errc watch(ConnId conn, Millis every, Millis silent_after) override;
  void admit(ConnId conn) override;
  void estrange(ConnId conn) override;
  std::size_t progress(TransportEvents& events, std::size_t budget) override;
  int wake_fd() const override { return epoll_.get(); }
  bool arm() override;
  bool wait(Duration at_most) override;
  Time next_due() const override { return std::min(next_due_, wake_due_); }
  Errc add_reader(int fd, std::uint32_t token) override;
  void remove_reader(int fd) override;
  std::string local(ConnId conn) const override;
  std::string peer(ConnId conn) const override;
  const TransportStats& stats() const override { return stats_; }

 private:
  using Kind = EventQueue::Kind;

  TcpTransport(const TransportConfig& config, BufferPool& pool)
      : config_(config), pool_(pool), table_(config.connections_max) {}
  Result<> open_listener();

  TcpConnection* find(ConnId conn) const { return table_.find(conn); }
  TcpConnection& add(PrivateFd fd, bool connector);
  void drop(TcpConnection& conn);
  bool watch_fd(TcpConnection& conn, bool in, bool out, bool fresh = false);
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
  TcpConnection* oldest_stranger();
  void take_in_stranger(TcpConnection& conn);
  void count_stranger(TcpConnection& conn);
  void forget_stranger(TcpConnection& conn);
  void finish_connect(TcpConnection& conn);
  void receive(TcpConnection& conn, TransportEvents& events);
  void asks(TcpConnection& conn);
  std::span<std::byte> expected(TcpConnection& conn, TransportEvents& events, std::span<std::byte, kPlaceHead> head);
  bool mute(TcpConnection& conn);
  void take(TcpConnection& conn, Frame&& frame);
  bool settle(TcpConnection& conn, TcpConnection::Read read);
  void resume_stalled();
  void choose_wakes(TransportEvents& events);
  std::size_t place_begun(TransportEvents& events, std::size_t budget);
  void flush(TcpConnection& conn);
  void shut(TcpConnection& conn);
  void flush_dirty();
  void mark_dirty(TcpConnection& conn);
  void ended(TcpConnection& conn);

  void due_by(Time when) { next_due_ = std::min(next_due_, when); }
  void check_times(Time now);
  void beat(TcpConnection& conn, Duration passed);

  TransportConfig config_;
  BufferPool& pool_;
  std::string address_;
  UniqueFd listener_;
  ConnTable<TcpConnection> table_;
  EventQueue events_;
  std::size_t flushing_ = 0;
  std::vector<ConnId> dirty_, stalled_, asking_, following_;
  std::deque<ConnId> strangers_;  ///< In the order in which they came; some have been admitted or are gone.
  std::size_t stranger_count_ = 0;
  std::array<epoll_event, 64> reports_;
  int reported_ = 0;  ///< By wait(), for the next pass.
  struct Owner {
    std::size_t connections = 0;
    std::uint64_t served = 0;  ///< As of a connection.
  };
  std::unordered_map<std::uint64_t, Owner> owners_{{0, {}}};  ///< Strangers are always there.
  std::uint64_t turns_ = 0;
  bool is_crowded_ = false;  ///< The last pass could not take all that was ready.
  bool waits_exactly_ = true;
  unsigned corked_ = 0;
  bool listener_paused_ = false;  ///< Out of descriptors, or of places for strangers: tried again when next due.
  Time next_due_ = kNever, now_{};
  Time wake_due_ = kNever;  ///< Of those that wait for a whole message.
  Beats beats_;
  TransportStats stats_;
  Landing landing_;
  PrivateFd epoll_;  ///< Last, so that it closes first: nothing has to be taken out of it.
};

}  // namespace sumac::net
