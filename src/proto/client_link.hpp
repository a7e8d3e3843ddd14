#pragma once
// A client's connection to its leaf node: it says hello, asks for group ids (Open), and sorts messages to their groups.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "proto/client_group.hpp"
#include "proto/handshake.hpp"
#include "proto/link.hpp"
#include "proto/open_request.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

struct ClientLinkConfig {
  JobId job_id{};
  ParentInfo leaf{};  ///< The leaf node, and the job's key.
  WorldRank world_rank{};
  TreeId tree_id{};
  std::uint32_t message_max = wire::kPayloadMax;  ///< The largest data after a Result that this client accepts.
  Duration resend_after{0};                       ///< 0: no timer repeats anything (tcp, ucx).
  std::string host{};                             ///< The host's name, for the node's statistics; empty: no name is
                                                  ///< sent.
};

/// The outcome of an Open.
struct OpenOutcome {
  enum class State : std::uint8_t { pending, opened, refused, lost } state = State::pending;
  GroupId group_id{};           ///< Valid in state opened.
  wire::RefusedBody refusal{};  ///< Valid in state refused.
};

class ClientLink {
 public:
  ClientLink(const ClientLinkConfig& config, Outbox& outbox) : config_(config), outbox_(outbox) {}
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  /// Says hello on this link, which may still be connecting. When the node has proven itself, proves that this is a
  /// member of the job and sends pending Opens. Call it once per connection, with a nonce that was never used before.
  void set_link(LinkId leaf, const wire::Nonce& nonce, Time now);
  LinkId link() const noexcept { return leaf_; }
  bool proven() const noexcept { return proven_; }  ///< The node has proven itself.
  /// Its kernel takes datagrams: joins of groups may name a port for them.
  bool leaf_takes_datagrams() const noexcept { return leaf_takes_datagrams_; }
  bool settled() const noexcept { return proven() || closed(); }
  bool closed() const noexcept {
    return closed_;
  }  ///< on_closed() was called, the node refused us, or it broke a
     ///< rule.
  const std::string& why_closed() const noexcept { return why_; }

  /// Asks for a group id. The caller chooses `token`, unique in the job for ever (world rank in the upper half, a
  /// counter in the lower).
  void open(std::uint64_t token, std::uint32_t group_size, Time now);
  OpenOutcome open_outcome(std::uint64_t token) const;
  void forget_open(std::uint64_t token) { opens_.erase(token); }

  /// Routes messages with this group's id to it from now on. The group must live until detach().
  void attach(ClientGroup& group);
  void detach(ClientGroup& group);

  /// The caller refers to the link until it calls release().
  void hold() noexcept { ++holders_; }
  void release() noexcept { --holders_; }
  bool is_held() const noexcept { return holders_ != 0; }
  /// Some group takes datagrams of its leaf.
  bool takes_datagrams() const noexcept;

  /// A message of `payload` bytes after this header has begun: returns the memory where they may go at once; see
  /// ClientGroup::place().
  using Head = std::span<const std::byte, wire::kAggHeaderBytes>;
  std::span<std::byte> place(Head head, std::size_t payload) noexcept;
  void on_placed(Head head, Time now);  ///< The payload has landed in the memory that place() returned.
  /// Call it after on_placed(): it predicts the header of the next message and returns the memory where its payload may
  /// go; see ClientGroup::expect().
  std::span<std::byte> expect(std::span<std::byte, wire::kAggHeaderBytes> head) noexcept;
  /// Handles one whole message from the leaf. A malformed one causes Outbox::drop, and every group is lost.
  void on_message(BufferRef frame, Time now);
  /// Handles a datagram that came from the leaf's address.
  void on_datagram(std::span<const std::byte> datagram, Time now);
  /// Groups that go on without it still need on_datagram() and tick().
  void on_closed(const Error& why, Time now) { close(why.context, now, why.code == Errc::lost); }
  void tick(Time now);  ///< Also ticks the attached groups.
  Time next_due() const noexcept;

 private:
  struct Request {
    std::uint32_t group_size = 0;
    open_request::State state{};
    wire::RefusedBody refusal{};
  };

  void welcome(const wire::WelcomeBody& body, Time now);
  void close(std::string why, Time now, bool answers);
  template <class Body>
  void control(wire::AggKind kind, const Body& body);
  void send_open(std::uint64_t token, const Request& request);
  void step_open(std::uint64_t token, const open_request::Event& event, Time now);
  ClientGroup* group_of(const wire::AggHeader& header) const noexcept;
  Errc to_group(const wire::AggHeader& header, const BufferRef& frame, Time now);
  void broke_a_rule(const wire::AggHeader& header, Time now);
  void drop(const std::string& why, Time now);

  ClientLinkConfig config_;
  Outbox& outbox_;
  LinkId leaf_{};
  bool closed_ = false, proven_ = false, leaf_takes_datagrams_ = false;
  std::uint32_t holders_ = 0;
  std::string why_;
  std::map<std::uint64_t, Request> opens_;  ///< [token]; used only at set-up, so it has few entries.
  ChildHandshake handshake_;
  std::vector<ClientGroup*> groups_;  ///< [group number]: the group, or null.
  ClientGroup* placed_ = nullptr;     ///< The group of the last result that was placed.
};

/// Writes one line for people: "no group id left: the job has 8 groups (node 3)".
std::string describe(const wire::RefusedBody& refusal);
/// Writes "rank 3 differs from rank 0 in count: 5, not 4".
/// `names` are those of the group's members, in the order of ranks; empty: "rank 3".
std::string describe(const wire::VerdictBody& verdict, std::span<const std::string> names = {});
/// Writes "node an-leaf1 (10.77.0.6) stopped answering; its parent an-root noticed after 1.0 s".
std::string describe(const wire::LostNode& lost);
std::string describe(const wire::OverBody& over);

}  // namespace sumac::proto
