#pragma once
// The program's own allgather, as an Exchange. Its functions are called in one thread: the caller's, which calls step() again
// and again, while another thread makes the team and waits in the exchange. Or one thread does both (`is_direct`).
//
// Each use is an allgather of lengths and one of values; a rank that has failed gives its reason in place of its value.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "bindings/ucc/refuse.hpp"
#include "rank/exchange.hpp"

namespace sumac::ucc {

class OobExchange final : public rank::Exchange {
 public:
  OobExchange(const ucc_oob_coll_t& oob, bool is_direct, Duration within);

  /// Null, or what the program's structure lacks.
  static const char* flaw(const ucc_oob_coll_t& oob) noexcept;

  /// Called by the thread that may call the program's functions; never blocks.
  void step();

  int rank() const noexcept override { return static_cast<int>(oob_.oob_ep); }
  int size() const noexcept override { return static_cast<int>(oob_.n_oob_eps); }
  Duration left() const override;
  Result<std::vector<rank::Bytes>> allgather(const rank::Bytes& own) override { return use(own, 0); }
  Result<std::vector<rank::Bytes>> gather(int root, const rank::Bytes& own) override;
  Result<rank::Bytes> bcast(int root, const rank::Bytes& own) override;
  /// There is none: what needs it goes by messages (rank/message_exchange.hpp).
  std::unique_ptr<rank::Exchange> among(const std::vector<int>&) override { return nullptr; }
  Error give_up(const Error& why) override;
  Result<> check() override;
  std::string_view other_job() const noexcept override {
    return "the allgather of the OOB gave bytes that no rank has sent";
  }

 private:
  enum class Stage : std::uint8_t { idle, asked, posted, done };
  Result<std::vector<rank::Bytes>> use(const rank::Bytes& own, std::uint32_t code);
  Result<> run(const void* in, void* out, std::size_t bytes);

  ucc_oob_coll_t oob_;
  bool is_direct_;
  Time deadline_;
  std::optional<Error> failed_;

  std::mutex lock_;  ///< Guards all below.
  std::condition_variable changed_;
  Stage stage_ = Stage::idle;
  const void* in_ = nullptr;
  void* out_ = nullptr;
  std::size_t bytes_ = 0;
  void* request_ = nullptr;
  ucc_status_t status_ = UCC_OK;
};

}  // namespace sumac::ucc
