#pragma once
// One frame of the datagram way: a contribution to a node or a result from it, in one UDP datagram. Little-endian: a
// header of 32 bytes and the payload, which zeros fill up to whole words. Numbers of operations and types are those of
// base/types.hpp.
#include <stdint.h>

enum { kHopMagic = 0x4853, kHopVersion = 1 };  // "SH"

#ifdef SUMAC_HOP_SMALL
enum { kHopPayloadWords = 1, kHopPartWords = 4 };  // a world of the explorer is small
#else
enum {
  kHopPayloadWords = 128,  // 1 KiB
  kHopPartWords = 2048,    // payloads of all children of a node together: the last one folds them in 11 us
};
#endif
enum {
  kHopHeaderBytes = 32,
  kHopTaggedWords = 2,  // the part of the header that the tag covers
  kHopChildren = 64,    // a node has at most so many in a group
};
#define kHopMany (~0u)  // It stands for the only member below a child where there are more.

enum HopKind {
  kHopContribute = 1,
  kHopResult = 2,
  kHopProbe =
      3,  // A node answers it at once: by that a member measures the round trip, and every child knows that the path works.
  kHopProbed = 4,
};

enum HopColl { kHopBarrier = 1, kHopAllreduce = 2, kHopReduce = 3, kHopBcast = 4 };  // wire::Coll

enum HopFlag {
  kHopFull = 1,    // contribute: all members below the sender have contributed
  kHopValue = 2,   // bcast, reduce: the payload is the source's, or the sum of all below the sender but the root
  kHopClosed = 4,  // result: every member has contributed
};

struct HopHeader {
  uint16_t magic;
  uint8_t version;  // It rises when the meaning of any byte changes; a node leaves others to its daemon.
  uint8_t reserved;
  uint32_t group;  // The receiver numbers its groups.
  uint64_t tag;    // SipHash-2-4 of all that follows, under the key of this direction
  uint8_t kind;
  uint8_t flags;
  uint8_t child;  // contribute: the sender's index at the receiver
  uint8_t coll;   // From here all members must agree, but for the sequence number.
  uint8_t op;
  uint8_t dtype;
  uint16_t payload_bytes;  // Each frame has the whole operation's, so that any frame can become the result.
  uint32_t sequence;
  uint16_t root;
  uint16_t meaning;
};

struct HopPayload {
  uint64_t word[kHopPayloadWords];
};

struct HopFrame {
  struct HopHeader header;
  struct HopPayload payload;
};
