#include "rank/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/tree/tree.h"
#include "rank/join.hpp"
#include "rank/making.h"
#include "rank/own_network.hpp"

namespace {

struct Across {
  sumac_record* record;
  /// True: the MPI's own collectives are better than ours around them, but for those by which values travel that ranks
  /// add in one order.
  bool all_lead;
  bool leads;
  sumac_carriers carriers{};
  sumac_joined joined{};
  /// SUMAC_ACROSS=p2p: they carry what the MPI would.
  std::unique_ptr<sumac::p2p::TeamGroups> own_network{};
  std::string error{};

  const sumac_between& mpi() const { return *record->runtime->between; }
};

/// Requests of the MPI, one behind the other.
class Pending {
 public:
  explicit Pending(const Across& across) : bytes_(across.mpi().request_bytes) {}
  void* next() {
    requests_.resize(requests_.size() + bytes_);
    return requests_.data() + requests_.size() - bytes_;
  }
  int count() const { return static_cast<int>(requests_.size() / bytes_); }
  void* all() { return requests_.data(); }

 private:
  std::size_t bytes_;
  std::vector<char> requests_;
};

bool carries_values(const sumac_record& record) {
  return sumac_team_options_reproducible(*record.runtime->options) != 0;
}

/// Only sizes that an int counts, because MPI's counts are ints.
int takes(void* context, int coll, std::size_t bytes, const sumac_fold_t*) {
  const auto& across = *static_cast<const Across*>(context);
  const bool moves_values = coll == SUMAC_COLL_ALLGATHERV || coll == SUMAC_COLL_ALLTOALLV;
  const bool serves = !across.all_lead || (moves_values && carries_values(*across.record));
  return serves && bytes <= INT_MAX ? 1 : 0;
}

/// A user's function finds the data of an element true_lb bytes behind the address that the MPI is given.
char* shifted(const void* data, const sumac_pair& pair) {
  return data == nullptr ? nullptr : static_cast<char*>(const_cast<void*>(data)) - pair.true_lb;
}

/// A team's leaders exchange pieces whose sizes are ints.
const int* ints(const void* numbers) { return static_cast<const int*>(numbers); }

/// Every leader must pass the same arguments to the MPI, even where only one of them knows a fact. MPI takes MPI_IN_PLACE from
/// all ranks of an allreduce or from none, and the MPI's choice of an algorithm may depend on it. A leader with other ranks on
/// its island has the island's sum in the result already, so a leader that is alone on its host first copies its own vector
/// there. In a reduce only the root may pass MPI_IN_PLACE.
int start_collective(const Across& across, const sumac_call_t& call, void* request) {
  const sumac_between& mpi = across.mpi();
  const std::uintptr_t comm = across.carriers.leaders;
  const auto* pair = reinterpret_cast<const sumac_pair*>(call.fold);  // `fold` is its first member.
  const bool in_place = call.in == nullptr || call.in == call.out;
  const int count = pair == nullptr ? 0 : static_cast<int>(call.bytes / call.fold->element_bytes);
  const sumac_blocks_t &from = call.in_blocks, &to = call.out_blocks;
  switch (call.coll) {
    case SUMAC_COLL_BARRIER: return mpi.ibarrier(comm, request);
    case SUMAC_COLL_ALLREDUCE:
      if (!in_place) std::memcpy(call.out, call.in, call.bytes);
      return mpi.iallreduce(comm, shifted(call.out, *pair), count, pair->type, pair->op, request);
    case SUMAC_COLL_REDUCE:
      return mpi.ireduce(comm, in_place ? across.record->runtime->in_place : shifted(call.in, *pair),
                         shifted(call.out, *pair), count, pair->type, pair->op, call.root, request);
    case SUMAC_COLL_BCAST: return mpi.ibcast(comm, call.out, static_cast<int>(call.bytes), call.root, request);
    case SUMAC_COLL_ALLGATHERV:
      return mpi.iallgatherv(comm, call.out, ints(to.counts), ints(to.displacements), request);
    case SUMAC_COLL_ALLTOALLV:
      return mpi.ialltoallv(comm, call.in, ints(from.counts), ints(from.displacements), call.out, ints(to.counts),
                            ints(to.displacements), request);
    default: return across.record->runtime->error_other;
  }
}

/// Calls `post(address, bytes)` for the messages of one block: one, or pieces that an int can count, which both sides cut
/// alike, because they know the block's bytes.
template <class Byte, class Post>
int each_piece(Byte* buffer, const sumac_blocks_t& blocks, int peer, const Post& post) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  const std::size_t bytes = static_cast<std::size_t>(sumac_block_count(&blocks, peer)) * blocks.unit;
  Byte* const at = buffer + sumac_block_displacement(&blocks, peer) * static_cast<std::ptrdiff_t>(blocks.unit);
  int rc = 0;
  for (std::size_t done = 0; done < bytes && rc == 0; done += kPiece)
    rc = post(at + done, static_cast<int>(std::min(kPiece, bytes - done)));
  return rc;
}

