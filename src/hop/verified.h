#pragma once
// These words tell how a function is compiled for the kernel, whose verifier follows every path through a program. The
// same source is an ordinary library elsewhere, where a slot has one user at a time.
#include <stdint.h>

/// Part of its caller: no function is called under a lock before Linux 6.9.
#define HOP_INLINE static inline __attribute__((always_inline))
/// Verified once, for any arguments, and then called: its paths do not multiply those of its callers.
#define HOP_VERIFIED_ALONE __attribute__((noinline))

#ifdef __bpf__
#define HOP_STEP HOP_INLINE
#define HOP_LOCK struct bpf_spin_lock  // A typedef would hide it from the kernel.
#define hop_lock bpf_spin_lock
#define hop_unlock bpf_spin_unlock
#else
#define HOP_STEP
#define HOP_LOCK uint32_t
#define hop_lock(lock) ((void)(lock))
#define hop_unlock(lock) ((void)(lock))
#endif
