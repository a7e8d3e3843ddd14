#pragma once
// A node checks a frame before the machine's steps, and stores, folds and tags payloads between them.
#include <stdint.h>

#include "hop/frame.h"
#include "hop/verified.h"

#ifdef __cplusplus
extern "C" {
#endif

struct HopKey {
  uint64_t word[2];
};

/// A node's place in a group.
struct HopPlace {
  uint32_t children;
  uint32_t slots;  ///< 2 W, a power of two
  uint32_t is_root;
  uint32_t alone[kHopChildren];  ///< The rank of the only member below each child, or kHopMany.
  /// Sums of all children's data are made in this order: the right one's is added to the left one's. Without merges they are made
  /// in the order of the children.
  uint32_t merges;
  struct {
    uint16_t left, right;
  } merge[kHopChildren - 1];
};

/// The set of all children.
HOP_INLINE uint64_t hop_all_children(const struct HopPlace* place) { return ~0ULL >> ((64 - place->children) & 63); }

struct HopBuffers {
  struct HopPayload value;       ///< It goes up; then it is the result.
  uint64_t part[kHopPartWords];  ///< They are the children's, one behind the other.
};

/// Returns whether a node can work with a frame of this header: kind, operation, type, size and child. Its tag is not looked at.
HOP_VERIFIED_ALONE int hop_admits(const struct HopHeader* frame, uint32_t children, uint32_t payload_bytes_max);

/// Copies into the buffer of child `part`, or of the value (kHopChildren). The verifier demands a result and a look at each
/// pointer: 0 for a null pointer.
HOP_VERIFIED_ALONE int hop_store(struct HopBuffers* buffers, const struct HopPayload* payload, uint32_t words,
                                 uint32_t part);

/// Folds the buffers of the children in the set `given` into the value: all children's in the order of the place's merges, if it
/// has them, and else in the order of the children.
HOP_VERIFIED_ALONE int hop_fold(struct HopBuffers* buffers, const struct HopHeader* frame, const struct HopPlace* place,
                                uint64_t given);

/// Returns SipHash-2-4 of what follows the tag.
HOP_VERIFIED_ALONE uint64_t hop_tag(const struct HopKey* key, const struct HopHeader* frame,
                                    const struct HopPayload* payload, uint32_t words);

HOP_INLINE uint32_t hop_words(const struct HopHeader* frame) { return (frame->payload_bytes + 7u) / 8; }

#ifdef __cplusplus
}
#endif
