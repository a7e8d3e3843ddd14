// The functions of the interface that begin an operation.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <limits>

#include "bindings/c/team.hpp"
#include "sharp/api/sharp_coll.h"

using sumac::c::guarded;

namespace {

// The numbers are those that src/team takes.
constexpr int kOurs[] = {SUMAC_UINT32, SUMAC_INT32, SUMAC_UINT64,  SUMAC_INT64,    SUMAC_FLOAT32, SUMAC_FLOAT64,
                         SUMAC_UINT16, SUMAC_INT16, SUMAC_FLOAT16, SUMAC_BFLOAT16, SUMAC_UINT8,   SUMAC_INT8,
                         SUMAC_MAX,    SUMAC_MIN,   SUMAC_SUM,     SUMAC_PROD,     SUMAC_LAND,    SUMAC_BAND,
                         SUMAC_LOR,    SUMAC_BOR,   SUMAC_LXOR,    SUMAC_BXOR};
constexpr int kTheirs[] = {SHARP_DTYPE_UNSIGNED,
                           SHARP_DTYPE_INT,
                           SHARP_DTYPE_UNSIGNED_LONG,
                           SHARP_DTYPE_LONG,
                           SHARP_DTYPE_FLOAT,
                           SHARP_DTYPE_DOUBLE,
                           SHARP_DTYPE_UNSIGNED_SHORT,
                           SHARP_DTYPE_SHORT,
                           SHARP_DTYPE_FLOAT_SHORT,
                           SHARP_DTYPE_BFLOAT16,
                           SHARP_DTYPE_UINT8,
                           SHARP_DTYPE_INT8,
                           SHARP_OP_MAX,
                           SHARP_OP_MIN,
                           SHARP_OP_SUM,
                           SHARP_OP_PROD,
                           SHARP_OP_LAND,
                           SHARP_OP_BAND,
                           SHARP_OP_LOR,
                           SHARP_OP_BOR,
                           SHARP_OP_LXOR,
                           SHARP_OP_BXOR};
static_assert(std::ranges::equal(kOurs, kTheirs));

/// It says what a reduction does with two elements.
struct Pair {
  sumac_type type;
  sumac_reduction op;
};

/// Runs a collective, or posts it. Of a reduction `call.bytes` counts the elements.
int collective(sumac_open_team* team, sumac_call_t call, sumac_team_request_t** request_p,
               const Pair* pair = nullptr) noexcept {
  if (team == nullptr) return SUMAC_ERR_INVALID;
  return guarded([&] {
    if (!team->is_usable()) return int{SUMAC_ERR_INVALID};
    const char* const name = sumac_coll_name(call.coll);
    if (call.root < 0 || call.root >= team->size)
      return team->fail(SUMAC_ERR_INVALID, fmt::format("{}: there is no rank {} for its root", name, call.root));
    sumac_team_request* const request = team->take();
    request->team = team;
    if (pair != nullptr) {
      const std::size_t count = call.bytes;
      const int known = sumac_fold_standard(&request->fold, pair->type, pair->op, SHARP_DTYPE_NULL);
      if (known != SUMAC_TEAM_OK || count > std::numeric_limits<std::size_t>::max() / request->fold.element_bytes /
                                                static_cast<std::size_t>(team->size)) {
        team->give_back(*request);
        return team->fail(SUMAC_ERR_INVALID,
                          fmt::format("{}: no operation {} of elements {}, or {} of them are too many", name,
                                      static_cast<int>(pair->op), static_cast<int>(pair->type), count));
      }
      call.fold = &request->fold;
      call.bytes = count * request->fold.element_bytes;
    }
    request->call = call;
    return team->run(*request, request_p);
  });
}

sumac_call_t call_of(sumac_coll coll, const void* in, void* out, std::size_t bytes = 0, int root = 0) noexcept {
  sumac_call_t call{};
  call.coll = static_cast<std::uint8_t>(coll);
  call.in = in;
  call.out = out;
  call.bytes = bytes;
  call.root = root;
  return call;
}

int reduction(sumac_open_team* team, const sumac_call_t& call, const Pair& pair,
              sumac_team_request_t** request_p) noexcept {
  return collective(team, call, request_p, &pair);
}

sumac_blocks_t blocks(const std::int64_t* bytes, const std::int64_t* offsets) noexcept {
  return {bytes, offsets, 1, 1};
}

/// A rank has no messages with itself.
template <class Begin>
int message(sumac_open_team* team, int other, int tag, int* from, sumac_team_request_t** request_p,
            Begin begin) noexcept {
  if (team == nullptr) return SUMAC_ERR_INVALID;
  return guarded([&] {
    if (!team->is_usable()) return int{SUMAC_ERR_INVALID};
    if (other < SUMAC_ANY_RANK || other >= team->size || other == team->rank || tag < 0 || !team->peers)
      return team->fail(SUMAC_ERR_INVALID, fmt::format("a message with rank {} of {}, from rank {}, with tag {}", other,
                                                       team->size, team->rank, tag));
    if (sumac_team_error(team->team)[0] != '\0') return team->broken();
    sumac_team_request* const request = team->take();
    request->team = team;
    request->from = from;
    request->looked = {};
    request->message = begin(*team->peers);
    return team->send_or_receive(*request, request_p);
  });
}

}  // namespace

