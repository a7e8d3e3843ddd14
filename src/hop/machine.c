#include "hop/machine.h"

#include "hop/rule.h"

#ifdef SUMAC_HOP_MUTABLE
int hop_broken_rule = -1;
#endif

enum HopValue { kNone, kWriting, kThere };
enum HopNews { kRepetition, kCounted, kReport };

HOP_INLINE uint64_t agreed_of(const struct HopHeader* frame) {
  return frame->coll | (uint64_t)frame->op << 8 | (uint64_t)frame->dtype << 12 | (uint64_t)frame->payload_bytes << 16 |
         (uint64_t)frame->root << 32 | (uint64_t)frame->meaning << 48;
}

HOP_INLINE struct HopWork nothing(void) {
  const struct HopWork work = {0, 0, 0};
  return work;
}

HOP_INLINE struct HopWork just(uint32_t todo, uint32_t part) {
  const struct HopWork work = {todo, 0, part};
  return work;
}

HOP_INLINE bool is_full(const struct HopPlace* place, const struct HopSlot* slot) {
  return slot->filled == hop_all_children(place);
}

/// Is this child, or the only member below it, the root of the frame's reduce?
HOP_INLINE bool is_reduces_root(const struct HopPlace* place, const struct HopHeader* frame, uint32_t child) {
  return place->alone[child & (kHopChildren - 1)] == frame->root || !HOP_KEEPS(kHopAwaitsAllParts);
}

HOP_INLINE uint32_t lowest_bit(uint64_t bits) {
  uint32_t at = 0;
  for (uint32_t half = 32; half > 0; half /= 2)
    if (!(bits & ((1ULL << half) - 1))) bits >>= half, at += half;
  return at;
}

/// Have all given their data, but for the root of a reduce?
HOP_INLINE bool has_all_data(const struct HopPlace* place, const struct HopHeader* frame, uint64_t given) {
  const uint64_t missing = hop_all_children(place) & ~given;
  if (!missing) return true;
  return frame->coll == kHopReduce && !(missing & (missing - 1)) && is_reduces_root(place, frame, lowest_bit(missing));
}

/// Is the root of this reduce the only member here?
HOP_INLINE bool has_nothing_to_give(const struct HopPlace* place, const struct HopHeader* frame) {
  return frame->coll == kHopReduce && place->children == 1 && place->alone[0] == frame->root;
}

HOP_INLINE void take(struct HopSlot* slot, const struct HopHeader* frame) {
  slot->sequence = frame->sequence;
  slot->agreed = agreed_of(frame);
  slot->claimed = slot->filled = slot->given = 0;
  slot->value = kNone;
  slot->is_answered = slot->is_closed = 0;
}

/// Is the value whole, so that it can be sent?
HOP_INLINE bool has_value(const struct HopSlot* slot) {
  return slot->value == kThere || (!HOP_KEEPS(kHopValueIsWhole) && slot->value == kWriting);
}

/// After a contribution: where do frames go now?
HOP_INLINE struct HopWork answer(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame,
                                 enum HopNews news) {
  struct HopWork work = just(news == kRepetition ? kHopRepeated : 0, 0);
  const bool full = is_full(place, slot), can_send = has_value(slot);
  if (place->is_root) {
    const bool first = can_send && !slot->is_answered;
    if (first) slot->is_answered = 1;
    const bool closes = slot->is_answered && full && !slot->is_closed;
    if (closes) slot->is_closed = 1;
    if (first || closes)
      work.todo |= kHopDown;
    else if (slot->is_answered && HOP_KEEPS(kHopAnswersAgain))
      work.todo |= kHopBack;
  } else {
    // The sum of a reduce goes up before its root has contributed, the data of a bcast before others have.
    const bool is_early = frame->coll == kHopBcast || (frame->coll == kHopReduce && can_send);
    const bool again = news == kRepetition && HOP_KEEPS(kHopUpAgain) && (full || (is_early && HOP_KEEPS(kHopAsksUp)));
    const bool can_go_up = can_send || frame->coll == kHopBcast || has_nothing_to_give(place, frame);
    if (!slot->is_closed && can_go_up && (news == kReport || again)) work.todo |= kHopUp;
    if (slot->is_answered && HOP_KEEPS(kHopAnswersAgain)) work.todo |= kHopBack;
  }
  work.flags =
      (full && !place->is_root ? kHopFull : 0) | (can_send ? kHopValue : 0) | (slot->is_closed ? kHopClosed : 0);
  return work;
}

