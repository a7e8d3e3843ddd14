#include "bindings/pmpi/across.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/job.hpp"
#include "rank/join.h"

namespace sumac::pmpi {
namespace {

bool carries_values() { return sumac_team_options_reproducible(library.options) != 0; }

/// Our own communicators: messages of ours must not meet the program's.
struct Across {
  Communicator* owner = nullptr;
  MPI_Comm all = MPI_COMM_NULL;      ///< Every rank, with the program's numbers; MPI_COMM_NULL if nothing goes by it.
  MPI_Comm leaders = MPI_COMM_NULL;  ///< The leaders; MPI_COMM_NULL at other ranks, and if every rank leads.
  /// True: the MPI's own collectives are better than ours around them, but for those by which values travel that ranks
  /// add in one order.
  bool all_lead = false;
  bool leads = false;
  sumac_joined joined{};
  std::string error;
};

using Fold = sumac_pair;
MPI_Datatype type_of(const Fold& fold) { return handle_from<MPI_Datatype>(fold.type); }
MPI_Op op_of(const Fold& fold) { return handle_from<MPI_Op>(fold.op); }

struct Pending {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Datatype> units;  ///< Made for this operation.
  ~Pending() {
    for (MPI_Datatype& unit : units) (void)mpi.Type_free(&unit);
  }
};

constexpr int kTagDirect = 1;

/// Only sizes that an int counts.
int takes(void* context, int coll, std::size_t bytes, const sumac_fold_t*) {
  const bool moves_values = coll == SUMAC_COLL_ALLGATHERV || coll == SUMAC_COLL_ALLTOALLV;
  const bool serves = !static_cast<Across*>(context)->all_lead || (moves_values && carries_values());
  return serves && bytes <= INT_MAX ? 1 : 0;
}

int unit_type(Pending& pending, std::size_t bytes, MPI_Datatype& type) {
  type = MPI_BYTE;
  if (bytes == 1) return MPI_SUCCESS;
  int rc = mpi.Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  if (rc == MPI_SUCCESS) {
    pending.units.push_back(type);
    rc = mpi.Type_commit(&pending.units.back());
  }
  return rc;
}

/// A user's function finds the data of an element true_lb bytes behind the address that the MPI is given.
template <class Pointer>
Pointer shifted(Pointer data, const Fold& fold) {
  return data == nullptr ? data
                         : static_cast<Pointer>(static_cast<char*>(const_cast<void*>(static_cast<const void*>(data))) -
                                                fold.true_lb);
}

/// A team's leaders exchange pieces whose sizes are ints.
const int* ints(const void* numbers) { return static_cast<const int*>(numbers); }

/// Every leader must pass the same arguments, even where only one of them knows a fact. MPI takes MPI_IN_PLACE from all
/// ranks of an allreduce or from none. A leader with other ranks on its island has the island's sum in the result
/// already, so a leader that is alone on its host first copies its own vector there. In a reduce only the root may pass
/// MPI_IN_PLACE. Blocks are counted in bytes, because ranks may use different types for the same data.
int start_collective(const Across& across, const sumac_call_t& call, Pending& pending) {
  const MPI_Comm comm = across.all_lead ? across.all : across.leaders;
  const auto* fold = reinterpret_cast<const Fold*>(call.fold);
  const bool in_place = call.in == nullptr || call.in == call.out;
  const int count = fold == nullptr ? 0 : static_cast<int>(call.bytes / call.fold->element_bytes);
  const int bytes = static_cast<int>(call.bytes);
  MPI_Request* request = &pending.requests.emplace_back();
  switch (call.coll) {
    case SUMAC_COLL_BARRIER: return mpi.Ibarrier(comm, request);
    case SUMAC_COLL_ALLREDUCE:
      if (!in_place) std::memcpy(call.out, call.in, call.bytes);
      return mpi.Iallreduce(MPI_IN_PLACE, shifted(call.out, *fold), count, type_of(*fold), op_of(*fold), comm, request);
    case SUMAC_COLL_REDUCE:
      return mpi.Ireduce(in_place ? MPI_IN_PLACE : shifted(call.in, *fold), shifted(call.out, *fold), count,
                         type_of(*fold), op_of(*fold), call.root, comm, request);
    case SUMAC_COLL_BCAST: return mpi.Ibcast(call.out, bytes, MPI_BYTE, call.root, comm, request);
    case SUMAC_COLL_ALLGATHERV:
      return mpi.Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, call.out, ints(call.out_blocks.counts),
                             ints(call.out_blocks.displacements), MPI_BYTE, comm, request);
    case SUMAC_COLL_ALLTOALLV:
      return mpi.Ialltoallv(call.in, ints(call.in_blocks.counts), ints(call.in_blocks.displacements), MPI_BYTE,
                            call.out, ints(call.out_blocks.counts), ints(call.out_blocks.displacements), MPI_BYTE, comm,
                            request);
    default: return MPI_ERR_UNSUPPORTED_OPERATION;
  }
}

/// Calls `post(address, count, type)` for the messages of one block: one, or pieces that an int can count, which both sides
/// cut alike, because they know the block's bytes.
template <class Byte, class Post>
int each_piece(Byte* buffer, const sumac_blocks_t& blocks, int peer, MPI_Datatype unit, const Post& post) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  const auto count = sumac_block_count(&blocks, peer);
  const std::size_t bytes = static_cast<std::size_t>(count) * blocks.unit;
  Byte* const at = buffer + sumac_block_displacement(&blocks, peer) * static_cast<std::ptrdiff_t>(blocks.unit);
  if (bytes == 0) return MPI_SUCCESS;
  if (bytes <= kPiece) return post(at, static_cast<int>(count), unit);
  int rc = MPI_SUCCESS;
  for (std::size_t done = 0; done < bytes && rc == MPI_SUCCESS; done += kPiece)
    rc = post(at + done, static_cast<int>(std::min(kPiece, bytes - done)), MPI_BYTE);
  return rc;
}

