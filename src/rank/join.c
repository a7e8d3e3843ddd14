#include "rank/join.h"

#include <stdio.h>
#include <string.h>

#include "rank/job.h"
#include "rank/say.h"
#include "sharp/api/sumac_ext.h"

/* A program may have thousands of communicators, and the tree only has groups for the first ones. So this is printed
 * for the first one without a group, and the last line of the job has their number. */
static void say_no_group(const struct sumac_join_spec* spec, int status) {
  char line[160];
  snprintf(line, sizeof(line), "SHArP: sharp group create failed:%s(%d)", sharp_coll_strerror(status), status);
  bool by_us = 0 == spec->team->rank;
  sumac_say_once(line, by_us);
  if (spec->settings->level >= HCOLL_FORCE_COMM) {
    if (NULL == spec->team->abort) {
      return; /* the caller sees `no_group`, and ends by its own means */
    }
    sumac_communicator_abort(spec->team);
  }
  sumac_say_once("SHArP: continuing without sharp on this communicator..", by_us);
}

/* With SUMAC_EXPLAIN=1: prints the numbers that limit the size of an operation on the tree. */
static void say_what_pays(const struct sumac_join_spec* spec, struct sharp_coll_comm* group, const int64_t* limits) {
  if (0 != spec->team->rank || NULL == group || !sumac_team_options_explain(spec->options)) {
    return;
  }
  char text[256] = "", kinds[512] = "";
  size_t used = 0;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    if (SUMAC_COLL_BARRIER == coll || SUMAC_COLL_ALLGATHERV == coll || limits[coll] < 0 || used >= sizeof(kinds)) {
      continue;
    }
    const char* separator = 0 == used ? "" : ", ";
    int wanted = INT64_MAX == limits[coll] ? snprintf(kinds + used, sizeof(kinds) - used, "%s%s of any size", separator,
                                                      sumac_coll_name(coll))
                                           : snprintf(kinds + used, sizeof(kinds) - used, "%s%s up to %lld bytes",
                                                      separator, sumac_coll_name(coll), (long long)limits[coll]);
    used += wanted > 0 ? (size_t)wanted : 0;
  }
  (void)sumac_comm_explain(group, text, sizeof(text));
  SUMAC_SAY("SHArP: communicator %s: for the tree: %s (allreduce: %s)", spec->team->name, kinds, text);
}

/* Returns why the communicator has no tree whatever its members offer; the same at all ranks. */
static const char* refusal(const struct hcoll_settings* settings, int hosts) {
  const char* why = sumac_job_refusal(settings, hosts);
  return NULL == why && !sumac_job_stands() ? "the job has none" : why;
}

void sumac_join_offer(const struct hcoll_settings* settings, int hosts, int leaders, int my_index, void* offer) {
  memset(offer, 0, SUMAC_TREE_OFFER_BYTES);
  if (my_index >= 0 && NULL == refusal(settings, hosts)) {
    sumac_tree_offer(sumac_job_context(), (uint32_t)leaders, 0 == my_index, offer);
  }
}

void sumac_join_drop_offer(void) { sumac_tree_drop_offer(sumac_job_context()); }

/* Returns a status of libsharp_coll; negative: there is no group. */
static int make_group(const struct sumac_join_spec* spec, struct sharp_coll_comm** group_p) {
  int status = 1;
  if (NULL != spec->offers) {
    status = sumac_tree_group(sumac_job_context(), (uint32_t)spec->leaders->rank, (uint32_t)spec->leaders->size,
                              spec->offers, spec->leader_ranks, group_p);
  }
  return 1 == status ? sumac_group_make(spec->leaders, group_p) : status;
}

int sumac_tree_join(const struct sumac_join_spec* spec, struct sumac_joined* joined, int64_t* agreed) {
  memset(joined, 0, sizeof(*joined));
  for (int i = 0; i < SUMAC_AGREED; ++i) {
    agreed[i] = 0 == i ? 0 : INT64_MAX;
  }
  joined->no_tree = refusal(spec->settings, spec->hosts);
  if (NULL != joined->no_tree) {
    return 0;
  }
  if (NULL != spec->leaders) {
    int status = make_group(spec, &joined->group);
    agreed[0] = status < 0 ? status : 0;
    if (status >= 0) {
      sumac_group_limits(spec->settings, joined->group, agreed + 1);
    }
  }
  joined->tree = sumac_tree_open(joined->group);
  return NULL == joined->tree ? -1 : 0;
}

void sumac_tree_agreed(const struct sumac_join_spec* spec, const int64_t* agreed, struct sumac_joined* joined) {
  if (NULL == joined->tree) {
    return;
  }
  if (agreed[0] >= 0) {
    sumac_tree_limit(joined->tree, agreed + 1, SUMAC_COLLS);
    say_what_pays(spec, joined->group, agreed + 1);
    return;
  }
  sumac_tree_close(joined->tree);
  if (NULL != joined->group) {
    sumac_tree_give_up(joined->group);
  }
  *joined = (struct sumac_joined){.no_tree = "it has no group for this communicator", .no_group = true};
  say_no_group(spec, (int)agreed[0]);
}

void sumac_tree_leave(struct sumac_joined* joined) {
  sumac_tree_close(joined->tree);
  joined->tree = NULL;
  if (NULL != joined->group) {
    sumac_group_leave(joined->group);
    joined->group = NULL;
  }
}
