#pragma once
// The ranks of a team find each other through a store: a map from keys to bytes that every rank can reach before there
// is a team. PyTorch's Store is one, and the numpy module brings its own (sumac_collectives/store.py).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/sealed.hpp"
#include "base/secret.hpp"

namespace sumac::python {

using Bytes = std::vector<std::uint8_t>;

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<> set(const std::string& key, const Bytes& value) = 0;
  /// Waits for the key, but no longer than `at_most`; 0 only looks. Returns nothing if it is not there. An error is the
  /// store's own.
  virtual Result<std::optional<Bytes>> get(const std::string& key, Duration at_most) = 0;
};

/// The words for values of a length or kind that no rank of this job has sent.
inline constexpr std::string_view kOtherJob =
    "the store seems to hold keys of another job: give each job a store of its own, which is a new file, or a "
    "PrefixStore";

/// The exchange of one team over a store. Each use takes new keys, so all ranks must call the same in the same order.
///
/// It ends for good at the first failure: that of this rank (give_up), of another one, which this rank reads while it waits,
/// Ctrl-C, or the time limit. Every later use returns the same error at once.
class Exchange {
 public:
  Exchange(Store& store, int rank, int size, Duration within = Duration::max());

  /// The exchange of `size` of the ranks, at its own place in the store; it ends when this one does. `my_index` is -1 at a
  /// rank that does not take part.
  Exchange among(int size, int my_index);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// The time that is left for all that the ranks agree on.
  Duration left() const;

  /// Returns what each rank gave, in the order of ranks. Values may differ in length.
  Result<std::vector<Bytes>> allgather(const Bytes& own);
  /// The same at `root`, and nothing elsewhere.
  Result<std::vector<Bytes>> gather(int root, const Bytes& own);
  /// Returns what `root` gave.
  Result<Bytes> bcast(int root, const Bytes& own);

  /// Ends the exchange at all ranks: those that wait read this rank's reason. Returns why it ended, which is an earlier
  /// reason if there is one.
  Error give_up(const Error& why);
  /// Collective over all ranks. From here on nobody who reads the store learns what the ranks give each other, and nobody
  /// who writes to it can change that unnoticed.
  Result<> agree_on_key();
  /// For a rank that waits for something else than the exchange: returns an error if this is over for any reason.
  Result<> check();

 private:
  struct Shared {
    Store& store;
    int rank;  ///< Among all ranks, and not those of a part of them.
    Duration within;
    Time deadline;
    std::optional<Error> failed{};
    std::optional<SealKey> key{};  ///< Set: each value is sealed with a key of its own, which follows from this one.
    ~Shared() {
      if (key) wipe(*key);
    }
  };
  Exchange(std::shared_ptr<Shared> shared, int rank, int size, std::string place)
      : shared_(std::move(shared)), rank_(rank), size_(size), place_(std::move(place)) {}
  std::string next_use();
  Result<> put(const std::string& use, const Bytes& own);
  Result<Bytes> take(const std::string& use, int rank);
  Result<Bytes> opened(const std::string& name, int rank, Bytes value);
  Result<std::vector<Bytes>> take_all(const std::string& use, const Bytes& own);
  Result<> check_others();
  Error too_late(const std::string& use);

  std::shared_ptr<Shared> shared_;
  int rank_, size_;
  std::string place_;
  unsigned uses_ = 0;
};

/// A record of plain bytes, as it travels.
template <class Record>
Bytes bytes_of(const Record& record) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&record);
  return {first, first + sizeof record};
}

inline std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
inline Bytes bytes_of_text(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace sumac::python
