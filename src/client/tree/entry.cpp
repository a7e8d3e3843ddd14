#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "client/handle_tables.hpp"
#include "client/options.hpp"
#include "client/patience.hpp"
#include "client/tree/across.hpp"
#include "client/tree/offer.hpp"
#include "client/tree/tree.h"
#include "net/unix_seqpacket.hpp"

using sumac::client::Comm;
using sumac::client::Offer;
using sumac::client::TreeAcross;
using sumac::client::TreeLimits;

void sumac_tree_settings(const char* sharpd, int streams) {
  sumac::client::use_settings({.sharpd_socket = sharpd == nullptr ? "" : sharpd, .streams = streams != 0});
}

void sumac_tree_bound(int (*may_wait)(void* context), void* context) {
  sumac::client::bound_patience({may_wait, context});
}

void sumac_tree_has_team(void) { sumac::client::leave_names_to_team(); }

int sumac_tree_has_sharpd(void) {
  const auto config = sumac::client::load_client_config();
  if (!config) return 0;
  const sumac::client::Patience patience(config->job_create_timeout);
  const auto sharpd = sumac::client::patiently(patience, [&](sumac::Duration at_most) {
    return sumac::net::HostClient::connect(config->sharpd_socket, at_most);
  });
  return sharpd ? 1 : 0;
}

void sumac_tree_limits(struct sharp_coll_comm* group, int64_t* limits, size_t kinds) {
  TreeLimits found{};
  if (const Comm* comm = sumac::client::comm_of(group)) {
    auto guard = comm->context().lock();
    found = sumac::client::tree_limits(*comm);
  }
  std::copy_n(found.begin(), std::min(kinds, found.size()), limits);
}

void sumac_tree_offer(struct sharp_coll_context* handle, uint32_t members, int opens, void* offer) {
  std::memset(offer, 0, SUMAC_TREE_OFFER_BYTES);
  sumac::client::Context* context = sumac::client::context_of(handle);
  if (context == nullptr) return;
  const Offer made = sumac::client::make_offer(*context, members, opens != 0);
  std::memcpy(offer, &made, sizeof made);
}

void sumac_tree_drop_offer(struct sharp_coll_context* handle) {
  sumac::client::Context* context = sumac::client::context_of(handle);
  if (context == nullptr) return;
  auto guard = context->lock();
  context->open_no_more_early();
}

int sumac_tree_group(struct sharp_coll_context* handle, uint32_t rank, uint32_t members, const void* offers,
                     const int* ranks, struct sharp_coll_comm** group_p) {
  *group_p = nullptr;
  std::vector<Offer> read(members);
  for (uint32_t i = 0; i < members; ++i)
    std::memcpy(
        &read[i],
        static_cast<const char*>(offers) + std::size_t{SUMAC_TREE_OFFER_BYTES} * static_cast<std::size_t>(ranks[i]),
        sizeof read[i]);
  sumac::client::Context* context = sumac::client::context_of(handle);
  if (!sumac::client::suffice(read)) {
    if (read.front().groups > 0) sumac_tree_drop_offer(handle);
    return 1;
  }
  if (context == nullptr) return SHARP_COLL_EINVAL;
  auto made = sumac::client::join_by(*context, rank, read);
  if (!made) {
    // A member says itself what it alone knows; all of them hear that nothing is left.
    sumac::client::tell_of_no_group(*context, rank == 0 || !made.error().no_room, made.error());
    return made.error().status;
  }
  *group_p = sumac::client::give_handle(std::move(*made));
  return *group_p == nullptr ? SHARP_COLL_ENO_RESOURCE : SHARP_COLL_SUCCESS;
}

void sumac_tree_give_up(struct sharp_coll_comm* group) {
  if (auto comm = sumac::client::take_back(group)) Comm::give_up(std::move(comm));
}

sumac_tree_t* sumac_tree_open(struct sharp_coll_comm* group) {
  Comm* comm = sumac::client::comm_of(group);
  if (comm == nullptr && group != nullptr) return nullptr;
  sumac::coll::Across* made = new (std::nothrow) TreeAcross(comm);
  return reinterpret_cast<sumac_tree_t*>(made);
}

void sumac_tree_limit(sumac_tree_t* tree, const int64_t* limits, size_t kinds) {
  TreeLimits agreed{};
  std::copy_n(limits, std::min(kinds, agreed.size()), agreed.begin());
  static_cast<TreeAcross*>(reinterpret_cast<sumac::coll::Across*>(tree))->limit(agreed);
}

void sumac_tree_names(struct sharp_coll_comm* group, const char* const* names, size_t count) {
  Comm* comm = sumac::client::comm_of(group);
  if (comm == nullptr) return;
  auto guard = comm->context().lock();
  comm->name_members({names, names + count});
}

void sumac_tree_ranks(struct sharp_coll_comm* group, const int* ranks, size_t count) {
  Comm* comm = sumac::client::comm_of(group);
  if (comm == nullptr) return;
  auto guard = comm->context().lock();
  comm->name_members(comm->names_by_host({ranks, count}));
}

void sumac_tree_close(sumac_tree_t* tree) { delete reinterpret_cast<sumac::coll::Across*>(tree); }
