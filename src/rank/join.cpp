#include "rank/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "rank/job.h"
#include "rank/say.h"
#include "sharp/api/sumac_ext.h"

namespace {

/// A program may have thousands of communicators, and the tree only has groups for the first ones. So this is printed
/// for the first one without a group, and the last line of the job has their number.
void say_no_group(const sumac_join_spec& spec, int status) {
  const bool by_us = spec.team->rank == 0;
  sumac_say_once(fmt::format("SHArP: sharp group create failed:{}({})", sharp_coll_strerror(status), status).c_str(),
                 by_us);
  if (spec.settings->level >= HCOLL_FORCE_COMM) {
    if (spec.team->abort == nullptr) return;  // The caller sees `no_group`, and ends by its own means.
    sumac_communicator_abort(spec.team);
  }
  sumac_say_once("SHArP: continuing without sharp on this communicator..", by_us);
}

/// With SUMAC_EXPLAIN=1: prints the numbers that limit the size of an operation on the tree.
void say_what_pays(const sumac_join_spec& spec, sharp_coll_comm* group, const std::int64_t* limits) {
  if (spec.team->rank != 0 || group == nullptr || sumac_team_options_explain(spec.options) == 0) return;
  std::string kinds;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    if (coll == SUMAC_COLL_BARRIER || coll == SUMAC_COLL_ALLGATHERV || limits[coll] < 0) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", sumac_coll_name(coll),
                         limits[coll] == INT64_MAX ? "of any size" : fmt::format("up to {} bytes", limits[coll]));
  }
  char text[256] = "";
  (void)sumac_comm_explain(group, text, sizeof text);
  SUMAC_SAY("SHArP: communicator %s: for the tree: %s (allreduce: %s)", spec.team->name, kinds.c_str(), text);
}

/// Returns why the communicator has no tree whatever its members offer; the same at all ranks.
const char* refusal(const hcoll_settings* settings, int hosts) {
  const char* why = sumac_job_refusal(settings, hosts);
  return why == nullptr && !sumac_job_stands() ? "the job has none" : why;
}

/// Returns a status of libsharp_coll; negative: there is no group.
int make_group(const sumac_join_spec& spec, sharp_coll_comm** group_p) {
  int status = 1;
  if (spec.offers != nullptr)
    status = sumac_tree_group(sumac_job_context(), static_cast<std::uint32_t>(spec.leaders->rank),
                              static_cast<std::uint32_t>(spec.leaders->size), spec.offers, spec.leader_ranks, group_p);
  return status == 1 ? sumac_group_make(spec.leaders, group_p) : status;
}

}  // namespace

void sumac_join_offer(const hcoll_settings* settings, int hosts, int leaders, int my_index, void* offer) {
  std::fill_n(static_cast<char*>(offer), SUMAC_TREE_OFFER_BYTES, 0);
  if (my_index >= 0 && refusal(settings, hosts) == nullptr)
    sumac_tree_offer(sumac_job_context(), static_cast<std::uint32_t>(leaders), my_index == 0, offer);
}

void sumac_join_drop_offer() { sumac_tree_drop_offer(sumac_job_context()); }

int sumac_tree_join(const sumac_join_spec* spec, sumac_joined* joined, std::int64_t* agreed) {
  *joined = {.no_tree = refusal(spec->settings, spec->hosts)};
  std::fill_n(agreed, SUMAC_AGREED, INT64_MAX);
  agreed[0] = 0;
  if (joined->no_tree != nullptr) return 0;
  if (spec->leaders != nullptr) {
    const int status = make_group(*spec, &joined->group);
    agreed[0] = std::min(status, 0);
    if (status >= 0) sumac_group_limits(spec->settings, joined->group, agreed + 1);
  }
  joined->tree = sumac_tree_open(joined->group);
  return joined->tree == nullptr ? -1 : 0;
}

void sumac_tree_agreed(const sumac_join_spec* spec, const std::int64_t* agreed, sumac_joined* joined) {
  if (joined->tree == nullptr) return;
  if (agreed[0] >= 0) {
    sumac_tree_limit(joined->tree, agreed + 1, SUMAC_COLLS);
    return say_what_pays(*spec, joined->group, agreed + 1);
  }
  sumac_tree_close(joined->tree);
  if (joined->group != nullptr) sumac_tree_give_up(joined->group);
  *joined = {.no_tree = "it has no group for this communicator", .no_group = true};
  say_no_group(*spec, static_cast<int>(agreed[0]));
}

void sumac_tree_leave(sumac_joined* joined) {
  sumac_tree_close(joined->tree);
  joined->tree = nullptr;
  if (joined->group != nullptr) sumac_group_leave(joined->group);
  joined->group = nullptr;
}
