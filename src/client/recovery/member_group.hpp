#pragma once
// A communicator's group on one tree: a ClientGroup, which ends with its tree, or with recovery one that outlives
// it. Both have the same calls.
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "proto/recovery_lasting.hpp"

namespace sumac::client {

class MemberGroup {
 public:
  using Phase = proto::ClientGroup::Phase;

  explicit MemberGroup(std::unique_ptr<proto::ClientGroup> plain) : plain_(std::move(plain)) {}
  explicit MemberGroup(std::unique_ptr<proto::recovery::LastingGroup> lasting) : lasting_(std::move(lasting)) {}

  /// Null: it ends with its tree.
  proto::recovery::LastingGroup* lasting() const noexcept { return lasting_.get(); }
  proto::ClientGroup& on_tree() const noexcept { return lasting_ ? lasting_->on_tree() : *plain_; }
  /// Null: recovery has something to do, or to see. Otherwise the group on the tree has all calls of an operation for itself.
  proto::ClientGroup* calm() const noexcept { return plain_ ? plain_.get() : lasting_->calm(); }
  /// Its members are its tree.
  bool is_without_tree() const noexcept { return lasting_ && lasting_->epoch() != 0; }

  void start(Time now) { lasting_ ? lasting_->start(now) : plain_->start(now); }
  tl::expected<proto::OpId, Errc> post(const proto::Operation& operation, Time now) {
    auto* tree = calm();
    return tree != nullptr ? tree->post(operation, now) : lasting_->post(operation, now);
  }
  std::optional<proto::Completion> next_completion() {
    auto* tree = calm();
    return tree != nullptr ? tree->next_completion() : lasting_->next_completion();
  }
  std::uint32_t outstanding() const noexcept {
    const auto* tree = calm();
    return tree != nullptr ? tree->outstanding() : lasting_->outstanding();
  }
  void wake(Time now) { lasting_ ? lasting_->wake(now) : plain_->wake(now); }
  void give_up(Time now) { lasting_ ? lasting_->give_up(now) : plain_->give_up(); }
  void let_go(Time now, std::uint32_t dead) { lasting_ ? lasting_->give_up(now, dead) : plain_->let_go(dead); }
  void leave(Time now) { lasting_ ? lasting_->leave(now) : plain_->leave(now); }
  Phase phase() const noexcept { return lasting_ ? lasting_->phase() : plain_->phase(); }
  const std::optional<proto::Verdict>& verdict() const noexcept {
    return lasting_ ? lasting_->verdict() : plain_->verdict();
  }
  std::string why(std::span<const std::string> names = {}) const {
    return lasting_ ? lasting_->why(names) : plain_->why(names);
  }
  const proto::GroupShape& shape() const noexcept { return on_tree().shape(); }
  const proto::ClientGroupConfig& config() const noexcept { return on_tree().config(); }
  const std::optional<wire::RefusedBody>& refusal() const noexcept { return on_tree().refusal(); }
  const std::optional<wire::InvitedBody>& invitation() const noexcept { return on_tree().invitation(); }

 private:
  std::unique_ptr<proto::ClientGroup> plain_;
  std::unique_ptr<proto::recovery::LastingGroup> lasting_;
};

}  // namespace sumac::client
