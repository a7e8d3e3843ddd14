/* The extensions of libsharp_coll (sharp/api/sumac_ext.h) for files that use src/team as well: the two headers number collectives under the
 * same names, so no file can have both. */
#ifndef SUMAC_MPI_TREE_H
#define SUMAC_MPI_TREE_H

#include <stddef.h>
#include <stdint.h>

struct sharp_coll_comm;
struct sharp_coll_context;

/** sumac_req_status(): 1 done, 0 pending, negative failed, with a sentence in `text`. */
int hcoll_tree_request_status(void* request, char* text, size_t text_bytes);
/** sumac_req_sleep(): 0: the time is over and the request pending as before; 1: ask for its status. */
int hcoll_tree_request_sleep(void* request, int us);
/** sumac_comm_leave_nb(). */
int hcoll_tree_leave(struct sharp_coll_comm* group, void** request_p);
/** Largest allreduce that is for the tree: what the group can have in flight at once (no limit where it streams), and no more than
 * what the tree carries faster than the hosts do by themselves. 0 where it does not say. */
int64_t hcoll_tree_bytes_max(struct sharp_coll_comm* group);
/** The numbers behind it, for people. */
void hcoll_tree_explain(struct sharp_coll_comm* group, char* text, size_t text_bytes);
/** Sleeps until something happens or `us` have passed. */
void hcoll_tree_wait(struct sharp_coll_context* context, int us);

#endif
