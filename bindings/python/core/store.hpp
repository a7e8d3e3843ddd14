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
#include "rank/exchange.hpp"
#include "rank/interrupt.hpp"
#include "rank/members.hpp"
#include "rank/words.hpp"

namespace sumac::python {

// The core of every front end.
using rank::Bytes;
using rank::bytes_of_text;
using rank::Exchange;
using rank::interrupt_check;
using rank::is_interrupted;
using rank::Member;
using rank::Members;
using rank::milliseconds;
using rank::printable;
using rank::text_of;

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

/// The exchange of one team over a store. Each use takes new keys.
class StoreExchange final : public Exchange {
 public:
  StoreExchange(Store& store, int rank, int size, Duration within = Duration::max());

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  Duration left() const override;
  Result<std::vector<Bytes>> allgather(const Bytes& own) override;
  Result<std::vector<Bytes>> gather(int root, const Bytes& own) override;
  Result<Bytes> bcast(int root, const Bytes& own) override;
  /// It has its own place in the store.
  std::unique_ptr<Exchange> among(const std::vector<int>& ranks) override;
  Error give_up(const Error& why) override;
  /// Collective over all ranks. From here on nobody who reads the store learns what the ranks give each other, and nobody
  /// who writes to it can change that unnoticed.
  Result<> agree_on_key();
  Result<> check() override;
  std::string_view other_job() const noexcept override { return kOtherJob; }

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
  StoreExchange(std::shared_ptr<Shared> shared, int rank, int size, std::string place)
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

}  // namespace sumac::python