/// Starts all messages at once; each rank begins with another peer.
int start_messages(const Across& across, const sumac_call_t& call, Pending& pending) {
  const int rank = across.owner->rank, size = across.owner->size;
  MPI_Datatype in_unit{}, out_unit{};
  pending.units.reserve(2);
  if (const int rc = unit_type(pending, call.in_blocks.unit, in_unit); rc != MPI_SUCCESS) return rc;
  if (const int rc = unit_type(pending, call.out_blocks.unit, out_unit); rc != MPI_SUCCESS) return rc;
  for (int i = 1; i < size; ++i) {
    const int peer = (rank - i + size) % size;
    const int rc = each_piece(
        static_cast<char*>(call.out), call.out_blocks, peer, out_unit, [&](char* at, int count, MPI_Datatype type) {
          return mpi.Irecv(at, count, type, peer, kTagDirect, across.all, &pending.requests.emplace_back());
        });
    if (rc != MPI_SUCCESS) return rc;
  }
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    const int rc =
        each_piece(static_cast<const char*>(call.in), call.in_blocks, peer, in_unit,
                   [&](const char* at, int count, MPI_Datatype type) {
                     return mpi.Isend(at, count, type, peer, kTagDirect, across.all, &pending.requests.emplace_back());
                   });
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int started(Across& across, std::unique_ptr<Pending> pending, int rc, const char* what, void** request) {
  if (rc == MPI_SUCCESS) {
    *request = pending.release();
    return SUMAC_TEAM_OK;
  }
  across.error = fmt::format("the MPI's {} between hosts failed: error {}", what, rc);
  (void)pending.release();  // The MPI may still use what was started; the team has ended.
  return SUMAC_TEAM_BROKEN;
}

int start(void* context, const sumac_call_t* call, void** request) {
  auto& across = *static_cast<Across*>(context);
  auto pending = std::make_unique<Pending>();
  const int rc = start_collective(across, *call, *pending);
  return started(across, std::move(pending), rc, sumac_coll_name(call->coll), request);
}

int start_direct(void* context, const sumac_call_t* call, void** request) {
  auto& across = *static_cast<Across*>(context);
  auto pending = std::make_unique<Pending>();
  const int rc = start_messages(across, *call, *pending);
  return started(across, std::move(pending), rc, "messages", request);
}

int test(void* context, void* request) {
  auto* pending = static_cast<Pending*>(request);
  int done = 0;
  const int rc =
      mpi.Testall(static_cast<int>(pending->requests.size()), pending->requests.data(), &done, MPI_STATUSES_IGNORE);
  if (rc == MPI_SUCCESS && done == 0) return SUMAC_TEAM_PENDING;
  delete pending;
  if (rc == MPI_SUCCESS) return SUMAC_TEAM_OK;
  static_cast<Across*>(context)->error = fmt::format("the MPI failed between hosts: error {}", rc);
  return SUMAC_TEAM_BROKEN;
}

const char* error(void* context) { return static_cast<Across*>(context)->error.c_str(); }

/// In MPI_Finalize the MPI frees our communicators by itself: ranks may come to them in different orders.
void close(void* context) {
  auto* across = static_cast<Across*>(context);
  sumac_tree_leave(&across->joined);
  if (library.on) {
    if (across->leaders != MPI_COMM_NULL) (void)mpi.Comm_free(&across->leaders);
    if (across->all != MPI_COMM_NULL) (void)mpi.Comm_free(&across->all);
  }
  delete across;
}

/// MPI_Comm_split and not MPI_Comm_dup, which would copy the program's attributes.
int make_communicators(Across& across, bool leads) {
  const Communicator& owner = *across.owner;
  int rc = mpi.Comm_split(owner.handle.load(), 0, owner.rank, &across.all);
  if (rc != MPI_SUCCESS) return rc;
  (void)mpi.Comm_set_errhandler(across.all, MPI_ERRORS_RETURN);
  if (across.all_lead) return rc;
  return mpi.Comm_split(across.all, leads ? 0 : MPI_UNDEFINED, owner.rank, &across.leaders);
}

/// Calls `use` with what the common part has to know.
template <class Use>
auto with_spec(const Across& across, const Use& use) {
  const MPI_Comm all = across.all == MPI_COMM_NULL ? across.owner->handle.load() : across.all;
  const CommunicatorOfMpi team(all), leaders(across.leads && !across.all_lead ? across.leaders : all);
  return use(sumac_join_spec{.hosts = across.owner->hosts,
                             .team = &team.record(),
                             .leaders = across.leads ? &leaders.record() : nullptr,
                             .settings = &library.settings,
                             .options = library.options});
}

int join_tree(Across& across, const int* leaders, const void* offers, std::int64_t* agreed) {
  return with_spec(across, [&](sumac_join_spec spec) {
    spec.offers = offers;
    spec.leader_ranks = leaders;
    return sumac_tree_join(&spec, &across.joined, agreed);
  });
}

}  // namespace

