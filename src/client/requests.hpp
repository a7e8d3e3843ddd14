#pragma once
// Request handles of the C interface. A handle is a number, not a pointer: slot and generation, so that a handle used
// after its release is detected and does not reach another operation. sharp_coll_req_test() has no context argument, so
// there is one table for the whole process; a look-up costs two loads. Contexts get slots in batches, so no operation
// takes the table's lock.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/cuda/cuda.hpp"

namespace sumac::client {

class Context;
class Comm;

/// User data that is not one contiguous range of host memory: it is gathered before and scattered after the operation.
struct Staging {
  struct Piece {
    void* to;
    std::size_t bytes;
  };
  std::vector<std::byte> in;   ///< The operation's input.
  std::vector<std::byte> out;  ///< The operation's result, until it is scattered.
  std::vector<Piece> scatter;
  std::unique_ptr<cuda::Stage> cuda;  ///< The stage for data in GPU memory.
};

struct Request {
  enum class State : std::uint8_t { free, pending, complete, failed };

  std::atomic<std::uint32_t> generation{1};  ///< Part of the handle that is valid now; raised when the slot is freed.
  State state = State::free;
  bool dropped = false;  ///< Freed by the caller while pending: the slot returns when the operation is over.
  bool streamed = false;
  bool is_leave = false;
  bool by_hop = false;      ///< The kernels of nodes have answered it.
  std::uint8_t kind = 0;    ///< Index of sumac_coll_stats.per_coll.
  std::uint16_t parts = 0;  ///< With several groups: the number of stripes that are not over.
  std::uint32_t index = 0;  ///< The index of this slot in the table.
  int status = 0;
  std::uint64_t fragments = 0, bytes = 0;
  Context* context = nullptr;  ///< The owner of this slot; null: none.
  Comm* comm = nullptr;
  std::unique_ptr<Staging> staging;
  std::shared_ptr<const std::string> why;  ///< The reason, if it failed.

  void* handle() const noexcept {
    const std::uint64_t gen = generation.load(std::memory_order_relaxed);  // Only the owner changes it.
    return reinterpret_cast<void*>(gen << 32 | (index + 1u));
  }
};

class RequestTable {
 public:
  static constexpr std::uint32_t kBatch = 64;       ///< The number of slots that a context gets at once.
  static constexpr std::uint32_t kBatches = 16384;  ///< A million requests in one process.

  /// Returns null if there is no such request, or never was. It also finds a free or dropped slot: check that under the
  /// context's lock.
  Request* find(void* handle) const noexcept;
  /// Returns kBatch free slots for `owner`, or null if the table is full.
  Request* take_batch(Context* owner);
  /// All slots of a batch are free again; their generations continue.
  void give_back(Request* batch);

 private:
  std::array<std::atomic<Request*>, kBatches> batches_{};
  std::mutex mutex_;
  std::uint32_t made_ = 0;
  std::vector<Request*> idle_;
  std::vector<std::unique_ptr<Request[]>> owned_;
};

/// One table per process; it lives as long as the library.
RequestTable& request_table();

/// The slots of one context. The context's lock guards it.
class RequestPool {
 public:
  explicit RequestPool(Context* owner) : owner_(owner) {}
  ~RequestPool();
  Request* take();  ///< Null: the process has too many.
  void put(Request* request) noexcept;
  template <class F>
  void each(F&& visit) {
    for (Request* batch : batches_)
      for (std::uint32_t i = 0; i < RequestTable::kBatch; ++i) visit(batch[i]);
  }

 private:
  Context* owner_;
  std::vector<Request*> batches_, free_;
};

}  // namespace sumac::client