/// Starts all messages at once; each rank begins with another peer.
int start_messages(const Across& across, const sumac_call_t& call, Pending& pending) {
  const int rank = across.record->rank, size = across.record->size;
  const sumac_between& mpi = across.mpi();
  const std::uintptr_t comm = across.carriers.all;
  int rc = 0;
  for (int i = 1; i < size && rc == 0; ++i) {
    const int peer = (rank - i + size) % size;
    rc = each_piece(static_cast<char*>(call.out), call.out_blocks, peer,
                    [&](char* at, int bytes) { return mpi.irecv(comm, at, bytes, peer, pending.next()); });
  }
  for (int i = 1; i < size && rc == 0; ++i) {
    const int peer = (rank + i) % size;
    rc = each_piece(static_cast<const char*>(call.in), call.in_blocks, peer,
                    [&](const char* at, int bytes) { return mpi.isend(comm, at, bytes, peer, pending.next()); });
  }
  return rc;
}

int started(Across& across, std::unique_ptr<Pending> pending, int rc, const char* what, void** request) {
  // After a failure the MPI may still use what was started; the team has ended.
  Pending* kept = pending.release();
  if (rc == 0) {
    *request = kept;
    return SUMAC_TEAM_OK;
  }
  across.error = fmt::format("the MPI's {} between hosts failed: error {}", what, rc);
  return SUMAC_TEAM_BROKEN;
}

int start(void* context, const sumac_call_t* call, void** request) {
  auto& across = *static_cast<Across*>(context);
  auto pending = std::make_unique<Pending>(across);
  const int rc = start_collective(across, *call, pending->next());
  return started(across, std::move(pending), rc, sumac_coll_name(call->coll), request);
}

int start_direct(void* context, const sumac_call_t* call, void** request) {
  auto& across = *static_cast<Across*>(context);
  auto pending = std::make_unique<Pending>(across);
  const int rc = start_messages(across, *call, *pending);
  return started(across, std::move(pending), rc, "messages", request);
}

int test(void* context, void* request) {
  auto& across = *static_cast<Across*>(context);
  auto* pending = static_cast<Pending*>(request);
  int done = 0;
  const int rc = across.mpi().test(pending->count(), pending->all(), &done);
  if (rc == 0 && done == 0) return SUMAC_TEAM_PENDING;
  delete pending;
  if (rc == 0) return SUMAC_TEAM_OK;
  across.error = fmt::format("the MPI failed between hosts: error {}", rc);
  return SUMAC_TEAM_BROKEN;
}

const char* error(void* context) { return static_cast<Across*>(context)->error.c_str(); }

void close(void* context) {
  auto* across = static_cast<Across*>(context);
  sumac_tree_leave(&across->joined);
  across->own_network = nullptr;
  across->mpi().close(&across->carriers);
  delete across;
}

