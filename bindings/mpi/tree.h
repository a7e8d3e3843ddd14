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
/** sumac_comm_leave_nb(). */
int hcoll_tree_leave(struct sharp_coll_comm* group, void** request_p);
/** Why an allreduce is for the tree up to its limit, with the numbers, for people. */
void hcoll_tree_explain(struct sharp_coll_comm* group, char* text, size_t text_bytes);
/** Sleeps until something happens or `us` have passed. */
void hcoll_tree_wait(struct sharp_coll_context* context, int us);

#endif
