#define _GNU_SOURCE /* ppoll */
#include "tree.h"

#include <poll.h>
#include <string.h>

#include "sharp/api/sumac_ext.h"

int hcoll_tree_request_status(void* request, char* text, size_t text_bytes) {
  return sumac_req_status(request, text, text_bytes);
}

int hcoll_tree_request_sleep(void* request, int us) { return sumac_req_sleep(request, us); }

int hcoll_tree_leave(struct sharp_coll_comm* group, void** request_p) { return sumac_comm_leave_nb(group, request_p); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t hcoll_tree_bytes_max(struct sharp_coll_comm* group) {
  struct sumac_comm_info info;
  memset(&info, 0, sizeof(info));
  info.struct_bytes = sizeof(info);
  info.groups = 1;
  info.allreduce_bytes_max = INT64_MAX;
  if (0 != sumac_comm_query_info(group, &info)) {
    return 0;
  }
  int64_t in_flight = info.stream_window > 0 ? INT64_MAX : (int64_t)info.groups * info.osts * info.payload_bytes;
  /* What fits into one message is a matter of delay, in which the tree is ahead wherever somebody asked for it. */
  int64_t pays = (int64_t)info.allreduce_bytes_max;
  return least(in_flight, pays < info.payload_bytes ? info.payload_bytes : pays);
}

void hcoll_tree_explain(struct sharp_coll_comm* group, char* text, size_t text_bytes) {
  (void)sumac_comm_explain(group, text, text_bytes);
}

void hcoll_tree_wait(struct sharp_coll_context* context, int us) {
  struct pollfd fd = {.fd = sumac_coll_wait_fd(context), .events = POLLIN};
  const struct timespec most = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};
  if (1 == sumac_coll_arm(context)) {
    (void)ppoll(&fd, 1, &most, NULL);
  }
}
