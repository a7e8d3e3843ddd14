#pragma once
// Each rule that keeps the datagram way right has a name here, as proto/guard.hpp has them for the tree. In the product HOP_KEEPS()
// is true; in the libraries of the explorer and of the seeds one rule can be broken, and something must then go wrong.

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
  kHopAwaitsAllParts,  // The sum of a reduce is whole without its root's part, and not without another's.
  kHopMachineRules,

  // The rest are a member's, for the seeds.
  kHopAsksOn = kHopMachineRules,  // A member repeats a number until it is closed.
  kHopHoldsBack,                  // Nobody contributes n while a datagram number <= n - W is open.
  kHopAwaitsLinks,                // Nobody changes from the links to datagrams while a number of the links is open.
  kHopAwaitsDatagrams,            // Nor from datagrams to the links while one of those is.
  kHopAnswersBefore,              // After a verdict a member goes on to ask for the numbers before it.
  kHopLeavesSilent,  // A member leaves a tree whose kernels are silent: otherwise the group stays at its nodes.
  kHopLetsGo,        // A member that goes on without the tree asks for nothing there any more, and leaves at once.
  kHopNamesTheRoot,  // A frame that differs from a result that came first is reported too.
  kHopProbesParent,  // A node leaves a parent whose kernel answers no probe: members hear their own leaf's only.
  kHopBoundsByOwn,   // A verdict may name a number that lies a window beyond what this member has contributed.
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
