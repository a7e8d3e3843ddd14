#ifndef XCCL_STATUS_H_
#define XCCL_STATUS_H_

/** The answer of a call; a failure is below 0, and one line on stderr says more. */
typedef enum {
  XCCL_OK = 0,
  XCCL_INPROGRESS = 1, /**< Test again; every test makes progress. */

  XCCL_ERR_NO_MESSAGE = -1,  /**< The team is broken: a rank of it has failed. */
  XCCL_ERR_NO_RESOURCE = -2, /**< No thread or file can be had. */
  XCCL_ERR_NO_MEMORY = -4,
  XCCL_ERR_INVALID_PARAM = -5,
  XCCL_ERR_UNREACHABLE = -6,
  XCCL_ERR_NOT_IMPLEMENTED = -8,
  XCCL_ERR_MESSAGE_TRUNCATED = -9,
  XCCL_ERR_NO_PROGRESS = -10, /**< A time limit has passed (SUMAC_TIMEOUT). */
  XCCL_ERR_BUFFER_TOO_SMALL = -11,
  XCCL_ERR_NO_ELEM = -12, /**< There is no such name. */
  XCCL_ERR_UNSUPPORTED = -22,
  XCCL_ERR_LAST = -100
} xccl_status_t;

#endif
