#pragma once
// The program's own allgather, as an Exchange. Its functions are called in one thread: the caller's, which calls step() again
// and again, while another thread makes the team and waits in the exchange. Or one thread does both (`is_direct`).
#include <condition_variable>
#include <mutex>

#include "bindings/ucc/refuse.hpp"
#include "rank/allgather_exchange.hpp"

namespace sumac::ucc {

class OobExchange final : public rank::AllgatherExchange {
 public:
  OobExchange(const ucc_oob_coll_t& oob, bool is_direct, Duration within);

  /// Null, or what the program's structure lacks.
  static const char* flaw(const ucc_oob_coll_t& oob) noexcept;

  /// Called by the thread that may call the program's functions; never blocks.
  void step();

 private:
  enum class Stage : std::uint8_t { idle, asked, posted, done };
  Result<> run(const void* in, void* out, std::size_t bytes) override;

  ucc_oob_coll_t oob_;
  bool is_direct_;

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
