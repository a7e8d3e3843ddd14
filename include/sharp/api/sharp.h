/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one header that programs include: the collective interface, its version, and the session with sharpd below it
 * (libsharp.so). */
#ifndef SUMAC_SHARP_API_SHARP_H
#define SUMAC_SHARP_API_SHARP_H

#include "sharp_coll.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The name by which build systems recognise libsharp (they link it and never call it; its original parameters are not
 *  public). Here it asks one question: is there a sharpd on this host that lets this process in? It looks where
 *  SHARP_COLL_SHARPD_SOCKET_NAME says, says hello and hangs up again; nothing is kept.
 *  @retval 0  yes; SHARP_COLL_ESESS_INIT (-8): no. */
int sharp_init_session(void);

#ifdef __cplusplus
}
#endif

#endif
