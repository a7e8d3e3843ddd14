#pragma once
// Request handles of the C interface. A handle is a number, not a pointer: slot and generation, so that a handle used after it
// was freed is found out instead of reading somebody else's operation. sharp_coll_req_test() names no context, hence one table for the
// whole process; looking up is two loads. Slots are handed to contexts in batches, so the table's lock is not on any operation's path.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/cuda.hpp"

namespace sumac::client {

class Context;
class Comm;

/// User data that is not one contiguous range of host memory: gathered before, scattered after.
struct Staging {
  struct Piece {
    void* to;
    std::size_t bytes;
  };
  std::vector<std::byte> in;   ///< What the operation gives.
  std::vector<std::byte> out;  ///< What it keeps, until it goes to the pieces.
  std::vector<Piece> scatter;
  std::unique_ptr<cuda::Stage> cuda;  ///< Of what lies in GPU memory.
};

struct Request {
  enum class State : std::uint8_t { free, pending, complete, failed };

  std::atomic<std::uint32_t> generation{1};  ///< Of the handle that is valid now; raised when the slot is freed.
  State state = State::free;
  bool dropped = false;  ///< Freed by the caller while pending: the slot returns when the operation is over.
  bool streamed = false;
  bool is_leave = false;
  std::uint8_t kind = 0;    ///< Index of sumac_coll_stats.per_coll.
  std::uint16_t parts = 0;  ///< Of a communicator with several groups: stripes that are not over.
  std::uint32_t index = 0;  ///< Of this slot in the table.
  int status = 0;
  std::uint64_t fragments = 0, bytes = 0;
  Context* context = nullptr;  ///< Whose slot this is; null: nobody's.
  Comm* comm = nullptr;
  std::unique_ptr<Staging> staging;
  std::shared_ptr<const std::string> why;  ///< Of a failed one.

  void* handle() const noexcept {
    const std::uint64_t gen = generation.load(std::memory_order_relaxed);  // the owner alone changes it
    return reinterpret_cast<void*>(gen << 32 | (index + 1u));
  }
};

class RequestTable {
 public:
  static constexpr std::uint32_t kBatch = 64;       ///< Slots handed out at once.
  static constexpr std::uint32_t kBatches = 16384;  ///< A million requests in one process.

  /// Null: no such request any more, or never was. A slot that is free or dropped is found: look at it with its context's lock.
  Request* find(void* handle) const noexcept;
  /// kBatch free slots for `owner`, or null if the table is full.
  Request* take_batch(Context* owner);
  /// All slots of a batch are free again; their generations go on.
  void give_back(Request* batch);

 private:
  std::array<std::atomic<Request*>, kBatches> batches_{};
  std::mutex mutex_;
  std::uint32_t made_ = 0;
  std::vector<Request*> idle_;
  std::vector<std::unique_ptr<Request[]>> owned_;
};

/// One per process; ends with the library.
RequestTable& request_table();

/// The slots of one context. Guarded by the context's lock.
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
