#pragma once
// One communicator: a group on each tree of the job (more, if asked for), and the requests posted on them. An operation
// larger than one OST's payload is cut into stripes (stripes.hpp); smaller ones go to the groups in rotation. Requests
// complete in the order of posting all the same. With a single group, the usual case, none of this costs anything.
#include <sharp/api/sharp_coll.h>
#include <sharp/api/sumac_ext.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/context.hpp"
#include "client/open_groups.hpp"
#include "client/recovery/member_group.hpp"
#include "client/stripes.hpp"
#include "recorder/recorder.hpp"

namespace sumac::client {

/// The user's description of an operation, checked: the operation for proto, and the staging that gathers and scatters
/// lists.
struct Reduction {
  proto::Operation operation;
  std::unique_ptr<Staging> staging;
};

class Comm final : private proto::recovery::Peers, private proto::recovery::Trees {
 public:
  /// Collective over the members; see sharp_coll_comm_init(). Called without the lock.
  static Outcome<std::unique_ptr<Comm>> make(Context& context, const sharp_coll_comm_init_spec& spec,
                                             const sharp_coll_out_of_band_colls& oob_colls);
  /// The same for members that know each other's world ranks and the groups already (tree/offer.hpp). It is not known whether
  /// the others could join too: give_up() if not.
  static Outcome<std::unique_ptr<Comm>> make_known(Context& context, std::uint32_t rank,
                                                   std::vector<WorldRank> world_ranks, const OpenedGroups& groups);
  /// Another member has not joined: nothing is waited for. Called without the lock.
  static void give_up(std::unique_ptr<Comm> comm);
  ~Comm();

