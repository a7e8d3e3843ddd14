#include <algorithm>
#include <new>

#include "client/options.hpp"
#include "client/patience.hpp"
#include "client/tree/across.hpp"
#include "client/tree/tree.h"
#include "net/unix_seqpacket.hpp"

using sumac::client::Comm;
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

sumac_tree_t* sumac_tree_open(struct sharp_coll_comm* group, const int64_t* limits, size_t kinds) {
  Comm* comm = sumac::client::comm_of(group);
  if (comm == nullptr && group != nullptr) return nullptr;
  TreeLimits agreed{};
  std::copy_n(limits, std::min(kinds, agreed.size()), agreed.begin());
  sumac::coll::Across* made = new (std::nothrow) TreeAcross(comm, agreed);
  return reinterpret_cast<sumac_tree_t*>(made);
}

namespace {
void name_members(struct sharp_coll_comm* group, std::vector<std::string> names) {
  Comm* comm = sumac::client::comm_of(group);
  if (comm == nullptr) return;
  auto guard = comm->context().lock();
  comm->name_members(std::move(names));
}
}  // namespace

void sumac_tree_names(struct sharp_coll_comm* group, const char* const* names, size_t count) {
  name_members(group, {names, names + count});
}

void sumac_tree_ranks(struct sharp_coll_comm* group, const int* ranks, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("rank " + std::to_string(ranks[i]));
  name_members(group, std::move(names));
}

void sumac_tree_close(sumac_tree_t* tree) { delete reinterpret_cast<sumac::coll::Across*>(tree); }
