/* The extensions of libsharp_coll (sharp/api/sumac_ext.h) for files that also use src/team: the two headers number
 * collectives under the same names, so no file can include both. */
#ifndef SUMAC_MPI_TREE_H
#define SUMAC_MPI_TREE_H

#include <stddef.h>
#include <stdint.h>

struct sharp_coll_comm;
struct sharp_coll_context;

/** sumac_req_status(): 1 done, 0 pending, negative failed, with a sentence in `text`. */
int hcoll_tree_request_status(void* request, char* text, size_t text_bytes);
/** Calls sumac_comm_leave_nb(). */
int hcoll_tree_leave(struct sharp_coll_comm* group, void** request_p);
/** Writes for users why the tree takes an allreduce up to its limit, with the numbers. */
void hcoll_tree_explain(struct sharp_coll_comm* group, char* text, size_t text_bytes);
/** Sleeps until something happens or `us` have passed. */
void hcoll_tree_wait(struct sharp_coll_context* context, int us);

#endif