HOP_INLINE struct HopWork contribution(const struct HopPlace* place, struct HopSlot* slot,
                                       const struct HopHeader* frame) {
  const uint64_t bit = 1ULL << (frame->child & 63);
  const bool gives = frame->coll == kHopReduce ? frame->flags & kHopValue : frame->coll != kHopBcast;
  if (gives) {
    if (frame->coll != kHopReduce && !(frame->flags & kHopFull)) return nothing();
    const uint64_t taken = HOP_KEEPS(kHopStoredOnce) ? slot->claimed : slot->given;
    if (!(taken & bit)) {
      slot->claimed |= bit;
      return just(kHopStore | kHopNew, frame->child);
    }
  }
  enum HopNews news = kRepetition;
  if ((frame->flags & kHopFull) && !(slot->filled & bit) && (HOP_KEEPS(kHopCountsAfterAnswer) || !slot->is_answered)) {
    slot->claimed |= bit;
    slot->filled |= bit;
    news = is_full(place, slot) ? kReport : kCounted;
  }
  if (frame->coll == kHopBcast && (frame->flags & kHopValue) && slot->value == kNone) {
    slot->value = kWriting;
    return just(kHopStore | kHopNew, kHopChildren);
  }
  struct HopWork work = answer(place, slot, frame, news);
  if (news != kRepetition) work.todo |= kHopNew;
  return work;
}

HOP_INLINE struct HopWork send_down(struct HopSlot* slot, const struct HopHeader* frame) {
  slot->is_answered = 1;
  if (frame->flags & kHopClosed) slot->is_closed = 1;
  struct HopWork work = just(kHopDown, 0);
  work.flags = kHopValue | (slot->is_closed ? kHopClosed : 0);
  return work;
}

HOP_INLINE struct HopWork result(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame) {
  const bool closes = (frame->flags & kHopClosed) && !slot->is_closed;
  if (slot->is_answered && !closes) return just(kHopRepeated, 0);
  if (slot->is_answered || (frame->coll == kHopBcast && slot->value == kThere)) {
    struct HopWork work = send_down(slot, frame);
    work.todo |= kHopNew;
    return work;
  }
  if (frame->coll == kHopBcast || has_nothing_to_give(place, frame)) {
    if (slot->value == kWriting) return nothing();
  } else if (slot->value != kThere) {
    return nothing();  // no sum of ours went up: the result is of another life
  }
  slot->value = kWriting;
  return just(kHopStore | kHopNew, kHopChildren);
}

HOP_INLINE bool may_go_on(const struct HopSlot* slot, const struct HopHeader* frame) {
  if (slot->is_frozen && !slot->is_answered && HOP_KEEPS(kHopFrozenIsSilent)) return false;
  return slot->sequence == frame->sequence;
}

HOP_STEP struct HopWork hop_claim(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame) {
  hop_lock(&slot->lock);
  const int32_t age = (int32_t)(frame->sequence - slot->sequence);
  const bool is_result = frame->kind == kHopResult;
  // A result may come before the contributions of members that call later: they need not wait for a timer.
  const bool takes = !is_result || frame->coll == kHopBcast || has_nothing_to_give(place, frame);
  struct HopWork work = nothing();
  if (takes && (age > 0 || (age < 0 && !HOP_KEEPS(kHopLateIsDropped)))) take(slot, frame);
  if (slot->sequence == frame->sequence && may_go_on(slot, frame)) {
    if (slot->agreed != agreed_of(frame) && HOP_KEEPS(kHopAgreement))
      work.todo = kHopDaemon;
    else
      work = is_result ? result(place, slot, frame) : contribution(place, slot, frame);
  }
  hop_unlock(&slot->lock);
  return work;
}

HOP_STEP struct HopWork hop_stored(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame) {
  struct HopWork work = nothing();
  hop_lock(&slot->lock);
  if (may_go_on(slot, frame)) {
    if (frame->kind == kHopResult || frame->coll == kHopBcast) {
      slot->value = kThere;
      work = frame->kind == kHopResult ? send_down(slot, frame) : answer(place, slot, frame, kReport);
    } else {
      const uint64_t bit = 1ULL << (frame->child & 63);
      slot->given |= bit;
      if (frame->flags & kHopFull) slot->filled |= bit;
      if (slot->value == kNone && has_all_data(place, frame, slot->given)) {
        slot->value = kWriting;
        work = just(kHopFold, 0);
      }
    }
  }
  hop_unlock(&slot->lock);
  return work;
}

HOP_STEP struct HopWork hop_folded(const struct HopPlace* place, struct HopSlot* slot, const struct HopHeader* frame) {
  struct HopWork work = nothing();
  hop_lock(&slot->lock);
  if (may_go_on(slot, frame)) {
    slot->value = kThere;
    work = answer(place, slot, frame, kReport);
  }
  hop_unlock(&slot->lock);
  return work;
}

HOP_STEP void hop_freeze(struct HopSlot* slot) {
  hop_lock(&slot->lock);
  slot->is_frozen = 1;
  hop_unlock(&slot->lock);
}

void hop_begin(struct HopSlot* slot, uint32_t first, uint32_t slots, uint32_t index) {
  slot->sequence = first - slots + ((index - first) & (slots - 1));
  slot->agreed = slot->claimed = slot->filled = slot->given = 0;
  slot->value = kNone;
  slot->is_answered = slot->is_closed = 1;
  slot->is_frozen = 0;
}

bool hop_is_answered(const struct HopSlot* slot, uint32_t sequence) {
  const int32_t age = (int32_t)(slot->sequence - sequence);
  return age > 0 || (age == 0 && slot->is_answered);
}
