// Any frames, admitted but with anything else in them, as a member of the group could send them: the machine stays within
// its buffers, numbers only grow, and what is answered or frozen stays so.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "hop/machine.h"

SUMAC_FUZZ(machine) {
  using namespace sumac;
  constexpr HopPlace kPlaces[] = {{.children = 3, .slots = 2, .is_root = 1, .alone = {0, 1, kHopMany}},
                                  {.children = 3, .slots = 2, .is_root = 0, .alone = {2, kHopMany, 3}},
                                  {.children = 1, .slots = 2, .is_root = 0, .alone = {2}}};
  constexpr std::uint32_t kBytesMax = 64;
  for (const HopPlace& place : kPlaces) {
    auto slot = std::make_unique<HopSlot>();
    hop_begin(slot.get(), 0, place.slots, 0);
    for (std::size_t at = 0; at + sizeof(HopHeader) <= size; at += sizeof(HopHeader)) {
      HopFrame frame{};
      std::memcpy(&frame.header, data + at, sizeof frame.header);
      HopHeader& header = frame.header;
      header.sequence = header.sequence % 64 * place.slots;
      if (!hop_admits(&header, place.children, kBytesMax) || header.kind == kHopProbe) continue;
      if (place.is_root && header.kind == kHopResult) continue;
      if (header.tag % 16 == 0) hop_freeze(slot.get());
      frame.payload.word[0] = header.tag;
      const HopSlot& now = *slot;
      const std::uint32_t sequence = now.sequence;
      const bool was_answered = now.is_answered, was_frozen = now.is_frozen;
      HopWork work = hop_claim(&place, slot.get(), &header);
      if (work.todo & kHopStore) {
        fuzz::must(work.part < place.children || work.part == kHopChildren, "a payload has a buffer");
        fuzz::must(hop_store(&slot->buffers, &frame.payload, hop_words(&header), work.part), "it is stored");
        work = hop_stored(&place, slot.get(), &header);
      }
      if (work.todo & kHopFold) {
        fuzz::must(hop_fold(&slot->buffers, &header, &place, slot->given), "all are in");
        work = hop_folded(&place, slot.get(), &header);
      }
      const bool is_later = static_cast<std::int32_t>(now.sequence - sequence) > 0;
      fuzz::must(now.sequence == sequence || is_later, "a slot is taken only by a larger number");
      fuzz::must(is_later || !was_answered || now.is_answered, "an answer stands");
      fuzz::must(!was_frozen || !now.is_answered || (was_answered && !is_later), "a frozen number is not answered");
      fuzz::must(!now.is_closed || now.is_answered, "closed numbers are answered");
      fuzz::must(!(work.todo & (kHopDown | kHopBack)) || (now.is_answered && (work.flags & kHopValue)),
                 "a result has its value");
      fuzz::must(!(work.todo & kHopUp) || !place.is_root, "a root has no parent");
    }
  }
  return 0;
}
