/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Sumac's libsharp_coll.so can tell and do beyond the SHARP interface: why an operation failed, on what to sleep,
 * how to leave a group without blocking, what was agreed and counted. For callers that know they run on Sumac (its MPI
 * component does). A program that must also run elsewhere looks these names up with dlsym().
 *
 * Structures begin with their size, which the caller sets, so that they can grow: nothing beyond it is written. */
#ifndef SUMAC_SHARP_API_SUMAC_EXT_H
#define SUMAC_SHARP_API_SUMAC_EXT_H

#include "sharp_coll.h"

#ifdef __cplusplus
extern "C" {
#endif

/** State of a request, after driving progress.
 *  @param text  If it failed: one sentence that names who and what, cut to `text_bytes` with the closing zero. May be
 *          NULL.
 *  @return 1 complete, 0 pending, negative (SHARP_COLL_ERROR, ...) failed for good. In either final state free it with
 *          sharp_coll_req_free(). */
int sumac_req_status(void* handle, char* text, size_t text_bytes);

/** Sleeps while nothing can have happened to a pending request, at most `us` microseconds; what wakes it is kept for
 *  sumac_req_status(), which then need not ask the system. Does not drive progress.
 *  @return 1: ask sumac_req_status(); 0: the time is over, and the request is pending as before. */
int sumac_req_sleep(void* handle, int us);

/** Has the group ended? Does not drive progress.
 *  @return 0 it lives; negative: it takes no more operations, `text` says why as above. The only thing left is to leave
 *          it. */
int sumac_comm_error(struct sharp_coll_comm* comm, char* text, size_t text_bytes);

/** A descriptor for poll() or epoll, readable when sharp_coll_progress() would find something, provided
 *  sumac_coll_arm() returned 1 just before. Never read from it or close it. Negative: the context is not this process's
 *  (fork). */
int sumac_coll_wait_fd(struct sharp_coll_context* ctx);

/** Call just before sleeping on the descriptor. @return 1: sleep; 0: there is work, progress first. */
int sumac_coll_arm(struct sharp_coll_context* ctx);

/** Post the Leave of a group without waiting; the first half of sharp_coll_comm_destroy(). No operation may be posted
 *  afterwards, and all earlier ones must have completed or failed. The request completes when every member has left (or
 *  the tree is gone: then there is nobody left to tell). Then free the request and call sharp_coll_comm_destroy(),
 *  which now returns at once.
 *  @retval SHARP_COLL_EINVAL  Operations are still pending, or Leave was posted before. */
int sumac_comm_leave_nb(struct sharp_coll_comm* comm, void** handle);

/** What a group got. */
struct sumac_comm_info {
  size_t struct_bytes; /**< sizeof(struct sumac_comm_info), set by the caller */
  uint32_t group_id;
  uint32_t tree_id;
  uint32_t group_size;
  uint32_t osts;             /**< W: low-latency fragments in flight at most */
  uint32_t payload_bytes;    /**< of one low-latency fragment */
  uint32_t pipeline_depth;   /**< low-latency fragments of one operation in flight at most */
  uint32_t stream_window;    /**< streaming fragments in flight at most; 0: no streaming in this job */
  uint32_t chunk_bytes;      /**< of one streaming fragment */
  uint64_t stream_threshold; /**< bytes from which an allreduce streams; meaningless if stream_window is 0 */
  uint32_t root_node;        /**< id of the node that answers */
  uint32_t depth;            /**< nodes between this member and the answer, 1 or more */
  uint32_t groups; /**< groups over which large operations are striped; the numbers above are the first one's */
  uint32_t reserved;
  uint64_t
      allreduce_bytes_max; /**< beyond it the hosts' own algorithms are faster, by the rates of the fabric's links and where its
                                     nodes are; INT64_MAX: the tree doesn't lose, or the rates are not known */
};
int sumac_comm_query_info(struct sharp_coll_comm* comm, struct sumac_comm_info* info);

/** Why `allreduce_bytes_max` is what it is, with the numbers: one sentence, cut to `text_bytes` with the closing zero. */
int sumac_comm_explain(struct sharp_coll_comm* comm, char* text, size_t text_bytes);

/** Index of sumac_coll_stats.per_coll. */
enum sumac_stats_kind {
  SUMAC_STATS_BARRIER = 0,
  SUMAC_STATS_ALLREDUCE = 1,
  SUMAC_STATS_REDUCE = 2,
  SUMAC_STATS_BCAST = 3,
  SUMAC_STATS_REDUCE_SCATTER = 4,
  SUMAC_STATS_ALLGATHER = 5,
  SUMAC_STATS_KINDS = 8 /**< places in per_coll */
};

struct sumac_coll_counts {
  uint64_t posted;   /**< operations accepted */
  uint64_t answered; /**< operations whose last fragment the group's root answered */
  uint64_t failed;
  uint64_t streamed; /**< of `answered`: on the streaming tree */
  uint64_t fragments;
  uint64_t bytes; /**< user bytes of one member's contributions */
};

/** Counted since sharp_coll_init(), over all communicators of the context, living or destroyed. */
struct sumac_coll_stats {
  size_t struct_bytes; /**< sizeof(struct sumac_coll_stats), set by the caller */
  struct sumac_coll_counts per_coll[SUMAC_STATS_KINDS];
  uint64_t messages_in, messages_out;
  uint64_t bytes_in, bytes_out;
  uint64_t system_calls;        /**< of the transport */
  uint64_t sleeps;              /**< times a blocking call slept */
  uint64_t multicast_taken;     /**< results that came by multicast before the link's copy */
  uint64_t multicast_late;      /**< after it, or a second time */
  uint64_t multicast_discarded; /**< without the right tag, malformed, or of no operation under way */
};
int sumac_coll_query_stats(struct sharp_coll_context* ctx, struct sumac_coll_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
