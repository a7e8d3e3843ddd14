#ifndef XCCL_TLS_H_
#define XCCL_TLS_H_
/* Team libraries (TL), each a bit. libxccl.so.1 answers to ucx, hier, sharp and shmseg. */
#include <string.h>
#include <ucs/config/types.h>

typedef enum xccl_tl_id {
  XCCL_TL_NULL = 0,
  XCCL_TL_UCX = UCS_BIT(0),
  XCCL_TL_HIER = UCS_BIT(1),
  XCCL_TL_SHARP = UCS_BIT(2),
  XCCL_TL_HMC = UCS_BIT(3),
  XCCL_TL_SHMSEG = UCS_BIT(4),
  XCCL_TL_MRAIL = UCS_BIT(5),
  XCCL_TL_NCCL = UCS_BIT(6),
  XCCL_TL_MPOD = UCS_BIT(7),
  XCCL_TL_LAST,
  XCCL_TL_ALL = (XCCL_TL_LAST << 1) - 3
} xccl_tl_id_t;

/** The library's name: "ucx". NULL: there is none. */
static inline const char* xccl_tl_str(xccl_tl_id_t tl_id) {
  switch ((int)tl_id) {
    case XCCL_TL_UCX: return "ucx";
    case XCCL_TL_HIER: return "hier";
    case XCCL_TL_SHARP: return "sharp";
    case XCCL_TL_HMC: return "hmc";
    case XCCL_TL_SHMSEG: return "shmseg";
    case XCCL_TL_MRAIL: return "mrail";
    case XCCL_TL_NCCL: return "nccl";
    case XCCL_TL_MPOD: return "mpod";
    default: return NULL;
  }
}

/** The bits of all names that are somewhere in `tls_str`: "ucx,sharp". */
static inline xccl_tl_id_t xccl_tls_str_to_bitmap(const char* tls_str) {
  unsigned long tls = 0, bit;
  if (tls_str == NULL) return XCCL_TL_NULL;
  for (bit = 1; bit < XCCL_TL_LAST; bit <<= 1)
    if (strstr(tls_str, xccl_tl_str((xccl_tl_id_t)bit)) != NULL) tls |= bit;
  return (xccl_tl_id_t)tls;
}

#endif
