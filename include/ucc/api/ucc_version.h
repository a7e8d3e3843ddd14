/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The level of the Teams API that these headers and libucc.so.1 have. It is a number of the interface, not of Sumac:
 * ucc_info -v prints both. */
#ifndef UCC_VERSION_H_
#define UCC_VERSION_H_

#define UCC_VERSION_MAJOR_SHIFT 24
#define UCC_VERSION_MINOR_SHIFT 16
#define UCC_VERSION(_major, _minor) (((_major) << UCC_VERSION_MAJOR_SHIFT) | ((_minor) << UCC_VERSION_MINOR_SHIFT))

#define UCC_API_MAJOR 1
#define UCC_API_MINOR 8
#define UCC_API_VERSION UCC_VERSION(UCC_API_MAJOR, UCC_API_MINOR)
#define UCC_VERSION_STRING "1.8.0"
#define UCC_GIT_REVISION "sumac"

#endif
