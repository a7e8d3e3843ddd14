#pragma once
// An exchange by an allgather of the program's own, which moves a fixed number of bytes. Each use is an allgather of lengths and one
// of values; a rank that has failed gives its reason in place of its value.
#include <optional>

#include "rank/exchange.hpp"

namespace sumac::rank {

class AllgatherExchange : public Exchange {
 public:
  AllgatherExchange(int rank, int size, Duration within)
      : rank_(rank), size_(size), deadline_(deadline_after(monotonic_now(), within)) {}

  int rank() const noexcept final { return rank_; }
  int size() const noexcept final { return size_; }
  Duration left() const final;
  Result<std::vector<Bytes>> allgather(const Bytes& own) final { return use(own, 0); }
  Result<std::vector<Bytes>> gather(int root, const Bytes& own) final;
  Result<Bytes> bcast(int root, const Bytes& own) final;
  /// There is none: what needs it goes by messages (message_exchange.hpp).
  std::unique_ptr<Exchange> among(const std::vector<int>&) final { return nullptr; }
  Error give_up(const Error& why) final;
  Result<> check() final;
  std::string_view other_job() const noexcept final { return "the allgather gave bytes that no rank has sent"; }

 private:
  /// The program's allgather. With Errc::timeout the program may still write to `out`, which is then left to it.
  virtual Result<> run(const void* in, void* out, std::size_t bytes) = 0;
  Result<std::vector<Bytes>> use(const Bytes& own, std::uint32_t code);

  int rank_, size_;
  Time deadline_;
  std::optional<Error> failed_;
};

}  // namespace sumac::rank
