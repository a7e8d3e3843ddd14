#pragma once
// A collective of a program, from ucc_collective_init() to ucc_collective_finalize(). It is one operation of src/team, or for
// an active set one message to each of its ranks; or it is done at once.
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "bindings/ucc/types.hpp"
#include "client/cuda/cuda.hpp"
#include "p2p/matcher.hpp"
#include "team/team.h"

struct ucc_team;

namespace sumac::ucc {

/// Elements that an operation can't use where they are: of a generic datatype that is not contiguous, which are packed, or in a GPU's
/// memory.
struct Packed {
  const ucc_dt_generic* type = nullptr;
  void* buffer = nullptr;  ///< The program's.
  std::size_t count = 0;
  std::vector<std::byte> memory;
  std::vector<client::cuda::Piece> pieces;  ///< In a GPU's memory, in the order of the operation's elements or blocks.

  /// Sets the size of `memory`.
  void measure(const ucc_dt_generic* of, void* from, std::size_t elements);
  /// False: the program's function gave nothing, or more than there was room for.
  [[nodiscard]] bool pack();
  ucc_status_t unpack() const;
};

struct Request : ucc_coll_req {
  /// Says which way it goes.
  enum class Way : std::uint8_t {
    nowhere,  ///< Nothing is to be moved.
    alone,    ///< A team of one.
    team,
    messages,  ///< An active set.
  };

  ucc_team* team = nullptr;
  Request* next_ended = nullptr;  ///< In Ended.
  sumac_op_t* op = nullptr;
  ucc_coll_callback_t callback{};
  Way way = Way::nowhere;
  bool has_callback = false, is_persistent = false, was_posted = false;
  /// These steps follow the operation, in the thread that takes it from Ended.
  bool divides = false, copies = false, unpacks = false;
  sumac_call_t call{};
  ucc_coll_type_t type = UCC_COLL_TYPE_BARRIER;
  ucc_datatype_t datatype = 0;
  std::size_t result_bytes = 0;
  std::atomic<ucc_status_t> outcome{UCC_OK};

  // ---- what few have
  std::vector<std::int64_t> counts[2],
      displacements[2];            ///< They are those of `in` and `out`, if these can't be used as they are.
  std::vector<std::byte> scratch;  ///< A result that is copied to `result`.
  void* result = nullptr;
  Packed packed_in, packed_out;
  std::unique_ptr<client::cuda::Stage> stage;  ///< The copies of what is in a GPU's memory, from one post to its end.
  Duration limit = Duration::max();            ///< The greatest: none.
  Time deadline{};
  std::vector<int> peers;  ///< The other ranks of an active set that this one sends to, or receives from.
  std::vector<std::shared_ptr<p2p::Message>> messages;
  std::uint32_t tag = 0;
  bool sends = false;
  std::atomic<int> left{0};  ///< Messages that are not done, and one for the posting thread.

  void reset(ucc_team& of);
  bool is_watched() const noexcept { return way == Way::messages || (way == Way::team && limit != Duration::max()); }
  bool is_on_device() const noexcept { return !packed_in.pieces.empty() || !packed_out.pieces.empty(); }
  /// Copies what the operation reads from the GPU to host memory, where it also gets its result.
  client::Outcome<> copy_from_device();
  bool has_more() const noexcept { return has_callback || divides || copies || unpacks || stage; }
  /// The operation has ended, in any thread: `status` is its outcome.
  void over(ucc_status_t status) noexcept;
  /// Does what follows it, and sets the program's status.
  void conclude();
  void message_over(ucc_status_t status) noexcept;
  /// Ends messages with ranks of this host that have died.
  void end_with_the_dead();
  /// Ends those of its messages that are not done.
  void withdraw(const std::function<bool(const p2p::Message&)>& which, const Error& why);
};

/// A plan that the next call often repeats with other buffers.
struct LastPlan {
  /// The arguments on which it depends.
  using Key = std::array<std::uint64_t, 8>;
  Key key{};
  sumac_call_t call{};
  ucc_datatype_t datatype = 0;
  std::size_t result_bytes = 0;
};

/// Fills in the request by the arguments. The answer is the same at all ranks, unless their arguments contradict each other.
ucc_status_t plan(Request& request, const ucc_coll_args_t& args, ucc_team& team);

/// The requests of a team, used again and again, and those that may have to be ended: they have a time limit, or are messages, whose
/// other rank may die.
class Requests {
 public:
  /// `has_threads`: several threads may use them at the same time.
  explicit Requests(bool has_threads) : has_threads_(has_threads) {}
  Request* take();
  void give_back(Request* request);

  /// Some request is a message that is not over.
  bool has_open_messages();
  /// The team's operations are gone: only finalize may still be called.
  void close();

  void watch(Request& request);
  void forget(const Request& request);
  /// Ends those whose time is over, and with one of them its team, and messages with ranks of this host that have died.
  void end_some();
  bool has_watched() const noexcept { return watched_count_.load(std::memory_order_relaxed) > 0; }

 private:
  std::unique_lock<std::mutex> hold() {
    return has_threads_ ? std::unique_lock(lock_) : std::unique_lock(lock_, std::defer_lock);
  }

  const bool has_threads_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Request>> all_;
  std::vector<Request*> spare_, watched_;
  std::atomic<int> watched_count_{0};
  Time looked_{};  ///< Whether ranks are alive.
};

}  // namespace sumac::ucc
