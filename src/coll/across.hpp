#pragma once
// The interface by which a team's leaders run collectives between hosts: over the aggregation tree (src/client) or with
// the MPI's own collectives. The team asks the implementations once for each operation, and starts it with the one that
// takes it.
//
// Ranks and roots are indices of leaders; in start_direct() they are ranks of the team. All leaders start the same
// operations in the same order, and several may be in flight. Only one thread at a time may call.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "coll/operation.hpp"

namespace sumac::coll {

class Across {
 public:
  enum class Progress : std::uint8_t { pending, done, failed };
  enum class Sleep : std::uint8_t {
    impossible,  ///< There is nothing to sleep on.
    in_vain,     ///< The time is over, and nothing has arrived.
    test,        ///< Something may have arrived: call test().
  };

  virtual ~Across() = default;

  /// True if the implementation does such operations. Every rank asks, even one that leads no one, and all get the same
  /// answer: it depends on the arguments and on the agreed settings, and does not change while the team lives. `bytes`
  /// is Operation::bytes; for an allgatherv it is the sum of all blocks, for a reduce_scatter_block the whole vector.
  /// `fold` is null for collectives that do not reduce.
  virtual bool takes(Kind kind, std::size_t bytes, const Fold* fold) const noexcept = 0;
  /// The reason why takes() is false, as a clause for people: "of this it carries up to 4096 bytes". Empty if takes()
  /// is true.
  virtual std::string why_not(Kind kind, std::size_t bytes, const Fold* fold) const = 0;

  /// The algorithm for such an operation, as a name for people ("ring"). Empty if there is no choice, or if this rank
  /// carries nothing between hosts. Arguments as for takes().
  virtual std::string_view algorithm(Kind, std::size_t, const Fold*) const { return {}; }

  /// The reason why no operation goes by the hop, where the kernels of nodes answer, as a clause for people. Empty: some go there, or
  /// there is no hop.
  virtual std::string no_hop() const { return {}; }
  /// Says of an operation that it goes by the hop, or why not: "by the hop". Empty where no_hop() has the reason, or if there is no hop.
  virtual std::string about_hop(Kind, std::size_t, const Fold*) const { return {}; }
  /// The operation whose end test() or peek() has reported last went by the hop.
  virtual bool went_by_hop() const noexcept { return false; }

  /// True if it adds along the canonical tree of the leaders (canonical.hpp) where SUMAC_REPRODUCIBLE=1, so that the bits
  /// of a sum are the same in every call and on every network. The same at every rank.
  virtual bool adds_canonically(Kind) const noexcept { return false; }

  /// Called by leaders only. `operation`, its buffers and its fold must stay valid until test() reports the end.
  /// `request` is set if the result is `pending`. After `failed` the team is broken at every rank.
  virtual Progress start(const Operation& operation, void*& request) = 0;
  /// Moves the request on. The request no longer exists if the result is not `pending`.
  virtual Progress test(void* request) = 0;
  /// Does the same right behind another test() or peek(), which has looked for messages: so this one need not.
  virtual Progress peek(void* request) { return test(request); }

  /// The team is broken, so the memory of this operation goes back to its owner: nobody reads or writes it any more, and
  /// the request no longer exists. The other members learn of it. MPI's own collectives can't be ended, and what carries
  /// operations by them does nothing here.
  virtual void let_go(void* /*request*/) {}

  /// The team has ended at this rank, and `why`: the other members learn of it, so that nobody waits for this one. `dead`: the rank of
  /// this host whose death is the reason, by the number that people know. Repeated calls do nothing. What carries operations by MPI's
  /// own collectives does nothing here.
  virtual void give_up(std::string_view /*why*/, int /*dead*/) {}

  /// A member is dead or has given up, as far as this way hears of it: collectives among the leaders end no more, whoever carries them.
  /// error() names it. Looks for messages.
  virtual bool has_lost_member() { return false; }

  /// Between the two calls what start() sends is gathered, so that operations that are started together leave in as few
  /// system calls as possible. Nothing else is called meanwhile but start(), test(), peek() and let_go().
  virtual void cork() {}
  virtual void uncork() {}

  /// True if start_direct() may be called.
  virtual bool has_direct() const noexcept { return false; }
  /// Called by every rank: an alltoallv over the whole team that sends no empty blocks. Two ranks that exchange data
  /// both know it, and a rank that has no block at all does not call it.
  virtual Progress start_direct(const Operation&, void*&) { return Progress::failed; }

  /// Sleeps at most `us` microseconds, until something may have arrived for a started operation.
  virtual Sleep sleep(int) { return Sleep::impossible; }

  /// One line about the last failure; may be empty.
  virtual std::string_view error() const noexcept = 0;
};

}  // namespace sumac::coll
