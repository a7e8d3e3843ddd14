#ifndef XCCL_VERSION_H_
#define XCCL_VERSION_H_
/* The level of the interface that these headers and libxccl.so.1 have. */

#define XCCL_VERSION_MAJOR_SHIFT 24
#define XCCL_VERSION_MINOR_SHIFT 16
#define XCCL_VERSION(_major, _minor) (((_major) << XCCL_VERSION_MAJOR_SHIFT) | ((_minor) << XCCL_VERSION_MINOR_SHIFT))

#define XCCL_API_MAJOR 1
#define XCCL_API_MINOR 0
#define XCCL_API_VERSION XCCL_VERSION(XCCL_API_MAJOR, XCCL_API_MINOR)

#endif
