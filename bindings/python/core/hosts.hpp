#pragma once
// The way between hosts: groups of src/p2p, which need no MPI and no daemon. One group has a rank of each host and carries
// a team's operations among its leaders; where a host has several ranks, another one has all ranks and carries large
// blocks from rank to rank.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "bindings/python/core/members.hpp"
#include "bindings/python/core/store.hpp"
#include "coll/across.hpp"
#include "p2p/group.hpp"

namespace sumac::python {

class Hosts final : public coll::Across {
 public:
  /// Collective over all ranks of the store. `leaders` are ranks, ascending. `messages` gets those of the group of all
  /// ranks, and outlives it; null: there are none.
  static Result<std::unique_ptr<Hosts>> make(Exchange& exchange, const Members& members,
                                             const std::vector<int>& leaders, bool is_reproducible,
                                             p2p::MessageEvents* messages);

  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  std::string_view algorithm(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  bool adds_canonically(coll::Kind kind) const noexcept override;
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  Progress peek(void* request) override;
  void let_go(void* request) override;
  bool has_direct() const noexcept override { return true; }
  Progress start_direct(const coll::Operation& operation, void*& request) override;
  Sleep sleep(int us) override;
  std::string_view error() const noexcept override;

  /// The group of all ranks, whose messages any thread may move: it holds lock().
  p2p::Group& everyone() const noexcept { return all_ ? *all_ : *leaders_; }
  std::mutex& lock() const noexcept { return lock_; }
  /// This rank's team is over: the others read it, and no message comes any more. Until the end staying() can be asked.
  /// Returns false while an operation is under way, whose memory only the end gives back; then nothing happens.
  bool begin_to_leave();
  /// The other ranks whose teams are not over; empty if that is not known.
  std::vector<int> staying();
  /// All hosts read why this one goes on no more. The caller holds lock() and is the thread that runs operations.
  void break_because(const Error& why);

 private:
  Hosts() = default;
  Progress noted(p2p::Group& group, Progress progress, void* request);
  Progress ask(void* request, Progress (p2p::Group::*how)(void*));
  std::unique_lock<std::mutex> hold(const p2p::Group& group) const;

  std::unique_ptr<p2p::Group> leaders_;  ///< Null at a rank that does not lead.
  std::unique_ptr<p2p::Group> all_;      ///< Null where every rank leads: then `leaders_` has all ranks.
  std::unordered_map<void*, p2p::Group*> under_way_;
  mutable std::mutex lock_;
};

}  // namespace sumac::python
