#pragma once
// A collective of a program, from xccl_collective_init() to xccl_collective_finalize(): one collective of libucc, or for a fetch two,
// one after the other.
#include "bindings/xccl/team.hpp"

/// A root's memory that the ranks of a team fetch from.
struct xccl_mem_handle {
  /// Each rank gives it to the others.
  struct Record {
    std::int64_t root = -1;  ///< -1: the rank's arguments are wrong.
    std::uint64_t length = 0;
  };
  std::shared_ptr<xccl_team> team;
  std::uint32_t number = 0;  ///< Equal at all ranks.
  int root = 0;
  std::byte* address = nullptr;  ///< Null at all ranks but the root.
  std::size_t length = 0;
  std::unique_ptr<std::byte[]> own;
  Record record;
  std::vector<Record> records;
  xccl_coll_req* exchange = nullptr;  ///< Null: it is over, and `status` its outcome.
  xccl_status_t status = XCCL_INPROGRESS;
};

namespace sumac::xccl {

/// A rank fetches these bytes.
struct Fetch {
  struct Record {
    std::uint64_t number, offset, length;
  };
  std::shared_ptr<xccl_mem_handle> memory;
  void* into = nullptr;
  Record record{};
  std::vector<Record> records;
  std::vector<std::uint64_t> counts, offsets;
  ucc_coll_req_h wishes = nullptr;  ///< Its first step: each rank's record to all.

  /// The second step moves the bytes. It fails alike at all ranks.
  xccl_status_t move(const xccl_team& team, ucc_coll_req_h& request);
};

xccl_status_t plan_fetch(xccl_coll_req& request, const xccl_coll_op_args_t& args);

/// Bytes of the host without flags, as libucc's arguments.
ucc_coll_buffer_info_t bytes_at(const void* buffer, std::size_t bytes);
/// An allgather of `bytes` from each rank.
xccl_status_t gather(const xccl_team& team, const void* own, void* all, std::size_t bytes, ucc_coll_req_h& request);
xccl_status_t init(ucc_coll_args_t& args, const xccl_team& team, ucc_coll_req_h& request);

/// Another thread may have ended it.
inline xccl_status_t status_of(const ucc_coll_req& request) noexcept {
  return status_of(__atomic_load_n(&request.status, __ATOMIC_ACQUIRE));
}

}  // namespace sumac::xccl

struct xccl_coll_req {
  enum class State : std::uint8_t { fresh, waiting, asking, running, failed };  ///< A fetch asks in its first step.

  std::shared_ptr<xccl_team> team;
  std::atomic<State> state{State::fresh};
  xccl_status_t failure = XCCL_OK;   ///< Valid in the state `failed`.
  ucc_coll_req_h request = nullptr;  ///< Its status is the program's in the state `running`.
  const void* root_src = nullptr;    ///< A broadcast's root copies from there into its result first.
  void* root_dst = nullptr;
  std::size_t root_bytes = 0;
  std::unique_ptr<sumac::xccl::Fetch> fetch;

  xccl_status_t status() const;
  /// Under the team's lock, the first step, and the second of a fetch: false if the first is under way.
  void start();
  bool move();
  /// Drops what libucc has of it, before its team ends.
  void drop();

 private:
  void set(xccl_status_t posted, State good);
};

namespace sumac::xccl {

/// Adds a request to its team and the register.
xccl_coll_req_h add(std::shared_ptr<xccl_coll_req> request);
xccl_status_t post(xccl_coll_req& request);
xccl_status_t test(xccl_coll_req& request);
xccl_status_t finalize(xccl_coll_req& request);

}  // namespace sumac::xccl
