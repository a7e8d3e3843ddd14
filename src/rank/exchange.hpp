#pragma once
// The ranks of a team exchange bytes before they have a team: through a store (bindings/python), an allgather of the
// program's own, or messages of the processes' context (bindings/ucc).
//
// It ends for good at the first failure: that of this rank (give_up), of another one, which this rank reads while it waits,
// or the time limit. Every later use returns the same error at once. All ranks make the same uses in the same order.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace sumac::rank {

using Bytes = std::vector<std::uint8_t>;

/// Without SUMAC_TIMEOUT a rank waits so long for ranks that may never come, where its front end can't name them: they may disagree on
/// who makes a team, or have gone another way. One that is late looks the same, and no program is so late.
inline constexpr Duration kMeetWithin = std::chrono::minutes{10};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// The time that is left for all that the ranks agree on.
  virtual Duration left() const = 0;

  /// Returns what each rank gave, in the order of ranks. Values may differ in length.
  virtual Result<std::vector<Bytes>> allgather(const Bytes& own) = 0;
  /// The same at `root`, and nothing elsewhere.
  virtual Result<std::vector<Bytes>> gather(int root, const Bytes& own) = 0;
  /// Returns what `root` gave.
  virtual Result<Bytes> bcast(int root, const Bytes& own) = 0;
  /// The exchange of some of the ranks, ascending; it ends when this one does. Every rank calls it, and one that is not
  /// among `ranks` must not use the result.
  virtual std::unique_ptr<Exchange> among(const std::vector<int>& ranks) = 0;

  /// Ends the exchange at all ranks: those that wait read this rank's reason. Returns why it ended, which is an earlier
  /// reason if there is one.
  virtual Error give_up(const Error& why) = 0;
  /// For a rank that waits for something else than the exchange: returns an error if this is over for any reason.
  virtual Result<> check() = 0;
  /// A clause for people: how bytes that no rank of this job has sent can come here, and what to do.
  virtual std::string_view other_job() const noexcept = 0;
};

/// A record of plain bytes, as it travels.
template <class Record>
Bytes bytes_of(const Record& record) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&record);
  return {first, first + sizeof record};
}

inline std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
inline Bytes bytes_of_text(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace sumac::rank
