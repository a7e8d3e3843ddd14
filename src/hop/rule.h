#pragma once
// Each rule that keeps the machine right has a name here, as proto/guard.hpp has them for the tree. In the product HOP_KEEPS() is
// true; in the library of the explorer one rule can be broken, and some order of events must then go wrong.

enum HopRule {
  kHopStoredOnce,     // Two copies of a contribution are not stored at once: the slower could overwrite a later number.
  kHopLateIsDropped,  // An older number does not take a slot.
  kHopAnswersAgain,   // A child that asks again for an answered number gets the result.
  kHopUpAgain,        // When a child repeats, the contribution goes up again unless the parent has answered it.
  kHopCountsAfterAnswer,  // A contribution to an answered bcast counts: otherwise the number never closes.
  kHopAsksUp,     // A repetition of a bcast goes up also where children are missing: the answer may have been lost.
  kHopAgreement,  // A frame of another operation is not added.
  kHopFrozenIsSilent,  // After a verdict a number that is being folded is not answered.
  kHopValueIsWhole,    // A value that is still being written is not sent.
  kHopRules
};

#ifdef SUMAC_HOP_MUTABLE
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    int hop_broken_rule;  // one of HopRule, or -1
#define HOP_KEEPS(rule) (hop_broken_rule != (rule))
#else
#define HOP_KEEPS(rule) 1
#endif
