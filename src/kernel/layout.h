#pragma once
// The maps of the program, as the kernel and the loader see them.
#include "hop/machine.h"
#include "hop/payload.h"

/// It rises with every change of this file: the program and the maps that an older daemon left are not for us.
#define HOP_LAYOUT 5

struct HopEnd {
  uint8_t address[16];  ///< IPv4: the first four bytes.
  uint16_t port;        ///< Ports and addresses have the network's order.
  uint8_t mac[6];       ///< It is learned again from each new frame of this end (HopTodo).
  uint32_t device;      ///< This index too.
  uint32_t group;       ///< The end numbers its groups.
};

struct HopChild {
  struct HopKey key;  ///< Its contributions have tags under this key.
  struct HopEnd end;
};

struct HopGroup {
  struct HopPlace place;  ///< No children: nothing is here.
  uint32_t payload_bytes_max;
  uint32_t first_slot;
  uint32_t child_of_parent;  ///< Our index there.
  uint32_t probed;           ///< The last probe that our parent has answered.
  uint32_t heard;            ///< 1: some frame of our parent has come.
  uint64_t left_until_ns;    ///< Boot time, when no member needs it any more. 0: a daemon knows of it.
  struct HopKey down_key;    ///< Results have tags under this key, for all children.
  struct HopKey up_key;
  struct HopKey parent_key;  ///< Results of our parent have tags under this key.
  struct HopEnd self;
  struct HopEnd parent;
  struct HopChild child[kHopChildren];
};

struct HopConfig {
  uint64_t lease_end_ns;  ///< The daemon renews it while it lives. CLOCK_BOOTTIME counts suspended time too.
  uint8_t address[16];    ///< As in HopEnd.
  uint16_t port;          ///< Datagrams to this port of the address are frames.
  uint16_t has_address;   ///< 0: of any address.
};

enum HopCounter {
  kHopFrames,     ///< Frames with a good tag.
  kHopFolds,      ///< Sums that the last contribution made.
  kHopRepeats,    ///< Frames that brought nothing new.
  kHopSent,       ///< Contributions and results that were sent.
  kHopStrangers,  ///< Frames of no group, no known address, a wrong tag or another layout.
  kHopExpired,    ///< Frames that came when the lease had ended.
  kHopCounters
};

struct HopCounts {
  uint64_t count[kHopCounters];
};
