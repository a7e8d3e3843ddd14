#pragma once
// One communicator: a group on each tree of the job (more, if asked for), and the requests posted on them. What is larger than one OST's
// payload is cut into stripes (stripes.hpp), what is smaller goes to the groups in turn; requests complete in the order of posting all
// the same. With one group, which is the usual thing, nothing of that is in the way.
#include <sharp/api/sharp_coll.h>
#include <sharp/api/sumac_ext.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/context.hpp"
#include "client/open_groups.hpp"
#include "client/stripes.hpp"
#include "proto/client_group.hpp"

namespace sumac::client {

/// The user's description of an operation, checked: what proto needs, and how lists are gathered and scattered.
struct Reduction {
  proto::Operation operation;
  std::unique_ptr<Staging> staging;
};

class Comm {
 public:
  /// Collective over the members; see sharp_coll_comm_init(). Without the lock.
  static Outcome<std::unique_ptr<Comm>> make(Context& context, const sharp_coll_comm_init_spec& spec,
                                             const sharp_coll_out_of_band_colls& oob_colls);
  ~Comm();

  Context& context() const { return context_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  /// What every group can do: the least of them.
  const proto::GroupShape& shape() const { return shape_; }
  std::size_t groups() const { return channels_.size(); }

  // With the lock held.
  Outcome<Request*> post_barrier();
  Outcome<Request*> post(Reduction reduction);
  /// This member's next call is refused before it is sent: takes a number in each group, so that the others hear of it instead of
  /// waiting. If all refuse, the groups go on. False: kOperationsMax are outstanding.
  bool refuse();
  /// Leave after everything posted; the request (may be null) completes with it.
  void leave(Request* request);
  bool is_leaving() const { return is_leaving_; }
  bool has_left() const;
  /// Posted and not over. Refusals count, though no request stands for them: they take places like everything else.
  std::uint32_t outstanding() const {
    std::uint32_t most = in_order_tail_ - in_order_head_;
    for (const auto& channel : channels_) most = std::max(most, channel.group->outstanding());
    return most;
  }
  bool has_room() const { return outstanding() < proto::kOperationsMax; }
  /// Takes what is over. False: nothing more to expect for now.
  bool drain();
  /// Set once a group has ended, and with it all of them; logs at that moment. Null: it lives.
  const std::shared_ptr<const std::string>& end();
  /// Its groups get no message any more.
  void detach() noexcept;
  void fill(sumac_comm_info& info) const;

  bool is_watched = false;  ///< Of Context::watch().

 private:
  /// One of its groups.
  struct Channel {
    std::uint32_t tree = 0;  ///< Index into Job::trees.
    std::uint32_t depth = 0;
    std::unique_ptr<proto::ClientGroup> group;
    PieceRule pieces{};
  };

  Comm(Context& context, std::uint32_t size, std::uint32_t rank) : context_(context), size_(size), rank_(rank) {}
  Outcome<> join(const OpenedGroups& opened, std::span<const std::uint32_t> world_ranks);
  Outcome<Channel> make_channel(const OpenedGroup& opened, std::span<const std::uint32_t> world_ranks);
  Outcome<> standing(const Channel& channel) const;
  Outcome<> take_stream_locks();
  void tell_of_lock();
  void advance_copies();
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
  std::vector<Request*> copying_;  ///< What they give is still on its way from a GPU.
  std::shared_ptr<const std::string> end_;
  bool end_follows_ = false;  ///< It tells of somebody who left; better words may come.

  // With several groups only.
  StripeRule rule_;
  std::uint32_t turn_ =
      0;  ///< Where the next operation begins: posting is collective, so it is the same at all members.
  std::vector<Request*> in_order_;  ///< Ring of kOperationsMax, so that requests complete in the order of posting.
  std::uint32_t in_order_head_ = 0, in_order_tail_ = 0;
};

/// Without the lock: leave and wait for the others at most coll_timeout; if they don't come it is kept aside. False: with operations
/// of this member under way.
bool destroy(std::unique_ptr<Comm> comm);

/// Finds the communicator behind a handle of the C interface. Null: the handle is of no living communicator.
Comm* comm_of(const sharp_coll_comm* handle) noexcept;

}  // namespace sumac::client
