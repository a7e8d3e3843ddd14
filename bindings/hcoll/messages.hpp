#pragma once
// The ranks of a group exchange bytes by the client's messages, in the call that makes their context.
//
// A value is one message of a fixed size, and where it is longer a second one with the rest. All have one tag: both ranks of a pair
// make the same uses in the same order.
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/hcoll/refuse.hpp"
#include "rank/pairwise_exchange.hpp"

namespace sumac::hcoll {

class GroupExchange final : public rank::PairwiseExchange {
 public:
  GroupExchange(rte_grp_handle_t group, int rank, int size, std::uint32_t tag, Duration within);
  ~GroupExchange() override;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(ranks_.size()); }
  Duration left() const override;
  std::unique_ptr<rank::Exchange> among(const std::vector<int>& ranks) override;
  Error give_up(const Error& why) override;
  Result<> check() override;
  std::string_view other_job() const noexcept override { return "the ranks differ on the context that they make"; }

 private:
  struct Head;
  struct Message;
  struct Shared;
  GroupExchange(std::shared_ptr<Shared> shared, std::vector<int> ranks, int rank);
  Result<> put(int to, const rank::Bytes& own) override;
  Result<rank::Bytes> take(int from) override;

  std::shared_ptr<Shared> shared_;
  std::vector<int> ranks_;  ///< In the group.
  int rank_;
};

}  // namespace sumac::hcoll
