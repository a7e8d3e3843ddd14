/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The level of HCOLL's interface that these headers and libhcoll.so.1 have. It is a number of the interface, not of Sumac:
 * hcoll_info -v prints both. */
#ifndef HCOLL_VERSION_H_
#define HCOLL_VERSION_H_

#define HCOLL_VERNO_MAJOR 4
#define HCOLL_VERNO_MINOR 8
#define HCOLL_VERNO_MICRO 0
#define HCOLL_VERNO_STRING "4.8.0"
#define HCOLL_GIT_SHA "sumac"

/** Clients make HCOLL_VERSION(major, minor) of them, and compare it with HCOLL_API, also in #if. */
#define HCOLL_MINOR_BIT 16UL
#define HCOLL_MAJOR_BIT 24UL
#define HCOLL_API ((4L << 24) | (8L << 16))

#endif
