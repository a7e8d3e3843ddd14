#pragma once
/* The tree's part of a team's `across`: a communicator's leaders join a group of the tree, and all ranks agree on it. */

#include "client/tree/tree.h"
#include "rank/communicator.h"
#include "rank/settings.h"
#include "team/team.h"

struct sumac_join_spec {
  int hosts;                         /* the number that the communicator spans */
  const sumac_communicator* team;    /* all its ranks: `rank`, `name`, `abort` */
  const sumac_communicator* leaders; /* as sumac_group_make() takes it; NULL at a rank that does not lead */
  const void* offers;                /* [ranks of the team] from sumac_join_offer(); NULL: none */
  const int* leader_ranks;           /* [leaders] their ranks in the team; needed for offers only */
  const hcoll_settings* settings;
  const sumac_team_options_t* options;
};

struct sumac_joined {
  struct sharp_coll_comm* group; /* at leaders, if there is a group */
  sumac_tree_t* tree;            /* sumac_across_t.tree: NULL unless every leader is in the group */
  const char* no_tree;           /* sumac_across_t.no_tree: the reason if there is no tree */
  bool no_group;                 /* the tree had no group for this communicator */
};

/** Makes what a rank of a team to be says of itself, so that the group costs no exchange of its own.
 *  @param leaders   Their number.
 *  @param my_index  This rank's among them; -1: none.
 *  @param offer     [SUMAC_TREE_OFFER_BYTES] */
void sumac_join_offer(const hcoll_settings* settings, int hosts, int leaders, int my_index, void* offer);

/** The offer came to nothing: there will be no team. */
void sumac_join_drop_offer(void);

/** Joins the tree if the communicator asks for it and the job has one; collective over the team.
 *  @param joined  Always set; release it with sumac_tree_leave(). It is of use after sumac_tree_agreed().
 *  @param agreed  [SUMAC_AGREED] Set to this rank's numbers: the minimum of each over all ranks is for sumac_tree_agreed().
 *  @return 0, also without a tree; -1 if this rank is out of memory. */
int sumac_tree_join(const sumac_join_spec* spec, sumac_joined* joined, int64_t* agreed);

/** Every rank has joined, or none has the tree. If the tree has no group left, this prints it once in the job, or ends the job
 *  as HCOLL_ENABLE_SHARP demands.
 *  @param agreed  The minima, the same at all ranks. */
void sumac_tree_agreed(const sumac_join_spec* spec, const int64_t* agreed, sumac_joined* joined);

/** Closes the tree's object, and posts the Leave of the group without waiting. */
void sumac_tree_leave(sumac_joined* joined);
