/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only header that programs include: the collective interface, its version, and the session with sharpd below it
 * (libsharp.so). */
#ifndef SUMAC_SHARP_API_SHARP_H
#define SUMAC_SHARP_API_SHARP_H

#include "sharp_coll.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Build systems recognise libsharp by this name (they link it and never call it; its original parameters are not
 *  public). Here it asks one question: does this host have a sharpd that accepts this process? It connects to
 *  SHARP_COLL_SHARPD_SOCKET_NAME, says hello and disconnects; nothing is kept.
 *  @retval 0  Yes; SHARP_COLL_ESESS_INIT (-8): no. */
int sharp_init_session(void);

#ifdef __cplusplus
}
#endif

#endif
