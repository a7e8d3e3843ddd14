#pragma once
// A team's way between hosts, which needs no MPI and no daemon. One group has a rank of each host and carries a team's
// operations among its leaders; where a host has several ranks, another one has all ranks and carries large blocks from
// rank to rank.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "coll/across.hpp"
#include "p2p/group.hpp"
#include "p2p/ranks.hpp"

namespace sumac::p2p {

struct TeamConfig {
  const Ranks& ranks;
  const std::vector<int>& leaders;  ///< Ranks, ascending.
  std::string host_name;
  bool reproducible = false;
  /// Collects one blob of each rank, by rank; it is called by every rank of the team for each of the two groups. As in GroupConfig.
  std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte> mine)> exchange;
  Millis connect_within = GroupConfig{}.connect_within;
  std::function<Result<>()> check{};  ///< As in GroupConfig.
  /// Gets the messages of the group of all ranks, and outlives it; null: there are none.
  MessageEvents* messages = nullptr;
};

class TeamGroups final : public coll::Across {
 public:
  /// Collective over the team.
  static Result<std::unique_ptr<TeamGroups>> make(const TeamConfig& team);

  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  std::string_view algorithm(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  bool adds_canonically(coll::Kind kind) const noexcept override;
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  Progress peek(void* request) override;
  void let_go(void* request) override;
  void give_up(std::string_view why, int dead) override;
  bool has_direct() const noexcept override { return true; }
  Progress start_direct(const coll::Operation& operation, void*& request) override;
  void cork() override;
  void uncork() override;
  Sleep sleep(int us) override;
  std::string_view error() const noexcept override;

  /// The group of all ranks, whose messages any thread may move: it holds lock().
  Group& everyone() const noexcept { return all_ ? *all_ : *leaders_; }
  std::mutex& lock() const noexcept { return lock_; }
  /// This rank's team is over: the others read it, and no message comes any more. Until the end staying() can be asked.
  /// Returns false while an operation is under way, whose memory only the end gives back; then nothing happens.
  bool begin_to_leave();
  /// The other ranks whose teams are not over; empty if that is not known.
  std::vector<int> staying();
  /// All hosts read why this one goes on no more. The caller holds lock() and is the thread that runs operations.
  void break_because(const Error& why);

 private:
  TeamGroups() = default;
  Progress noted(Group& group, Progress progress, void* request);
  Progress ask(void* request, Progress (Group::*how)(void*));
  std::unique_lock<std::mutex> hold(const Group& group) const;

  std::unique_ptr<Group> leaders_;  ///< Null at a rank that does not lead.
  std::unique_ptr<Group> all_;      ///< Null where every rank leads: then `leaders_` has all ranks.
  std::unordered_map<void*, Group*> under_way_;
  mutable std::mutex lock_;
};

}  // namespace sumac::p2p
