#pragma once
// A group of processes that run collectives among themselves without a tree: one per host in a team, or all processes
// of a program. Each is connected to each other over net::Transport; every connection is proven with the group's key.
//
//   GroupConfig config{.rank = rank, .size = size, .exchange = through_the_store};
//   auto group = Group::make(std::move(config));         // blocks; every member calls it
//   void* request = nullptr;
//   auto progress = (*group)->start(operation, request);  // a coll::Operation, as coll::Across has it
//   if (progress == Group::Progress::pending) progress = (*group)->wait(request);
//
// There is no thread: messages move while a member is inside start(), test(), sleep(), wait() or move(). One thread at a
// time may call.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "net/waiter.hpp"
#include "p2p/engine.hpp"
#include "p2p/members.hpp"
#include "wire/agg.hpp"

namespace sumac::p2p {

struct GroupConfig {
  std::uint32_t rank = 0, size = 1;
  /// Collects one blob of each member, all of them as long as `mine`, in the order of ranks. It blocks until every
  /// member has called it, and must be trusted: the group's key travels in it. It is called once, in make().
  std::function<Result<std::vector<std::byte>>(std::span<const std::byte> mine)> exchange;
  /// `backend`, `listen` (empty: any free port) and `device` are used; the sizes and limits are set by the group.
  net::TransportConfig transport{};
  /// Floating-point sums have the same bits as on the aggregation tree, for any algorithm (SUMAC_REPRODUCIBLE). Rank 0
  /// decides.
  bool reproducible = false;
  Millis connect_within{30'000};  ///< The longest time until all members are connected.
  /// Called now and then while make() waits for the others; an error ends make() with it. Null: nothing else ends it.
  std::function<Result<>()> check{};
  /// A member from which nothing was received for so long is lost, even if its connection stands. It must be longer
  /// than a member ever computes without calling the group: such a member answers nobody. A host that is gone is
  /// noticed in 20 s all the same.
  Millis silent_after{600'000};
  std::string host_name{};  ///< For messages to people; empty: the system's.
  /// The members' names in messages, in the order of ranks, if people know them by other ranks than the group's. Empty:
  /// "rank 1 (host n2)".
  std::vector<std::string> names{};
  /// The user of messages, which outlives the group. Null: the group carries none.
  MessageEvents* messages = nullptr;
};

/// The error of a group says this of a member that gave up.
inline constexpr std::string_view kGaveUp = "has given up an operation";

/// make() asks so often whether it is to end.
inline constexpr Duration kCheckEvery = Millis{100};

class Group final : public coll::Across, private net::TransportEvents, private Carrier {
 public:
  /// Connects to all members, measures the network together with them, and returns when that is done. The text of an
  /// error names the members that did not come.
  static Result<std::unique_ptr<Group>> make(GroupConfig config);
  /// Ends the group for this member. The others may go on with operations that this one has ended, and no more. If an
  /// operation is under way, the group fails at all members; its buffers must still be valid here.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // ---- coll::Across; ranks and roots are the group's
  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  std::string_view algorithm(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  /// Every algorithm but the ring does, and a reproducible group leaves out the ring.
  bool adds_canonically(coll::Kind) const noexcept override { return config_.reproducible; }
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  Progress peek(void* request) override;
  /// The group fails at all members.
  void let_go(void* request) override;
  bool has_direct() const noexcept override { return true; }
  Progress start_direct(const coll::Operation& operation, void*& request) override;
  void cork() override { transport_->cork(); }
  void uncork() override { transport_->uncork(); }
  Sleep sleep(int us) override;
  std::string_view error() const noexcept override;

  /// Waits for the end of a request; returns done or failed.
  Progress wait(void* request);
  /// One line for people: the algorithm for such an operation, its least time and those of the others. `bytes` as in
  /// takes().
  std::string explain(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const;
  // ---- messages, beside the operations
  Messages* messages() noexcept { return engine_->messages(); }
  /// Moves what has come, and what can be sent. Returns the number of events.
  std::size_t move() { return look(); }
  /// Sleeps at most `us` microseconds, until something has come; also where no operation is under way.
  Sleep await_message(int us);
  /// Ends the group for all its members; they read the reason. Nothing happens if it has failed before.
  void break_because(Error why) { engine_->fail(std::move(why)); }

  /// Reports already now that this member ends the group; it starts nothing afterwards. No operation is under way.
  void begin_to_leave();
  /// The other members that have not ended the group. Empty if it has failed: then nobody knows.
  std::vector<std::uint32_t> staying();

  const Costs& costs() const noexcept { return costs_; }
  const net::TransportStats& stats() const noexcept { return transport_->stats(); }
  /// Runs an operation by an algorithm of the caller's choice, the same at every member: for benchmarks and tests.
  Progress start_by(const coll::Operation& operation, Algorithm algorithm, void*& request);

 private:
  /// A connection, proven or not.
  struct Link {
    std::uint32_t rank = UINT32_MAX;  ///< Not known before the peer has proven it, unless we connected to it.
    bool is_proven = false, is_connector = false;
    wire::HelloBody hello{};
    wire::Nonce nonce{};
  };
  struct Bytes {
    std::uint64_t taken = 0;  ///< The bytes of all messages to this member, with their frames.
  };

  Group(GroupConfig config, std::uint64_t eager_max);

  Result<> open();
  Result<> connect();
  Result<> measure();
  Result<double> timed(const coll::Operation& operation, Algorithm algorithm, int in_a_row);
  Result<> run(const coll::Operation& operation, Algorithm algorithm);
  Result<> check_now_and_then();
  Question question_of(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const;
  Limits limits() const { return {config_.size, eager_max_, config_.reproducible}; }
  std::size_t look();
  void rest(Time until);
  std::string missing() const;
  std::string name_of(std::uint32_t rank) const;

  // ---- the handshake
  void greet(net::ConnId conn, Link& link);
  const char* on_handshake(net::ConnId conn, Link& link, const BufferRef& frame);
  const char* on_hello(net::ConnId conn, Link& link, const wire::HelloBody& hello);
  const char* on_welcome(net::ConnId conn, Link& link, const wire::WelcomeBody& welcome);
  const char* on_proof(net::ConnId conn, Link& link, const wire::ProofBody& proof);
  wire::WelcomeBody welcome_of(const Link& link) const;
  bool send_body(net::ConnId conn, wire::PeerKind kind, std::span<const std::byte> body);
  void settle_in(net::ConnId conn, Link& link, std::uint32_t rank);

  // ---- net::TransportEvents
  void on_accepted(net::ConnId conn) override;
  void on_connected(net::ConnId conn) override;
  void on_message(net::ConnId conn, BufferRef frame) override;
  std::span<std::byte> on_head(net::ConnId conn, std::span<const std::byte, 64> head, std::size_t bytes) override;
  void on_placed(net::ConnId conn, BufferRef head) override;
  void on_closed(net::ConnId conn, const Error& why) override;
  void on_writable(net::ConnId conn) override;

  // ---- Carrier
  Errc send(std::uint32_t peer, std::span<const std::byte> head, const Payload& body) override;
  std::uint64_t taken(std::uint32_t peer) const override { return sent_[peer].taken; }
  std::uint64_t left(std::uint32_t peer) const override;
  void on_failed() override;
  void detach(std::uint32_t peer) override { transport_->detach(conns_[peer]); }

  GroupConfig config_;
  std::uint64_t eager_max_;
  BufferPool pool_;
  Members members_;
  std::unique_ptr<net::Transport> transport_;
  std::unordered_map<std::uint32_t, Link> links_;  ///< The keys are ConnId::value.
  std::vector<net::ConnId> conns_;                 ///< One for each rank, but none for this member.
  std::vector<Bytes> sent_;
  std::uint32_t proven_ = 0;
  std::string trouble_;      ///< The last connection that did not come about, for the text of an error.
  bool is_refused_ = false;  ///< A member to which we connect did not accept, or is another process.
  std::unique_ptr<Engine> engine_;
  net::Waiter waiter_;
  std::size_t heard_ = 0;    ///< Events since the last rest(): looking has paid.
  bool has_looked_ = false;  ///< sleep() has handled what ended it: the next test() need not look.
  Costs costs_;
  bool is_made_ = false;
  Time checked_{};  ///< The last call of the configuration's check().
};

}  // namespace sumac::p2p
