/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of Sumac's libsharp_coll.so beyond the SHARP interface: the reason why an operation failed, a
 * descriptor to sleep on, a leave that does not block, the parameters of a group, and counts. They are for callers that
 * know they run on Sumac (such as its MPI component). A program that must also run elsewhere finds these names with
 * dlsym().
 *
 * Structures begin with their size, which the caller sets, so that they can grow: nothing beyond it is written. */
#ifndef SUMAC_SHARP_API_SUMAC_EXT_H
#define SUMAC_SHARP_API_SUMAC_EXT_H

#include "sharp_coll.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the state of a request, after driving progress.
 *  @param text  If it failed: one sentence that names the culprit and the reason, cut to `text_bytes` with the closing
 *               zero. May be NULL.
 *  @return 1 complete, 0 pending, negative (SHARP_COLL_ERROR, ...) failed for good. In either final state free it with
 *            sharp_coll_req_free(). */
int sumac_req_status(void* handle, char* text, size_t text_bytes);

/** Sleeps at most `us` microseconds while nothing can have happened to a pending request. The event that wakes it is
 *  kept for sumac_req_status(), which then need not ask the system. Does not drive progress.
 *  @return 1: call sumac_req_status(); 0: the time is over, and the request is still pending. */
int sumac_req_sleep(void* handle, int us);

/** Has the group ended? Does not drive progress.
 *  @return 0: it lives; negative: it accepts no more operations, and `text` has the reason as above. The caller can
 *             then only leave it. */
int sumac_comm_error(struct sharp_coll_comm* comm, char* text, size_t text_bytes);

/** Returns a descriptor for poll() or epoll. It is readable when sharp_coll_progress() would find something, provided
 *  sumac_coll_arm() returned 1 just before. Never read from it or close it. Negative: the context belongs to another
 *  process (fork). */
int sumac_coll_wait_fd(struct sharp_coll_context* ctx);

/** Call this just before sleeping on the descriptor. @return 1: sleep; 0: there is work, so make progress first. */
int sumac_coll_arm(struct sharp_coll_context* ctx);

/** Does later what `enable_thread_support` of sharp_coll_init() does: from now on several threads may use the context.
 *  Call it while only one thread uses it, and no call of the context is under way further up the stack. */
int sumac_coll_enable_threads(struct sharp_coll_context* ctx);

/** For a thread that sleeps on the descriptor while other threads use the context: they may receive the message that it
 *  sleeps for, and then the descriptor stays quiet.
 *  @param event_fd  An eventfd of the caller's, which is written to if that happens after sumac_coll_arm() returned 1.
 *                   Sleep on both descriptors. -1: none (the initial state). With one, sumac_coll_arm() also returns 0
 *                   if an operation has ended since its last call. Only one thread may sleep so. */
int sumac_coll_set_bell(struct sharp_coll_context* ctx, int event_fd);

/** Post the Leave of a group without waiting: this is the first half of sharp_coll_comm_destroy(). No operation may be
 *  posted afterwards, and all earlier ones must have completed or failed. The request completes when every member has
 *  left (or when the tree is gone, because then no one can be told). Then free the request and call
 *  sharp_coll_comm_destroy(), which now returns at once.
 *  @retval SHARP_COLL_EINVAL  Operations are still pending, or Leave was posted before. */
int sumac_comm_leave_nb(struct sharp_coll_comm* comm, void** handle);

/** The resources and parameters of a group. */
struct sumac_comm_info {
  size_t struct_bytes; /**< sizeof(struct sumac_comm_info), set by the caller */
  uint32_t group_id;
  uint32_t tree_id;
  uint32_t group_size;
  uint32_t osts;             /**< W: the most low-latency fragments in flight */
  uint32_t payload_bytes;    /**< payload of one low-latency fragment */
  uint32_t pipeline_depth;   /**< the most low-latency fragments of one operation in flight */
  uint32_t stream_window;    /**< the most streaming fragments in flight; 0: no streaming in this job */
  uint32_t chunk_bytes;      /**< payload of one streaming fragment */
  uint64_t stream_threshold; /**< bytes from which an allreduce streams; meaningless if stream_window is 0 */
  uint32_t root_node;        /**< id of the node that answers */
  uint32_t depth;            /**< nodes from this member to the one that answers, 1 or more */
  uint32_t groups; /**< groups over which large operations are striped; the numbers above are the first one's */
  uint32_t reserved;
  /** Beyond this size the hosts' own algorithms are faster, according to the rates of the fabric's links and the
   *  positions of its nodes. INT64_MAX: the tree is never slower, or the rates are not known. */
  uint64_t allreduce_bytes_max;
};
int sumac_comm_query_info(struct sharp_coll_comm* comm, struct sumac_comm_info* info);

/** Explains the value of `allreduce_bytes_max` with its numbers: one sentence, cut to `text_bytes` with the closing
 *  zero. */
int sumac_comm_explain(struct sharp_coll_comm* comm, char* text, size_t text_bytes);

/** The index of sumac_coll_stats.per_coll. */
enum sumac_stats_kind {
  SUMAC_STATS_BARRIER = 0,
  SUMAC_STATS_ALLREDUCE = 1,
  SUMAC_STATS_REDUCE = 2,
  SUMAC_STATS_BCAST = 3,
  SUMAC_STATS_REDUCE_SCATTER = 4,
  SUMAC_STATS_ALLGATHER = 5,
  SUMAC_STATS_KINDS = 8 /**< entries of per_coll */
};

struct sumac_coll_counts {
  uint64_t posted;   /**< operations accepted */
  uint64_t answered; /**< operations whose last fragment the group's root answered */
  uint64_t failed;
  uint64_t streamed; /**< the part of `answered` on the streaming tree */
  uint64_t fragments;
  uint64_t bytes; /**< user bytes of one member's contributions */
};

/** Counts since sharp_coll_init(), over all communicators of the context, living or destroyed. */
struct sumac_coll_stats {
  size_t struct_bytes; /**< sizeof(struct sumac_coll_stats), set by the caller */
  struct sumac_coll_counts per_coll[SUMAC_STATS_KINDS];
  uint64_t messages_in, messages_out;
  uint64_t bytes_in, bytes_out;
  uint64_t system_calls;    /**< made by the transport */
  uint64_t sleeps;          /**< times a blocking call slept */
  uint64_t multicast_taken; /**< results that came by multicast before the link's copy */
  uint64_t multicast_late;  /**< multicast results that came after it, or a second time */
  /* multicast results without the right tag, malformed, or for no operation under way */
  uint64_t multicast_discarded;
  uint64_t datagrams; /**< operations that the kernels of nodes answered */
};
int sumac_coll_query_stats(struct sharp_coll_context* ctx, struct sumac_coll_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