/// Calls `use` with what the tree's part has to know.
template <class Use>
int with_spec(const Across& across, const Use& use) {
  struct Context {
    const Across& across;
    const Use& use;
  } context{across, use};
  return across.mpi().with(across.record, &across.carriers, across.leads, &context,
                           [](void* at, const sumac_communicator* team, const sumac_communicator* leaders) {
                             const auto& [self, called] = *static_cast<Context*>(at);
                             const sumac_runtime& runtime = *self.record->runtime;
                             return called(sumac_join_spec{.hosts = self.record->hosts,
                                                           .team = team,
                                                           .leaders = self.leads ? leaders : nullptr,
                                                           .settings = runtime.settings,
                                                           .options = *runtime.options});
                           });
}

void offer(void* context, const int*, int leader_count, int my_index, void* offered) {
  const sumac_record& record = *static_cast<sumac_lane*>(context)->record;
  sumac_join_offer(record.runtime->settings, record.hosts, leader_count, my_index, offered);
}

int open(void* context, const int* leaders, int leader_count, int my_index, const void* offers, std::int64_t* agreed,
         sumac_across_t* out) {
  sumac_record& record = *static_cast<sumac_lane*>(context)->record;
  record.is_wide = true;
  auto across = std::make_unique<Across>(Across{&record, leader_count == record.size, my_index >= 0});
  int rc = across->mpi().open(&record, leaders, leader_count, across->leads,
                              !across->all_lead || carries_values(record), &across->carriers);
  if (rc == 0)
    rc = with_spec(*across, [&](sumac_join_spec spec) {
      if (record.making != nullptr) {
        sumac_making_take(&record, &across->joined, agreed);
        return 0;
      }
      if (record.runtime->settings->own_network != 0 && record.hosts > 1)
        across->own_network =
            sumac::rank::connect_ranks(*spec.team, {leaders, leaders + leader_count}, carries_values(record));
      record.has_own_network = across->own_network != nullptr;
      spec.offers = offers;
      spec.leader_ranks = leaders;
      return sumac_tree_join(&spec, &across->joined, agreed);
    });
  if (rc != 0) {
    close(across.release());
    return rc;
  }
  if (across->joined.group != nullptr)
    sumac_tree_ranks(across->joined.group, leaders, static_cast<std::size_t>(leader_count));
  *out = {.context = across.get(),
          .network = reinterpret_cast<sumac_network_t*>(static_cast<sumac::coll::Across*>(across->own_network.get())),
          .takes = takes,
          .start = start,
          .start_direct = across->carriers.all == 0 ? nullptr : start_direct,
          .test = test,
          .error = error,
          .close = close};
  (void)across.release();
  return 0;
}

int agree(void*, const std::int64_t* agreed, sumac_across_t* out) {
  auto& across = *static_cast<Across*>(out->context);
  (void)with_spec(across, [&](const sumac_join_spec& spec) {
    sumac_tree_agreed(&spec, agreed, &across.joined);
    return 0;
  });
  sumac_record& record = *across.record;
  record.has_tree = across.joined.tree != nullptr;
  record.no_group = record.no_group || across.joined.no_group;
  out->tree = across.joined.tree;
  out->no_tree = across.joined.no_tree;
  return 0;
}

}  // namespace

void sumac_across_set(sumac_team_spec_t* spec, sumac_lane_t* lane) {
  spec->offer_across = offer;
  spec->offer_bytes = SUMAC_TREE_OFFER_BYTES;
  spec->drop_offer = [](void*) { sumac_join_drop_offer(); };
  spec->open_across = open;
  spec->agree_across = agree;
  spec->open_context = lane;
}

bool sumac_across_needs_communicators(const sumac_record* record) {
  const bool all_lead = record->hosts == record->size || record->hosts == 1 ||
                        sumac_team_options_leaders(*record->runtime->options) == SUMAC_LEADERS_ALL;
  return !all_lead || carries_values(*record);
}
