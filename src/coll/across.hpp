#pragma once
// The interface behind which a team's leaders find the way between hosts: the aggregation tree (src/client) or the MPI's own collectives.
// A team asks once for each operation, and starts it with the one that takes it.
//
// Ranks and roots are indices of leaders; in start_direct() they are ranks of the team. All leaders start the same operations in the same
// order, and several may be in flight. One thread at a time.
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
    in_vain,     ///< The time is over, and nothing has come.
    test,        ///< Something may have come.
  };

  virtual ~Across() = default;

  /// True where it does such operations. Every rank is asked, also one that leads nothing, and the answer is the same at all of them: it
  /// depends on the arguments and on what was agreed, and does not change while the team lives. `bytes` is Operation::bytes; of an
  /// allgatherv all blocks together, of a reduce_scatter_block the whole vector. `fold` is null for what does not reduce.
  virtual bool takes(Kind kind, std::size_t bytes, const Fold* fold) const noexcept = 0;
  /// Why takes() says no, as a clause for people: "of this it carries up to 4096 bytes". Empty where it says yes.
  virtual std::string why_not(Kind kind, std::size_t bytes, const Fold* fold) const = 0;

  /// Leaders only. `operation`, its buffers and its fold stay valid until test() says that it is over. `request` is set where the answer
  /// is `pending`. After `failed` the team is broken at every rank.
  virtual Progress start(const Operation& operation, void*& request) = 0;
  /// Moves the request on. It is gone when the answer is not `pending`.
  virtual Progress test(void* request) = 0;

  /// True where start_direct() may be called.
  virtual bool has_direct() const noexcept { return false; }
  /// Every rank: an alltoallv over the whole team in which a block without bytes is not sent. Two ranks that exchange something both know
  /// it, and a rank that has no block at all does not call it.
  virtual Progress start_direct(const Operation&, void*&) { return Progress::failed; }

  /// Sleeps until something may have come for what was started, at most `us` microseconds.
  virtual Sleep sleep(int) { return Sleep::impossible; }

  /// One line about the last failure; may be empty.
  virtual std::string_view error() const noexcept = 0;
};

}  // namespace sumac::coll
