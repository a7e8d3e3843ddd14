#pragma once
/* UCX's functions that the ucx backend calls. The backend itself is part of each program and library of ours; the module
 * libsumac_net_ucx.so is C alone: it needs UCX and holds these pointers. So no C++ object is made on one side and freed on
 * the other, which may have another `operator new` (docs/adr/0068). */
#include <stddef.h>
#include <ucp/api/ucp.h>

#define SUMAC_UCX_FUNCTIONS(each)                                                                                      \
  each(ucp_am_data_release) each(ucp_am_recv_data_nbx) each(ucp_am_send_nbx) each(ucp_cleanup) each(ucp_config_modify) \
      each(ucp_config_read) each(ucp_config_release) each(ucp_ep_close_nbx) each(ucp_ep_create) each(ucp_ep_flush_nbx) \
          each(ucp_init_version) each(ucp_request_check_status) each(ucp_request_free) each(ucp_worker_arm)            \
              each(ucp_worker_create) each(ucp_worker_destroy) each(ucp_worker_get_address) each(ucp_worker_get_efd)   \
                  each(ucp_worker_progress) each(ucp_worker_release_address) each(ucp_worker_set_am_recv_handler)      \
                      each(ucs_status_string)

#ifdef __cplusplus /* a member may not change the meaning of a name that stands before it */
#define SUMAC_UCX_MEMBER(name) __typeof__(::name)* name;
#else
#define SUMAC_UCX_MEMBER(name) __typeof__(name)* name;
#endif
struct sumac_ucx_functions {
  size_t bytes; /* the size of this record: both sides must come from one build */
  SUMAC_UCX_FUNCTIONS(SUMAC_UCX_MEMBER)
};
#undef SUMAC_UCX_MEMBER