  Context& context() const { return context_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  /// The limits that every group can keep: the least of them.
  const proto::GroupShape& shape() const { return shape_; }
  std::size_t groups() const { return channels_.size(); }

  // The functions up to fill() are called with the lock held.
  Outcome<Request*> post_barrier();
  Outcome<Request*> post(Reduction reduction);
  /// Called when this member's next call is refused before it is sent: uses a number in each group, so that the other
  /// members learn of the refusal instead of waiting. If all refuse, the groups continue. Returns false if
  /// kOperationsMax are outstanding.
  bool refuse();
  /// The members' names in messages, in the order of ranks, if people know them by other ranks than the group's.
  void name_members(std::vector<std::string> names) { names_ = std::move(names); }
  /// Returns the members' names for messages. `ranks`: the numbers by which people know them, if they are not the group's.
  std::vector<std::string> names_by_host(std::span<const int> ranks = {}) const;
  /// Ends the groups for all members, and operations under way have no memory any more. `dead`: the rank on this host whose death is the
  /// reason, as people count.
  void let_go(std::uint32_t dead = wire::kNoRank);
  /// The groups' verdict is that a member is dead or has given up.
  bool has_lost_member() const noexcept;
  /// Posts Leave after everything posted before; the request (may be null) completes with it.
  void leave(Request* request);
  bool is_leaving() const { return is_leaving_; }
  bool has_left() const;
  /// Operations posted and not over. Refusals count although they have no request, because they use slots like all
  /// other operations.
  std::uint32_t outstanding() const {
    std::uint32_t most = in_order_tail_ - in_order_head_;
    for (const auto& channel : channels_) most = std::max(most, channel.group.outstanding());
    return most;
  }
  bool has_room() const { return outstanding() < proto::kOperationsMax; }
  /// Handles finished operations. Returns false if nothing more is to be expected for now.
  bool drain();
  /// Set once a group has ended, and with it all of them; the first call then also logs it. Null while it lives.
  const std::shared_ptr<const std::string>& end();
  /// Afterwards its groups receive no message.
  void detach() noexcept;
  void fill(sumac_comm_info& info) const;
  std::uint64_t datagrams() const noexcept;  ///< Operations that went as datagrams.
  /// The reason why no operation goes by the hop, as a clause for people; empty: some do.
  std::string why_no_hop() const;
  /// "by the hop", or why this operation does not go there. Empty where why_no_hop() has the reason.
  std::string about_hop(proto::Operation operation) const;

  /// Whether a communicator of one group is made so that it outlives its tree. Its rank 0 decides. Called with the lock held.
  static bool would_last(const Context& context, std::uint32_t members) noexcept;

  // These are for recovery (recovery/comm.cpp), and called with the lock held.
  /// Call it after events of the tree's connection or of other members, unless is_calm().
  void run_group(Time now);
  bool is_calm() const noexcept {
    const auto* group = lasting();
    return group == nullptr || group->calm() != nullptr;
  }
  bool is_group(proto::recovery::GroupKey group) const noexcept;
  bool is_without_tree() const noexcept;
  bool has_left_for_good(proto::recovery::GroupKey group) const noexcept;
  void hear_member(WorldRank from, std::span<const std::byte> frame, Time now);
  void lost_member(WorldRank peer, Time now);
  void member_died(WorldRank dead, Time now);
  void member_departed(proto::recovery::GroupKey group, WorldRank member, Time now);
  /// The job has other trees, so the present one is lost.
  void lose_tree(Time now);

  bool is_watched = false;  ///< It is in Context's list of watched communicators.

 private:
  /// One of its groups.
  struct Channel {
    std::uint32_t tree = 0;  ///< Index into Job::trees.
    std::uint32_t depth = 0;
    MemberGroup group;
    ChunkRule chunks{};
  };

  Comm(Context& context, std::uint32_t size, std::uint32_t rank) : context_(context), size_(size), rank_(rank) {}
  void send(std::uint32_t to, std::span<const std::byte> head, const Payload& data) override;
  void drop(std::uint32_t peer, const Error& why) override;
  /// Null: the group ends with its tree. Several groups of a communicator do, and those that take the streaming lock in comm_init.
  proto::recovery::LastingGroup* lasting() const noexcept {
    return channels_.size() == 1 ? channels_.front().group.lasting() : nullptr;
  }
  Result<std::unique_ptr<proto::recovery::Group>> join(TreeId tree, GroupId group, Time now) override;
  void seek_tree(Time now);
  void note_return();
  std::optional<std::uint32_t> rank_of(WorldRank member) const noexcept;
  void tell_root_of_deaths();
  std::size_t streams_kept() const noexcept;
  /// The chunks in flight that a group of so many asks for where it outlives its tree; 0: it does not stream. `self` keeps nothing yet.
  static std::uint32_t window_that_lasts(const Context& context, std::uint32_t members, const Comm* self) noexcept;
  Outcome<MemberGroup> make_group(const proto::ClientGroupConfig& config, TreeLink& link, bool lasts);
  Outcome<> join(const OpenedGroups& opened, std::span<const WorldRank> world_ranks);
  void settle();
  Outcome<Channel> make_channel(const OpenedGroup& opened, std::span<const WorldRank> world_ranks, bool lasts);
  Outcome<proto::ClientGroupConfig> config_of(const OpenedGroup& opened, std::span<const WorldRank> world_ranks) const;
  Outcome<> standing(const Channel& channel, Millis waited) const;
  Outcome<> take_stream_locks();
  void tell_of_lock();
  void advance_copies();
  void look_at_limit(bool has_moved);
  void complete(Request& request, int status);
  void settle_on_shape();
  void announce() const;
  TreeLink& link_of(const Channel& channel) const { return *context_.links()[channel.tree]; }

  Outcome<Request*> post(proto::Operation& operation, std::unique_ptr<Staging> staging, std::size_t kind,
                         std::uint64_t bytes);
  void cut_finely(proto::Operation& operation, const Channel& channel) const;
  tl::expected<std::uint64_t, Errc> post_striped(const proto::Operation& operation, Request& request);
  void take(Channel& channel, const proto::Completion& over);
  [[noreturn]] void abort_process();
  void end_by(const Channel& channel);

  Context& context_;
  const std::uint32_t size_, rank_;
  std::vector<Channel> channels_;
  proto::GroupShape shape_{};
  bool is_leaving_ = false;
  bool has_told_of_lock_ = false;
  Request* leave_request_ = nullptr;
  std::vector<Request*> copying_;  ///< Requests whose input is still being copied from a GPU.
  std::vector<std::string> names_;
  std::vector<WorldRank> world_ranks_;
  recorder::Track recorded_;  ///< Without memory() below a team, which records its calls itself.
  std::shared_ptr<const std::string> end_;
  Time waits_since_{};  ///< With SUMAC_TIMEOUT: the last end of an operation, or the first look since one was posted.
  std::string late_;    ///< This member has given up because of SUMAC_TIMEOUT: the words for it.
  bool end_follows_ = false;  ///< The end only says that a member left; a better reason may still come.

  // Used only by a group that outlives its tree.
  std::vector<std::uint32_t> deaths_;  ///< Members that are dead.
  proto::recovery::Epoch told_epoch_ = 0;
  std::size_t told_deaths_ = 0;  ///< The root of that epoch has been told so many of them.
  bool has_lost_tree_ = false, has_lost_links_ = false;
  std::uint32_t generation_ = 0;  ///< The job's trees of which this group has, or had, one (Context::generation()).
  std::uint32_t returns_ = 0;     ///< It has gone to another tree so often.
  std::uint64_t asked_ = 0;       ///< Rank 0 has asked for a group on a new tree, by this token; 0: not now.
  Time seek_from_{};              ///< Rank 0 seeks no tree before.
  /// Rank 0 seeks a tree since `seeks_since_`; the number is the generation's, from 1 on.
  std::uint32_t seeks_in_ = 0;
  Time seeks_since_{};

  // Used only with several groups.
  StripeRule rule_;
  std::uint32_t turn_ =
      0;  ///< The group that the next operation begins with; posting is collective, so it is the same at all members.
  std::vector<Request*> in_order_;  ///< A ring of kOperationsMax, so that requests complete in the order of posting.
  std::uint32_t in_order_head_ = 0, in_order_tail_ = 0;
};

/// Called without the lock: leaves, and waits for the other members at most coll_timeout; if they do not come, the
/// communicator is kept aside. Returns false if operations of this member are under way.
bool destroy(std::unique_ptr<Comm> comm);

/// Logs that a communicator has no group. `speaks`: this rank tells users, the others only say it in debug mode. Called without
/// the lock.
void tell_of_no_group(Context& context, bool speaks, const Failure& failed);

}  // namespace sumac::client
