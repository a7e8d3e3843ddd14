/* The tree for bindings in C: an object on which a team (src/team) starts its leaders' operations. None of its symbols
 * leaves the library into which it is linked. */
#ifndef SUMAC_CLIENT_TREE_H
#define SUMAC_CLIENT_TREE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sharp_coll_comm;
struct sharp_coll_context;
typedef struct sumac_tree sumac_tree_t;

/** Settings of the jobs that begin from now on. Not while a job begins.
 *  @param sharpd   The socket of this host's sharpd, whatever SHARP_COLL_SHARPD_SOCKET_NAME says; NULL: as that says.
 *  @param streams  Large operations are streamed, unless SHARP_COLL_ENABLE_SAT is set. */
void sumac_tree_settings(const char* sharpd, int streams);

/** Bounds the waits of this thread's calls that begin a job or make a group, beside SHARP_COLL_JOB_CREATE_TIMEOUT: for a
 *  binding with a limit for all that its ranks agree on, and for Ctrl-C.
 *  @param may_wait  Called about every 100 ms of a wait, without a lock; 0 ends the wait as its time limit would. It must
 *                   stay valid until another call replaces it. NULL: no bound. */
void sumac_tree_bound(int (*may_wait)(void* context), void* context);

/** Says that this process has a team, which names mistyped variables in jobs without a tree too (team.h,
 *  sumac_team_options_check). Before a job begins. */
void sumac_tree_has_team(void);

/** Returns 1 if a sharpd listens where jobs of this process look for it, else 0. */
int sumac_tree_has_sharpd(void);

/** Computes for each kind the bytes of the largest operation that the tree does faster than the hosts by themselves: -1
 *  if it does not do the kind, and zeros if the group is not ours. All ranks of a team must agree on the minimum of
 *  each before they open.
 *  @param limits  [kinds], by enum sumac_coll of team.h.
 *  @param kinds   SUMAC_COLLS. */
void sumac_tree_limits(struct sharp_coll_comm* group, int64_t* limits, size_t kinds);

/** The bytes of an offer, which the future members of a group exchange (offer.hpp). */
#define SUMAC_TREE_OFFER_BYTES 64

/** Makes this process's offer. Waits for the trees' roots if `opens`.
 *  @param members  The number of members.
 *  @param opens    1 at the member of rank 0.
 *  @param offer    [SUMAC_TREE_OFFER_BYTES] */
void sumac_tree_offer(struct sharp_coll_context* context, uint32_t members, int opens, void* offer);

/** An offer came to nothing. The process opens no group beforehand any more: each that is not joined is lost for the job. */
void sumac_tree_drop_offer(struct sharp_coll_context* context);

/** Joins the group that the offers make possible; collective over the members. All must agree afterwards whether each has
 *  joined: where one has not, the others call sumac_tree_give_up().
 *  @param offers   [most of `ranks` + 1][SUMAC_TREE_OFFER_BYTES] The offers of a larger team's ranks.
 *  @param ranks    [members] The members' ranks in it, in their order.
 *  @param group_p  Set on 0.
 *  @return 0; negative: this member could not join, a status of libsharp_coll; 1, at every member: these offers do not
 *          suffice, and sharp_coll_comm_init() finds out what can be had. */
int sumac_tree_group(struct sharp_coll_context* context, uint32_t rank, uint32_t members, const void* offers,
                     const int* ranks, struct sharp_coll_comm** group_p);
/** Ends a group that another member has not joined. It waits for nobody. */
void sumac_tree_give_up(struct sharp_coll_comm* group);

/** @param group   A living group of all leaders; NULL at a rank that does not lead. It must outlive the object.
 *  @return An object that takes nothing before sumac_tree_limit(). NULL: out of memory, or the group is not ours. */
sumac_tree_t* sumac_tree_open(struct sharp_coll_comm* group);

/** @param limits  [kinds], those that all ranks have agreed on. */
void sumac_tree_limit(sumac_tree_t* tree, const int64_t* limits, size_t kinds);

/** The names of the group's members in messages, if people know them by other ranks than the group's.
 *  @param names  [count], in the order of the group's ranks; copied. */
void sumac_tree_names(struct sharp_coll_comm* group, const char* const* names, size_t count);

/** The same for members whose names are "rank N (host NAME)". */
void sumac_tree_ranks(struct sharp_coll_comm* group, const int* ranks, size_t count);

/** Drops operations that are not done. NULL is allowed. */
void sumac_tree_close(sumac_tree_t* tree);

#ifdef __cplusplus
}
#endif

#endif
