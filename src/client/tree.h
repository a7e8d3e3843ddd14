/* The tree for bindings in C: an object that a team (src/team) starts its leaders' operations on. No symbol of it leaves the library that it
 * is linked into. */
#ifndef SUMAC_CLIENT_TREE_H
#define SUMAC_CLIENT_TREE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sharp_coll_comm;
typedef struct sumac_tree sumac_tree_t;

/** Collectives that a team knows (enum sumac_coll of team.h). */
#define SUMAC_TREE_KINDS 9

/** Fills in the bytes of the largest operation of each kind that the tree does faster than the hosts do by themselves, -1 where it does
 *  no such kind, and zeroes where the group is none of ours. All ranks of a team have to agree on the least of each before they open. */
void sumac_tree_limits(struct sharp_coll_comm* group, int64_t limits[SUMAC_TREE_KINDS]);

/** @param group   A living group of all leaders; NULL at a rank that does not lead. It must outlive the object.
 *  @param limits  As agreed.
 *  @return NULL: out of memory, or the group is none of ours. */
sumac_tree_t* sumac_tree_open(struct sharp_coll_comm* group, const int64_t limits[SUMAC_TREE_KINDS]);
/** Drops operations that are not done. NULL is allowed. */
void sumac_tree_close(sumac_tree_t* tree);

#ifdef __cplusplus
}
#endif

#endif