extern "C" {

int sumac_team_barrier(sumac_open_team_t* team, sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_BARRIER, nullptr, nullptr), request_p);
}

int sumac_team_bcast(sumac_open_team_t* team, void* data, size_t bytes, int root, sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_BCAST, nullptr, data, bytes, root), request_p);
}

int sumac_team_allreduce(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                         enum sumac_reduction op, sumac_team_request_t** request_p) {
  return reduction(team, call_of(SUMAC_COLL_ALLREDUCE, in, out, count), {type, op}, request_p);
}

int sumac_team_reduce(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                      enum sumac_reduction op, int root, sumac_team_request_t** request_p) {
  return reduction(team, call_of(SUMAC_COLL_REDUCE, in, out, count, root), {type, op}, request_p);
}

int sumac_team_scan(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                    enum sumac_reduction op, sumac_team_request_t** request_p) {
  return reduction(team, call_of(SUMAC_COLL_SCAN, in, out, count), {type, op}, request_p);
}

int sumac_team_exscan(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                      enum sumac_reduction op, sumac_team_request_t** request_p) {
  return reduction(team, call_of(SUMAC_COLL_EXSCAN, in, out, count), {type, op}, request_p);
}

int sumac_team_reduce_scatter(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                              enum sumac_reduction op, sumac_team_request_t** request_p) {
  return reduction(team, call_of(SUMAC_COLL_REDUCE_SCATTER_BLOCK, in, out, count), {type, op}, request_p);
}

int sumac_team_allgather(sumac_open_team_t* team, const void* in, void* out, size_t bytes,
                         sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_ALLGATHER, in, out, bytes), request_p);
}

int sumac_team_alltoall(sumac_open_team_t* team, const void* in, void* out, size_t bytes,
                        sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_ALLTOALL, in, out, bytes), request_p);
}

int sumac_team_gather(sumac_open_team_t* team, const void* in, void* out, size_t bytes, int root,
                      sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_GATHER, in, out, bytes, root), request_p);
}

int sumac_team_scatter(sumac_open_team_t* team, const void* in, void* out, size_t bytes, int root,
                       sumac_team_request_t** request_p) {
  return collective(team, call_of(SUMAC_COLL_SCATTER, in, out, bytes, root), request_p);
}

int sumac_team_allgatherv(sumac_open_team_t* team, const void* in, void* out, const int64_t* bytes,
                          const int64_t* offsets, sumac_team_request_t** request_p) {
  if (bytes == nullptr || offsets == nullptr) return SUMAC_ERR_INVALID;
  sumac_call_t call = call_of(SUMAC_COLL_ALLGATHERV, in, out);
  call.out_blocks = blocks(bytes, offsets);
  return collective(team, call, request_p);
}

int sumac_team_alltoallv(sumac_open_team_t* team, const void* in, const int64_t* in_bytes, const int64_t* in_offsets,
                         void* out, const int64_t* out_bytes, const int64_t* out_offsets,
                         sumac_team_request_t** request_p) {
  const bool is_in_place = in == nullptr || in == out;
  if (out_bytes == nullptr || out_offsets == nullptr ||
      (!is_in_place && (in_bytes == nullptr || in_offsets == nullptr)))
    return SUMAC_ERR_INVALID;
  sumac_call_t call = call_of(SUMAC_COLL_ALLTOALLV, in, out);
  call.out_blocks = blocks(out_bytes, out_offsets);
  call.in_blocks = is_in_place ? call.out_blocks : blocks(in_bytes, in_offsets);
  return collective(team, call, request_p);
}

int sumac_team_send(sumac_open_team_t* team, const void* data, size_t bytes, int to, int tag,
                    sumac_team_request_t** request_p) {
  if (to == SUMAC_ANY_RANK) to = INT_MIN;
  return message(team, to, tag, nullptr, request_p, [&](sumac::rank::Peers& peers) {
    return peers.send(to, static_cast<std::uint32_t>(tag), data, bytes);
  });
}

int sumac_team_recv(sumac_open_team_t* team, void* data, size_t bytes, int from, int tag, int* from_p,
                    sumac_team_request_t** request_p) {
  return message(team, from, tag, from_p, request_p, [&](sumac::rank::Peers& peers) {
    return peers.receive(from, static_cast<std::uint32_t>(tag), data, bytes);
  });
}

}  // extern "C"
