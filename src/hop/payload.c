#include "hop/payload.h"

#include "hop/element.h"

HOP_VERIFIED_ALONE int hop_admits(const struct HopHeader* frame, uint32_t children, uint32_t payload_bytes_max) {
  if (!frame || frame->magic != kHopMagic || frame->version != kHopVersion || frame->reserved) return 0;
  if (frame->payload_bytes > payload_bytes_max || frame->child >= children) return 0;
  if (frame->kind == kHopProbe || frame->kind == kHopProbed) return frame->payload_bytes == 0;
  if (frame->kind != kHopContribute && frame->kind != kHopResult) return 0;
  if (frame->op > 15 || frame->dtype > 15) return 0;  // The machine keeps no more bits of them.
  if (frame->coll == kHopBarrier) return frame->payload_bytes == 0;
  if (frame->coll == kHopAllreduce || frame->coll == kHopReduce) return hop_combines(frame->op, frame->dtype);
  return frame->coll == kHopBcast;
}

HOP_VERIFIED_ALONE int hop_store(struct HopBuffers* buffers, const struct HopPayload* payload, uint32_t words,
                                 uint32_t part) {
  if (!buffers || !payload) return 0;
  for (uint32_t i = 0; i < kHopPayloadWords && i < words; ++i) {
    if (part < kHopChildren)
      buffers->part[(part * words + i) & (kHopPartWords - 1)] = payload->word[i];
    else
      buffers->value.word[i] = payload->word[i];
  }
  return 1;
}

HOP_INLINE uint64_t* part_word(struct HopBuffers* buffers, uint32_t part, uint32_t words, uint32_t i) {
  return &buffers->part[(part * words + i) & (kHopPartWords - 1)];
}

HOP_VERIFIED_ALONE int hop_fold_part(struct HopBuffers* buffers, const struct HopHeader* frame, uint32_t part,
                                     uint32_t is_first) {
  if (!buffers || !frame) return 0;
  const uint32_t op = frame->op, dtype = frame->dtype, words = hop_words(frame);
  for (uint32_t i = 0; i < kHopPayloadWords && i < words; ++i) {
    const uint64_t addend = *part_word(buffers, part, words, i);
    buffers->value.word[i] = is_first ? addend : hop_combine(op, dtype, buffers->value.word[i], addend);
  }
  return 1;
}

HOP_VERIFIED_ALONE int hop_merge(struct HopBuffers* buffers, const struct HopHeader* frame, uint32_t left,
                                 uint32_t right) {
  if (!buffers || !frame) return 0;
  const uint32_t op = frame->op, dtype = frame->dtype, words = hop_words(frame);
  for (uint32_t i = 0; i < kHopPayloadWords && i < words; ++i) {
    uint64_t* sum = part_word(buffers, left, words, i);
    *sum = hop_combine(op, dtype, *sum, *part_word(buffers, right, words, i));
  }
  return 1;
}

HOP_VERIFIED_ALONE int hop_fold(struct HopBuffers* buffers, const struct HopHeader* frame, const struct HopPlace* place,
                                uint64_t given) {
  if (!buffers || !frame || !place) return 0;
  if (place->merges && given == hop_all_children(place)) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < kHopChildren - 1 && i < place->merges; ++i) {
      left = place->merge[i].left;
      hop_merge(buffers, frame, left, place->merge[i].right);
    }
    return hop_fold_part(buffers, frame, left, 1);
  }
  uint32_t is_first = 1;
  for (uint32_t part = 0; part < kHopChildren && given >> part; ++part) {
    if (!(given >> part & 1)) continue;
    hop_fold_part(buffers, frame, part, is_first);
    is_first = 0;
  }
  return 1;
}

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (64 - (bits)))

struct Sip {
  uint64_t v0, v1, v2, v3;
};

HOP_INLINE void sip_round(struct Sip* s) {
  s->v0 += s->v1;
  s->v1 = ROTATE(s->v1, 13) ^ s->v0;
  s->v0 = ROTATE(s->v0, 32);
  s->v2 += s->v3;
  s->v3 = ROTATE(s->v3, 16) ^ s->v2;
  s->v0 += s->v3;
  s->v3 = ROTATE(s->v3, 21) ^ s->v0;
  s->v2 += s->v1;
  s->v1 = ROTATE(s->v1, 17) ^ s->v2;
  s->v2 = ROTATE(s->v2, 32);
}

HOP_INLINE void sip_word(struct Sip* s, uint64_t word) {
  s->v3 ^= word;
  sip_round(s);
  sip_round(s);
  s->v0 ^= word;
}

HOP_VERIFIED_ALONE uint64_t hop_tag(const struct HopKey* key, const struct HopHeader* frame,
                                    const struct HopPayload* payload, uint32_t words) {
  if (!key || !frame || !payload) return 0;
  struct Sip s = {0x736f6d6570736575ULL ^ key->word[0], 0x646f72616e646f6dULL ^ key->word[1],
                  0x6c7967656e657261ULL ^ key->word[0], 0x7465646279746573ULL ^ key->word[1]};
  sip_word(&s, frame->kind | (uint64_t)frame->flags << 8 | (uint64_t)frame->child << 16 | (uint64_t)frame->coll << 24 |
                   (uint64_t)frame->op << 32 | (uint64_t)frame->dtype << 40 | (uint64_t)frame->payload_bytes << 48);
  sip_word(&s, frame->sequence | (uint64_t)frame->root << 32 | (uint64_t)frame->meaning << 48);
  for (uint32_t i = 0; i < kHopPayloadWords && i < words; ++i) sip_word(&s, payload->word[i]);
  sip_word(&s, (uint64_t)(8 * (words + kHopTaggedWords)) << 56);
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) sip_round(&s);
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
