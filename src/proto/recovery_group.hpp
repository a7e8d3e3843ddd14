#pragma once
// One member's group through its whole life: on a tree as a ClientGroup, and when the tree is lost among the members
// (docs/adr/0090-members-as-the-tree.md). recovery::Member decides; this class has the bytes: it keeps what Member may
// have to supply or to contribute again, sums at the root of an epoch in the order of ranks, and writes results into the
// users' buffers.
//
// It believes no verdict of a tree: a tree that gives one is lost, and the members decide. One kind of groups is not
// recovered, and fails with its tree, at all members alike: one on a hop that loses messages, where the answer to a Leave may
// overtake a verdict and then proves nothing.
//
// The chunks of a stream are numbers like all others. The streaming lock stays with the group: among the members it is
// always granted, but all go on as the tree has answered one of them (recovery_group_lock.cpp).
//
// Memory: at most kept_most() for what is kept, and gathered_most() more while this member is the root of an epoch.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/client_link.hpp"
#include "proto/partial_sums.hpp"
#include "proto/recovery_codec.hpp"
#include "proto/recovery_member.hpp"

namespace sumac::proto::recovery {

/// Takes the messages for other members. As with Outbox, no call may lead back into the group.
class Peers {
 public:
  /// Sends one message: `head`, then `data`. Data with an owner are kept alive by it; everything else is copied before
  /// the call returns.
  virtual void send(Rank to, std::span<const std::byte> head, const Payload& data) = 0;
  /// The member broke a rule: close its connection, and call on_link_lost() at both ends as for any that breaks.
  virtual void drop(Rank peer, const Error& why) = 0;

 protected:
  ~Peers() = default;
};

class Group final : GroupObserver {
 public:
  using Phase = ClientGroup::Phase;

  /// Fails as ClientGroup::make(). `link` routes the tree's messages to the group, until the group is destroyed.
  static sumac::Result<std::unique_ptr<Group>> make(const ClientGroupConfig& config, ClientLink& link, Outbox& tree,
                                                    Peers& peers);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // The calls of a ClientGroup, with its errors. An operation's buffers belong to it until its completion is taken.
  void start(Time now) { client_->start(now); }
  tl::expected<OpId, Errc> post(const proto::Operation& operation, Time now);
  std::optional<Completion> next_completion();
  std::uint32_t outstanding() const noexcept {
    return is_on_tree() ? client_->outstanding() : static_cast<std::uint32_t>(operations_.size());
  }
  void wake(Time now);
  /// `dead`: the rank on this host whose death is the reason, as people count.
  void give_up(Time now, std::uint32_t dead = wire::kNoRank);
  void leave(Time now);
  Phase phase() const noexcept;
  /// Names the culprit and the first number that fails.
  const std::optional<proto::Verdict>& verdict() const noexcept { return verdict_; }
  std::string why(std::span<const std::string> names = {}) const;
  const GroupShape& shape() const noexcept { return client_->shape(); }

  /// A message of another member.
  void on_message(Rank from, std::span<const std::byte> frame, Time now);
  /// The link to a member is lost. Call it before any message of a link that replaces the lost one.
  void on_link_lost(Rank peer, Time now);
  /// The manager's word about a member.
  void dead(Rank member, Time now);
  void departed(Rank member, Time now);
  /// Call it after every message and timer of the tree's link, unless the group is calm.
  void run(Time now);
  /// The group is on its tree, and nothing has happened that concerns more than the tree: its user may call the group there.
  bool is_calm() const noexcept { return is_calm_; }
  /// Null is written there as soon as the group is calm no more.
  void tell_of_unrest(ClientGroup** calm) noexcept { calm_ = calm; }

  // For LastingGroup. Operations are counted from the group's first one.
  static constexpr std::uint32_t kEndless = ~0u;
  const ClientGroupConfig& config() const noexcept { return config_; }
  GroupKey key() const noexcept { return {config_.tree_id, config_.group_id}; }
  /// The tree is lost, by another's word.
  void leave_tree(Time now);
  /// The same, but the group may go on in the kernels of the tree's nodes until it has another tree.
  void lose_links(Time now);
  /// It has not lost its tree.
  bool has_tree() const noexcept { return epoch() == 0 && client_->has_links(); }
  /// It stands, and its tree's kernels have answered if they take part: from then on it outlives the death of a daemon.
  bool stands_firmly() const noexcept {
    return phase() == Phase::standing && (epoch() != 0 || client_->trial_of_datagrams() != ClientGroup::Trial::open);
  }
  std::uint32_t operations() const noexcept { return is_on_tree() ? client_->operations() : next_id_; }
  /// Those of which this member has begun something among the members.
  std::uint32_t begun() const noexcept;
  /// Begins none from `end` on, among the members.
  void stop_at(std::uint32_t end) noexcept { stop_at_ = end; }
  void stop_at(std::uint32_t end, Time now) {
    stop_at_ = end;
    proceed(now);
  }
  /// Takes back those from `first` on, of which nothing is begun.
  std::vector<proto::Operation> withdraw(std::uint32_t first);
  bool leaves() const noexcept { return leaves_; }

  /// The group on the tree, for multicasts. It goes on for a while after the members have left a tree that lives.
  ClientGroup& on_tree() noexcept { return *client_; }
  recovery::Epoch epoch() const noexcept { return member_ ? member_->epoch() : 0; }
  /// Nothing of this group is left on the tree either: it may be destroyed.
  bool is_over() const noexcept { return phase() == Phase::left && is_over_on_tree(); }
  /// All members had everything: whoever still asks may be told that this one has departed.
  bool has_left() const noexcept { return has_left_; }
  std::size_t bytes_kept() const noexcept { return client_->bytes_kept() + pool_.stats().bytes_in_use; }
  std::size_t kept_most() const noexcept;
  std::size_t gathered_most() const noexcept;
  /// The part of kept_most() that such a group keeps for its streams, on its tree.
  static std::size_t streams_kept_most(std::uint32_t stream_window, std::uint32_t chunk_bytes) noexcept;
  const char* broken() const noexcept { return broken_; }

