#pragma once
// A node's part in small collectives over a network that loses, repeats and reorders. Only members have timers; a node
// answers frames. It keeps 2 W numbers of a group, W being how many may be open at once: a contribution to number n+2W proves
// that everybody has number n (docs/adr/0099).
//
// A step is taken under the slot's lock and is short. Payloads are copied and folded between the steps, each contribution
// into its child's own buffer, so a sum has one order.
//
// A bcast is answered when its source has contributed, and a reduce when all but its root have: the root adds its own part
// itself. Such a number is closed later, when everybody has contributed.
//
//   struct HopWork work = hop_claim(&place, slot, &frame->header);
//   if (work.todo & kHopStore) hop_store(&slot->buffers, frame, work.part), work = hop_stored(&place, slot, &frame->header);
//   if (work.todo & kHopFold) hop_fold(&slot->buffers, frame, &place, slot->given), work = hop_folded(&place, slot, &frame->header);
//   then send what work.todo says, with work.flags and slot->buffers.value
#include <stdbool.h>
#include <stdint.h>

#include "hop/frame.h"
#include "hop/payload.h"
#include "hop/verified.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One number of one group.
struct HopSlot {
  HOP_LOCK lock;
  uint32_t sequence;
  uint64_t agreed;   ///< The members must agree on it.
  uint64_t claimed;  ///< children whose contribution was taken
  uint64_t filled;   ///< children all of whose members have contributed
  uint64_t given;    ///< children whose data lie in their buffers
  uint8_t value;     ///< HopValue
  uint8_t is_answered;
  uint8_t is_closed;
  uint8_t is_frozen;  ///< a verdict stands: what is not answered never is
  uint32_t reserved;
  struct HopBuffers buffers;
};

enum HopTodo {
  kHopStore = 1,      ///< copy the payload, then hop_stored()
  kHopFold = 2,       ///< fold the children's buffers, then hop_folded()
  kHopUp = 4,         ///< a contribution to the parent
  kHopDown = 8,       ///< a result to each child
  kHopBack = 16,      ///< a result to the child whose frame this is
  kHopDaemon = 32,    ///< members disagree: the frame goes on to the daemon
  kHopRepeated = 64,  ///< for the counters: the frame brought nothing new
  kHopNew = 128,  ///< from hop_claim() only: no copy of the frame was here before, so its sender is where it came from
};

struct HopWork {
  uint32_t todo;   ///< a set of HopTodo
  uint32_t flags;  ///< The frames to send carry them: a set of HopFlag.
  uint32_t part;   ///< kHopStore: which child's buffer, or kHopChildren for the value
};

HOP_STEP struct HopWork hop_claim(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame);
HOP_STEP struct HopWork hop_stored(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame);
HOP_STEP struct HopWork hop_folded(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame);

/// From now on the slot answers only what it has answered: a verdict can name the lowest number that is not. Only a
/// group's root needs it.
HOP_STEP void hop_freeze(struct HopSlot* slot);

/// Prepares slot `index` of a group whose first number is `first`: it holds one of the 2 W numbers in front of it.
void hop_begin(struct HopSlot* slot, uint32_t first, uint32_t slots, uint32_t index);

/// A *look*: has everybody's way to `sequence` been answered here? `slot` is number `sequence` modulo 2 W.
bool hop_is_answered(const struct HopSlot* slot, uint32_t sequence);

#ifdef __cplusplus
}
#endif