void offer_across(void* context, const int*, int leader_count, int my_index, void* offer) {
  const Communicator& owner = owner_of(*static_cast<Lane*>(context));
  sumac_join_offer(&library.settings, owner.hosts, leader_count, my_index, offer);
}

int open_across(void* context, const int* leaders, int leader_count, int my_index, const void* offers,
                std::int64_t* agreed, sumac_across_t* out) {
  auto across = std::make_unique<Across>();
  across->owner = &owner_of(*static_cast<Lane*>(context));
  across->owner->is_wide = true;
  across->all_lead = leader_count == across->owner->size;
  across->leads = my_index >= 0;
  int rc = across->all_lead && !carries_values() ? MPI_SUCCESS : make_communicators(*across, across->leads);
  if (rc == MPI_SUCCESS) rc = join_tree(*across, leaders, offers, agreed);
  if (rc != MPI_SUCCESS) {
    close(across.release());
    return rc;
  }
  if (across->joined.group != nullptr)
    sumac_tree_ranks(across->joined.group, leaders, static_cast<std::size_t>(leader_count));
  *out = {.context = across.get(),
          .takes = takes,
          .start = start,
          .start_direct = across->all == MPI_COMM_NULL ? nullptr : start_direct,
          .test = test,
          .error = error,
          .close = close};
  (void)across.release();
  return 0;
}

int agree_across(void*, const std::int64_t* agreed, sumac_across_t* out) {
  auto& across = *static_cast<Across*>(out->context);
  with_spec(across, [&](const sumac_join_spec& spec) { sumac_tree_agreed(&spec, agreed, &across.joined); });
  Communicator& owner = *across.owner;
  owner.has_tree = across.joined.tree != nullptr;
  owner.no_group = owner.no_group || across.joined.no_group;
  out->tree = across.joined.tree;
  out->no_tree = across.joined.no_tree;
  return 0;
}

bool needs_communicators(const Communicator& communicator) {
  const bool all_lead = communicator.hosts == communicator.size || communicator.hosts == 1 ||
                        sumac_team_options_leaders(library.options) == SUMAC_LEADERS_ALL;
  return !all_lead || carries_values();
}

}  // namespace sumac::pmpi
