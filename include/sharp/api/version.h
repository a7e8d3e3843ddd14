/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The level of the SHARP programming interface that these headers implement: 3.6, the newest one whose layout is known
 * in full. Programs compare
 *     #if SHARP_API > SHARP_VERSION(3, 0)
 * before they use later features (8-bit and bfloat16 data after 3.0; calls of more than 512 MiB in NCCL's plugin after
 * 3.6). */
#ifndef SUMAC_SHARP_API_VERSION_H
#define SUMAC_SHARP_API_VERSION_H

#define SHARP_VERNO_MAJOR 3
#define SHARP_VERNO_MINOR 6
#define SHARP_VERNO_REV "0"
#define SHARP_VERNO_STRING "3.6"

#define SHARP_MINOR_BIT 16UL
#define SHARP_MAJOR_BIT 24UL

/** One number for a level: 0x03060000 is 3.6. The numbers of two levels compare as the levels do. */
#define SHARP_VERSION(major, minor) (((major) << SHARP_MAJOR_BIT) | ((minor) << SHARP_MINOR_BIT))
#define SHARP_API ((3L << SHARP_MAJOR_BIT) | (6L << SHARP_MINOR_BIT))

#endif
