#ifndef XCCL_DEF_H_
#define XCCL_DEF_H_
/* The handles. Each belongs to the program from the call that returns it to the call that ends it. */
#include <stddef.h>
#include <stdint.h>

typedef struct xccl_lib* xccl_lib_h;
typedef struct xccl_lib_config xccl_lib_config_t;
typedef struct xccl_context* xccl_context_h;
typedef struct xccl_context_config xccl_context_config_t;
typedef struct xccl_team* xccl_team_h;
typedef struct xccl_coll_req* xccl_coll_req_h;
typedef struct xccl_mem_handle* xccl_mem_h;

#endif
