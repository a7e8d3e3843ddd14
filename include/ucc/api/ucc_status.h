/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function of the interface returns one of these. A negative value is an error; the first line on stderr says more. */
#ifndef UCC_STATUS_H_
#define UCC_STATUS_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  UCC_OK = 0,
  UCC_INPROGRESS = 1,            /* not done: call ucc_context_progress(), then ask again */
  UCC_OPERATION_INITIALIZED = 2, /* a request that was not posted yet */
  UCC_ERR_NOT_SUPPORTED = -1,    /* this library does not do it; the same at every rank */
  UCC_ERR_NOT_IMPLEMENTED = -2,
  UCC_ERR_INVALID_PARAM = -3, /* the call breaks a rule of ucc.h; nothing was started */
  UCC_ERR_NO_MEMORY = -4,
  UCC_ERR_NO_RESOURCE = -5,
  UCC_ERR_NO_MESSAGE = -6, /* the team is broken: a rank has died or given up */
  UCC_ERR_NOT_FOUND = -7,
  UCC_ERR_TIMED_OUT = -8,
  UCC_ERR_IO_ERROR = -9,
  UCC_ERR_LAST = -100
} ucc_status_t;

/** Returns the name of a status for people; never NULL. */
const char* ucc_status_string(ucc_status_t status);

#ifdef __cplusplus
}
#endif

#endif
