#pragma once
// An exchange of some of the ranks of Peers, by messages. Two exchanges under way at once have different names, or no rank
// in common.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rank/pairwise_exchange.hpp"
#include "rank/peers.hpp"

namespace sumac::rank {

/// The bits of a name. among() sets the one above them, so that the two exchanges never meet.
inline constexpr std::uint32_t kExchangeNames = 0x3fffffffu;

class MessageExchange final : public PairwiseExchange {
 public:
  struct Settings {
    std::vector<int> ranks;  ///< The ranks that these have among the peers.
    int rank = 0;            ///< This one's.
    std::uint32_t name = 0;  ///< The same at all ranks.
    std::uint32_t attempt =
        0;  ///< Counts exchanges of these ranks with this name: what is left of an older one is skipped.
    Duration within = Duration::max();
    const std::atomic<bool>* gives_up = nullptr;  ///< Set by another thread: the exchange ends.
  };
  MessageExchange(std::shared_ptr<Peers> peers, Settings settings);

  int rank() const noexcept override { return settings_.rank; }
  int size() const noexcept override { return static_cast<int>(settings_.ranks.size()); }
  Duration left() const override;
  std::unique_ptr<Exchange> among(const std::vector<int>& ranks) override;
  Error give_up(const Error& why) override;
  Result<> check() override;
  std::string_view other_job() const noexcept override { return "the ranks differ on the team that they make"; }

 private:
  struct Head;
  Head head(std::uint32_t code, std::size_t bytes) const;
  Result<> put(int to, const Bytes& own) override;
  Result<Bytes> take(int from) override;
  Result<> receive(int from, void* data, std::size_t bytes);
  Result<> wait(const std::shared_ptr<p2p::Message>& message, const std::string& other);
  const std::string& name_of(int rank) const;

  std::shared_ptr<Peers> peers_;
  Settings settings_;
  std::uint64_t who_;  ///< A hash of the ranks: those that differ on them find out.
  Time deadline_;
  std::optional<Error> failed_;
};

}  // namespace sumac::rank
