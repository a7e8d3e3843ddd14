#define _GNU_SOURCE /* ppoll */
#include "tree.h"

#include <poll.h>
#include <string.h>

#include "sharp/api/sumac_ext.h"

int hcoll_tree_request_status(void* request, char* text, size_t text_bytes) {
  return sumac_req_status(request, text, text_bytes);
}

int hcoll_tree_leave(struct sharp_coll_comm* group, void** request_p) { return sumac_comm_leave_nb(group, request_p); }

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