 private:
  static constexpr Number kNone = ~Number{0};

  struct Posted {
    Cutting cutting;
    OpId id;
    Number last = kNone;  ///< The operation's last number, once it is cut.
    Errc status = Errc::ok;
    bool ends_batch = false;  ///< Its last number is the unlock.
    bool is_begun = false;    ///< It has asked for the lock.
  };
  struct Slot {
    Number number = kNone;
    wire::AggHeader header{};  ///< As this member contributes it to a tree, its own part included.
    std::uint32_t elements = 0;
    std::uint32_t operation = 0;  ///< The OpId.
    std::uint64_t terms = 0, result_terms = 0;
    bool is_posted = false, has_result = false;
    std::span<const std::byte> part{};  ///< This member's part in the user's memory, until there is a result.
    BufferSlice kept{};                 ///< The result, or the part where the operation may end without a result.
  };
  /// A number at the root of an epoch.
  struct Gathered {
    PartialSums sums;
    wire::AggHeader header{};
    BufferSlice result;
    std::uint64_t terms = 0;
    bool has_result = false, is_sent = false;
  };

  Group(const ClientGroupConfig& config, ClientLink& link, Peers& peers);

  // GroupObserver: what happens on the tree.
  void stood() override;
  void ended(bool left) override;
  void lost_links() override { end_calm(); }

  bool recovers() const noexcept { return config_.resend_after.count() == 0; }
  /// The longest payload.
  std::uint32_t payload_most() const noexcept {
    return config_.stream_window == 0 ? config_.payload_per_ost
                                      : std::max(config_.payload_per_ost, config_.chunk_bytes);
  }
  Kind kind_of(const wire::AggHeader& header) const noexcept;
  bool is_early(Kind kind, Rank root) const noexcept;
  void end_calm() noexcept {
    is_calm_ = false;
    if (calm_ != nullptr) *calm_ = nullptr;
  }
  bool is_on_tree() const noexcept { return !member_ || (member_->epoch() == 0 && !member_->is_gone()); }
  void catch_up();
  void take(const ClientHistory::Number& from, Number number);
  void hear(Rank from, const Message& message, const Data& data);
  Slot& slot(Number number) noexcept { return slots_[static_cast<std::size_t>(number & (slots_.size() - 1))]; }
  Slot& begin_slot(Number number);
  Posted* find_operation(std::uint32_t id) noexcept;
  BufferSlice copy(std::span<const std::byte> bytes);
  static Payload data_of(const Slot& at, Turn::What what) noexcept;

  wire::AggHeader contribution(wire::Coll coll) const noexcept;
  void post_number(Posted& posted, const wire::AggHeader& header, std::uint32_t elements,
                   std::span<const std::byte> part);
  // recovery_group_lock.cpp
  bool may_be_cut(Posted& posted);
  void post_our_own(wire::Coll coll);
  void take_our_own(const ClientHistory::Number& from, Slot& at);
  void complete(Number number);

  bool is_over_on_tree() const noexcept;
  void lost_tree();
  void never_stand();
  void say_leave();
  void proceed(Time now);
  void pump();
  /// Does what the machine has decided. `turn` and `result` are the data of the message that it has just heard.
  void settle(const Data* turn, const Data* result);
  void keep_result(Number number, const Data* result);
  void deliver(Number number);
  void fail(Number number);
  void gather(const Member::Taken& taken, const Data* turn);
  Gathered& result_of(Number number);
  void send(Send& send);
  void forget();
  void note_verdict();
  void give_up_to(Rank peer);

  ClientGroupConfig config_;
  ClientLink& link_;
  Peers& peers_;
  std::unique_ptr<ClientGroup> client_;
  std::optional<Member> member_;  ///< There is one since the group stands.
  Sequence first_sequence_{};
  bool is_calm_ = false;
  ClientGroup** calm_ = nullptr;
  // On the tree the ClientGroup has these, and catch_up() takes them.
  std::deque<Posted> operations_;  ///< Those that next_completion() has not returned.
  std::uint32_t cut_ = 0;          ///< The OpId of the first operation that is not wholly cut.
  std::uint32_t next_id_ = 0;
  std::uint32_t stop_at_ = kEndless;
  LockKeeper lock_{0};
  std::vector<Slot> slots_;
  Number forgotten_ = 0;                   ///< Slots below it are empty.
  BufferPool pool_{std::size_t{1} << 30};  // kept_most() and gathered_most() follow from the rules, not from a limit
  BlockMap blocks_;
  std::map<Number, Gathered> gathered_;
  recovery::Epoch gathers_epoch_ = 0;
  std::vector<std::byte> head_;
  std::vector<std::pair<Rank, std::vector<std::byte>>> early_;  ///< Messages that came before the group stood.
  std::optional<proto::Verdict> verdict_;
  std::optional<wire::VerdictBody>
      word_;  ///< The tree's, or that of a member that gives up: it says more than the members' verdict.
  std::uint32_t dead_beside_ = wire::kNoRank;
  bool differs_ =
      false;  ///< This member has seen that its operation is another than the others'; the verdict may be to come.
  bool leaves_ = false, has_said_leave_ = false, has_left_ = false, has_left_tree_ = false;
  bool never_stood_ = false;  ///< The tree was lost first: this member is none of the group.
  std::vector<Rank> early_dead_;
  const char* broken_ = nullptr;
};

}  // namespace sumac::proto::recovery
