#pragma once
// One communicator: a group on the tree, and the requests posted on it.
#include <sharp/api/sharp_coll.h>
#include <sharp/api/sumac_ext.h>

#include <memory>
#include <string>

#include "client/context.hpp"
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

  Context& context() { return context_; }
  proto::ClientGroup& group() { return *group_; }

  // With the lock held.
  Outcome<Request*> post_barrier();
  Outcome<Request*> post(Reduction reduction);
  /// Leave after everything posted; the request (may be null) completes with it.
  void leave(Request* request);
  bool is_leaving() const { return is_leaving_; }
  bool has_left() const { return group_->phase() == proto::ClientGroup::Phase::left; }
  std::uint32_t outstanding() const { return group_->outstanding(); }
  /// Takes what is over. False: nothing more to expect for now.
  bool drain();
  /// Set once the group has ended; logs at that moment. Null: it lives.
  const std::shared_ptr<const std::string>& end();
  void fill(sumac_comm_info& info) const;

  bool is_watched = false;  ///< Of Context::watch().

 private:
  Comm(Context& context, std::uint32_t size, std::uint32_t rank) : context_(context), size_(size), rank_(rank) {}
  Outcome<> open_and_join(const Oob& oob, std::uint32_t group_id, std::span<const std::uint32_t> world_ranks);
  Outcome<Request*> post(proto::Operation& operation, std::unique_ptr<Staging> staging, std::size_t kind,
                         std::uint64_t bytes);

  Context& context_;
  const std::uint32_t size_, rank_;
  std::uint32_t group_id_ = 0, depth_ = 0;
  std::unique_ptr<proto::ClientGroup> group_;
  bool is_leaving_ = false;
  Request* leave_request_ = nullptr;
  std::shared_ptr<const std::string> end_;
};

/// Without the lock: leave and wait for the others at most coll_timeout; false if they did not come (it is then kept aside).
bool destroy(std::unique_ptr<Comm> comm);

}  // namespace sumac::client
