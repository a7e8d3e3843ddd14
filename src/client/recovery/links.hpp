#pragma once
// This process's connections to the other processes of its job. They carry the messages of groups that have lost their
// tree (docs/adr/0090-members-as-the-tree.md). A connection is made when there is a message for the other process.
//
// Both ends prove that they know the job's key, with the handshake of the tree's hops (wire/proof.hpp): hello, welcome,
// proof, and then the acceptor's note that it has taken the connection. Before the proof a peer is a stranger: it sends
// two short messages at most, and many strangers displace each other. A message waits here until its connection is taken.
//
// Between two processes one connection is used at a time. Where both connect at once, that of the lower rank stays. A
// connection that replaces another one proves that the old one is lost: on_member_lost() precedes its messages.
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/buffer.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/secret.hpp"
#include "net/transport.hpp"
#include "wire/agg.hpp"
#include "wire/peer.hpp"
#include "wire/proof.hpp"

namespace sumac::client {

/// The first word of a note from one process to another; the second one is a number.
enum class MemberWord : std::uint32_t {
  taken = 1,     ///< The sender has taken this connection. It is the acceptor's first message.
  died = 2,      ///< The number is the world rank of a process whose sharpd has seen its death.
  departed = 3,  ///< The sender has left the group of this id: all its members had everything.
};

/// Called from inside MemberLinks::progress(); may call send() and drop(), but not progress().
class MemberEvents {
 public:
  virtual void on_member_message(WorldRank from, std::span<const std::byte> frame) = 0;
  virtual void on_member_note(WorldRank from, MemberWord word, std::uint32_t number, TreeId tree) = 0;
  virtual void on_member_lost(WorldRank peer) = 0;
  /// There is a message for it, and nobody listens at its address or its host is gone. A process that is only stopped is none of these.
  virtual void on_member_unreached(WorldRank peer) = 0;

 protected:
  ~MemberEvents() = default;
};

class MemberLinks final : private net::TransportEvents {
 public:
  struct Config {
    JobId job_id{};
    Secret key{};
    WorldRank self{};
    std::uint32_t members = 0;  ///< World ranks of the job.
    std::string listen;         ///< "10.1.0.5:0"
    std::size_t message_max = BufferPool::kClasses[std::size(BufferPool::kClasses) - 1];
    std::size_t strangers_max = 64;
    Millis handshake_within{5000};
    /// A host that refuses for so long, or does not answer: each attempt counts from its beginning on.
    Millis refused_for{1000}, silent_for{10000};
  };
  static Result<std::unique_ptr<MemberLinks>> make(const Config& config, MemberEvents& events, const Logger& log);
  ~MemberLinks();
  MemberLinks(const MemberLinks&) = delete;
  MemberLinks& operator=(const MemberLinks&) = delete;

  std::string address() const { return transport_->address(); }
  /// `addresses[rank]` is where that world rank listens.
  void know(std::vector<std::string> addresses) { addresses_ = std::move(addresses); }
  void send(WorldRank to, std::span<const std::byte> head, std::span<const std::byte> data);
  /// `tree`: that of the group where the number is a group.
  void note(WorldRank to, MemberWord word, std::uint32_t number, TreeId tree = {});
  /// The member broke a rule: its connection ends, and on_member_lost() follows.
  void drop(WorldRank peer, const Error& why);
  /// Sends what is queued, within a second, and ends all connections. Nobody waits for the `dead`.
  void close(std::span<const WorldRank> dead);

  /// Handles what has come and what is due. Without `has_come` it asks the system only where something is due.
  std::size_t progress(bool has_come);
  int wake_fd() const { return transport_->wake_fd(); }
  /// As net::Transport::arm().
  bool arm() { return lost_.empty() && transport_->arm(); }
  Time next_due() const { return std::min(transport_->next_due(), retry_due_); }
  const net::TransportStats& stats() const { return transport_->stats(); }
  std::size_t bytes_in_use() const { return pool_.stats().bytes_in_use; }
  bool is_linked(WorldRank peer) const { return static_cast<bool>(peers_[number_of(peer)].link); }

 private:
  static constexpr std::uint32_t kNobody = ~0u;
  /// Messages that wait for a connection. Later epochs make older messages useless, so few are ever needed.
  static constexpr std::size_t kWaitingMax = 4096;
  static constexpr Millis kRetryFirst{5}, kRetryMax{250};

  struct Peer {
    net::ConnId link{};     ///< The connection that is taken by both ends.
    net::ConnId attempt{};  ///< Our own connection that the peer has not taken yet.
    Time attempt_at{};      ///< When it began.
    std::deque<std::vector<std::byte>> waiting;
    Time retry_at = kNever;
    Millis pause = kRetryFirst;
    Time refused_since = kNever, unreached_since = kNever;
  };
  struct Conn {
    std::uint32_t rank = kNobody;  ///< As the peer says, before it has proven it.
    bool is_ours = false, is_proven = false, has_greeted = false;
    wire::HelloBody hello{};
    wire::Nonce nonce{};
  };

  MemberLinks(const Config& config, MemberEvents& events, const Logger& log)
      : config_(config), events_(events), log_(log), peers_(config.members) {}

  void connect(std::uint32_t rank);
  void retry(Time now);
  void retry_later(std::uint32_t rank);
  void note_attempt(std::uint32_t rank, net::Unreached how);
  void tell_lost();
  void lose(std::uint32_t rank);
  bool put(net::ConnId conn, std::span<const std::byte> frame);
  void end(net::ConnId conn);

  // links_handshake.cpp
  bool say(net::ConnId conn, wire::PeerKind kind, std::span<const std::byte> body);
  wire::WelcomeBody welcome_of(const Conn& conn) const;
  wire::ProofTerms terms_of(const Conn& conn, const wire::WelcomeBody& welcome, std::uint32_t parent) const;
  const char* on_handshake(net::ConnId id, Conn& conn, const BufferRef& frame);
  const char* on_hello(net::ConnId id, Conn& conn, const wire::HelloBody& hello);
  const char* on_welcome(net::ConnId id, Conn& conn, const wire::WelcomeBody& welcome);
  const char* on_proof(net::ConnId id, Conn& conn, const wire::ProofBody& proof);
  bool yields_to_ours(std::uint32_t rank) const;
  void take(net::ConnId id, std::uint32_t rank);
  const char* on_note(net::ConnId id, Conn& conn, const wire::PeerHeader& note);

  // net::TransportEvents
  void on_accepted(net::ConnId conn) override { conns_[conn.value] = {}; }
  void on_connected(net::ConnId conn) override;
  void on_message(net::ConnId conn, BufferRef frame) override;
  void on_closed(net::ConnId conn, const Error& why) override;
  void on_writable(net::ConnId) override {}

  Config config_;
  MemberEvents& events_;
  const Logger& log_;
  BufferPool pool_{std::size_t{1} << 30};  // The windows of the groups bound what is under way.
  std::vector<Peer> peers_;                ///< [world rank]
  std::vector<std::string> addresses_;
  std::unordered_map<std::uint32_t, Conn> conns_;  ///< The keys are ConnId::value.
  std::vector<std::uint32_t> lost_;                ///< Their loss is still to be told.
  Time retry_due_ = kNever;
  std::unique_ptr<net::Transport> transport_;
};

}  // namespace sumac::client
