#include "bindings/common/join.h"

#include <stdio.h>
#include <string.h>

#include "bindings/common/job.h"
#include "bindings/common/say.h"
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

int sumac_tree_join(const struct sumac_join_spec* spec, struct sumac_joined* joined) {
  memset(joined, 0, sizeof(*joined));
  joined->no_tree = sumac_job_refusal(spec->settings, spec->hosts);
  if (NULL == joined->no_tree && !sumac_job_stands()) {
    joined->no_tree = "the job has none";
  }
  if (NULL != joined->no_tree) {
    return 0;
  }
  /* The leaders join the tree's group; every rank must know whether they could, and the limits. Status and limits
   * travel together; the minimum of each holds for all ranks. */
  int64_t agreed[1 + SUMAC_COLLS] = {0}, *limits = agreed + 1;
  for (int coll = 0; coll < SUMAC_COLLS; ++coll) {
    limits[coll] = INT64_MAX;
  }
  if (NULL != spec->leaders) {
    int status = sumac_group_make(spec->leaders, &joined->group);
    agreed[0] = status < 0 ? status : 0;
    if (status >= 0) {
      sumac_group_limits(spec->settings, joined->group, limits);
    }
  }
  int rc = spec->team->min(spec->team->context, agreed, 1 + SUMAC_COLLS);
  if (0 != rc) {
    return rc;
  }
  if (agreed[0] >= 0) {
    joined->tree = sumac_tree_open(joined->group, limits, SUMAC_COLLS);
    if (NULL == joined->tree) {
      return -1;
    }
    say_what_pays(spec, joined->group, limits);
    return 0;
  }
  sumac_tree_leave(joined);
  joined->no_tree = "it has no group for this communicator";
  joined->no_group = true;
  say_no_group(spec, (int)agreed[0]);
  return 0;
}

void sumac_tree_leave(struct sumac_joined* joined) {
  sumac_tree_close(joined->tree);
  joined->tree = NULL;
  if (NULL != joined->group) {
    sumac_group_leave(joined->group);
    joined->group = NULL;
  }
}
