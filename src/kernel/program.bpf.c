// A node at the ingress of a network device (clsact): a frame is worked on by the machine of src/hop, and becomes the
// contribution to the parent or the results to the children. No process runs.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hop/element.c"
#include "hop/machine.c"
#include "hop/payload.c"
#include "kernel/layout.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct HopConfig);
} hop_config SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // The loader sets it, here and below.
  __type(key, __u32);
  __type(value, struct HopGroup);
} hop_groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct HopSlot);
} hop_slots SEC(".maps");

struct Headers {
  uint16_t unused;  // So the headers behind Ethernet's are aligned.
  struct ethhdr ethernet;
  union {
    struct {
      struct iphdr ip;
      struct udphdr udp;
    } v4;
    struct {
      struct ipv6hdr ip;
      struct udphdr udp;
    } v6;
  };
};

enum {
  kIpv4Bytes = ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr),
  kIpv6Bytes = ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr),
  kChecksumBytes = 2  // It stands last, and is only ever changed by differences.
};

/// The frame under way, one a processor. The sums are those of the packet's checksum, unfolded.
struct Processor {
  struct HopCounts counts;  // The loader reads them; one look-up serves all.
  struct HopFrame frame;
  struct HopHeader out;
  uint64_t body_sum;  // It leaves out the first eight bytes of our header, which differ from child to child.
  uint64_t udp_sum;   // It covers ports and all of our frame, as the packet has them.
  uint64_t address_sum;
  uint32_t headers_bytes;
  struct Headers headers;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct Processor);
} hop_processor SEC(".maps");

/// 1 to the payload's size stay as they are. The verifier sees the bounds here: it has lost them elsewhere.
HOP_INLINE uint32_t in_payload(uint32_t bytes) {
  asm volatile("" : "+r"(bytes));
  return ((bytes - 1) & (8 * kHopPayloadWords - 1)) + 1;
}

HOP_INLINE uint64_t sum_of(uint64_t word) { return (word >> 32) + (word & 0xFFFFFFFF); }

HOP_INLINE uint32_t fold(uint64_t sum) { return (uint32_t)sum_of(sum_of(sum_of(sum))); }

HOP_VERIFIED_ALONE uint64_t hop_payload_sum(const struct HopPayload* payload, uint32_t words) {
  uint64_t sum = 0;
  if (!payload) return 0;
  for (uint32_t i = 0; i < kHopPayloadWords && i < words; ++i) sum += sum_of(payload->word[i]);
  return sum;
}

HOP_INLINE uint64_t header_sum(const struct HopHeader* header) {
  const uint64_t* word = (const uint64_t*)header;
  return sum_of(word[1]) + sum_of(word[2]) + sum_of(word[3]);
}

HOP_INLINE uint64_t first_sum(const struct HopHeader* header) { return sum_of(*(const uint64_t*)header); }

HOP_INLINE bool is_ipv6(const struct Processor* s) { return s->headers_bytes == kIpv6Bytes; }

/// The words of 16 bytes at any alignment of 2.
HOP_INLINE uint64_t address_sum(const void* address, bool ipv6) {
  const uint16_t* half = address;
  uint64_t sum = half[0] | (uint32_t)half[1] << 16;
  if (ipv6)
    for (int i = 2; i < 8; i += 2) sum += half[i] | (uint32_t)half[i + 1] << 16;
  return sum;
}

HOP_INLINE bool is_same_address(const void* a, const void* b, bool ipv6) {
  const uint16_t *left = a, *right = b;
  uint32_t differing = (left[0] ^ right[0]) | (left[1] ^ right[1]);
  if (ipv6)
    for (int i = 2; i < 8; ++i) differing |= left[i] ^ right[i];
  return !differing;
}

/// Writes what the packet needs for its way to `to`. Everything behind the first eight bytes of our header stands already.
HOP_VERIFIED_ALONE int hop_address(struct __sk_buff* skb, struct Processor* s, struct HopEnd* self, struct HopEnd* to) {
  if (!s || !self || !to) return 0;
  struct Headers* h = &s->headers;
  const bool ipv6 = is_ipv6(s);
  __builtin_memcpy(h->ethernet.h_dest, to->mac, ETH_ALEN);
  __builtin_memcpy(h->ethernet.h_source, self->mac, ETH_ALEN);
  s->out.group = to->group;
  const uint64_t udp_sum = s->body_sum + first_sum(&s->out) + self->port + to->port;
  const uint64_t addresses = address_sum(self->address, ipv6) + address_sum(to->address, ipv6);
  uint32_t checksum_at = ETH_HLEN + offsetof(struct udphdr, check);
  if (ipv6) {
    checksum_at += sizeof(struct ipv6hdr);
    __builtin_memcpy(&h->v6.ip.saddr, self->address, 16);
    __builtin_memcpy(&h->v6.ip.daddr, to->address, 16);
    h->v6.ip.hop_limit = 64;
    h->v6.udp.source = self->port;
    h->v6.udp.dest = to->port;
    if (bpf_skb_store_bytes(skb, 0, &h->ethernet, kIpv6Bytes - kChecksumBytes, 0)) return 0;
  } else {
    checksum_at += sizeof(struct iphdr);
    __builtin_memcpy(&h->v4.ip.saddr, self->address, 4);
    __builtin_memcpy(&h->v4.ip.daddr, to->address, 4);
    h->v4.ip.ttl = 64;
    h->v4.ip.check = 0;
    const uint16_t* half = (const uint16_t*)&h->v4.ip;
    uint32_t sum = 0;
    for (int i = 0; i < 10; ++i) sum += half[i];
    sum = (sum & 0xFFFF) + (sum >> 16);
    h->v4.ip.check = (uint16_t) ~((sum & 0xFFFF) + (sum >> 16));
    h->v4.udp.source = self->port;
    h->v4.udp.dest = to->port;
    if (bpf_skb_store_bytes(skb, 0, &h->ethernet, kIpv4Bytes - kChecksumBytes, 0)) return 0;
  }
  if (bpf_skb_store_bytes(skb, s->headers_bytes, &s->out, sizeof s->out, 0)) return 0;
  // Differences are right whether the sender has left its checksum to a device or not.
  const uint32_t changed = fold(udp_sum + (uint32_t)~fold(s->udp_sum));
  const uint32_t moved = fold(addresses + (uint32_t)~fold(s->address_sum));
  s->udp_sum = udp_sum;
  s->address_sum = addresses;
  if (bpf_l4_csum_replace(skb, checksum_at, 0, changed, BPF_F_MARK_MANGLED_0)) return 0;
  return !bpf_l4_csum_replace(skb, checksum_at, 0, moved, BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0);
}

/// Makes our frame of the one that came. `what`: kind, flags and child.
HOP_VERIFIED_ALONE int hop_compose(struct __sk_buff* skb, struct Processor* s, struct HopPayload* value,
                                   struct HopKey* key, uint32_t what) {
  if (!s || !value || !key) return 0;
  const uint32_t words = hop_words(&s->frame.header), bytes = 8 * words;
  s->out = s->frame.header;
  s->out.kind = (uint8_t)what;
  s->out.flags = (uint8_t)(what >> 8);
  s->out.child = (uint8_t)(what >> 16);
  s->out.tag = hop_tag(key, &s->out, value, words);
  s->body_sum = header_sum(&s->out) + hop_payload_sum(value, words);
  if (!bytes) return 1;
  return !bpf_skb_store_bytes(skb, s->headers_bytes + kHopHeaderBytes, value, in_payload(bytes), 0);
}

/// The UDP header that stands in the packet, behind either kind of IP.
HOP_INLINE struct udphdr* udp_of(struct Processor* s) { return is_ipv6(s) ? &s->headers.v6.udp : &s->headers.v4.udp; }

/// Reads all headers. Returns whether the datagram is for our port.
HOP_INLINE bool read_headers(struct __sk_buff* skb, struct Processor* s, const struct HopConfig* config) {
  if (skb->protocol == bpf_htons(ETH_P_IP)) {
    s->headers_bytes = kIpv4Bytes;
    if (bpf_skb_load_bytes(skb, 0, &s->headers.ethernet, kIpv4Bytes)) return false;
    const struct iphdr* ip = &s->headers.v4.ip;
    if (ip->protocol != IPPROTO_UDP || ip->version != 4 || ip->ihl != 5) return false;
    if (ip->frag_off & bpf_htons(0x3FFF)) return false;
    s->address_sum = address_sum(&ip->saddr, false) + address_sum(&ip->daddr, false);
  } else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
    s->headers_bytes = kIpv6Bytes;
    if (bpf_skb_load_bytes(skb, 0, &s->headers.ethernet, kIpv6Bytes)) return false;
    const struct ipv6hdr* ip = &s->headers.v6.ip;
    if (ip->nexthdr != IPPROTO_UDP) return false;
    s->address_sum = address_sum(&ip->saddr, true) + address_sum(&ip->daddr, true);
  } else {
    return false;
  }
  if (udp_of(s)->dest != config->port) return false;
  const bool ipv6 = is_ipv6(s);
  const void* to = ipv6 ? (const void*)&s->headers.v6.ip.daddr : (const void*)&s->headers.v4.ip.daddr;
  return !config->has_address || is_same_address(to, config->address, ipv6);
}

/// Reads our frame, whose size must be the datagram's.
HOP_INLINE bool read_frame(struct __sk_buff* skb, struct Processor* s) {
  struct HopFrame* frame = &s->frame;
  if (bpf_skb_load_bytes(skb, s->headers_bytes, &frame->header, kHopHeaderBytes)) return false;
  const uint32_t bytes = 8 * hop_words(&frame->header), udp_bytes = bpf_ntohs(udp_of(s)->len);
  if (udp_bytes != sizeof(struct udphdr) + kHopHeaderBytes + bytes) return false;
  if (!bytes) return true;
  if (bytes > sizeof frame->payload) return false;
  return !bpf_skb_load_bytes(skb, s->headers_bytes + kHopHeaderBytes, &frame->payload, in_payload(bytes));
}

/// Before the first change.
HOP_INLINE void sum_packet(struct Processor* s) {
  const struct HopHeader* header = &s->frame.header;
  const struct udphdr* udp = udp_of(s);
  s->udp_sum = udp->source + udp->dest + first_sum(header) + header_sum(header) +
               hop_payload_sum(&s->frame.payload, hop_words(header));
}

HOP_INLINE bool is_from(const struct Processor* s, const struct HopEnd* end) {
  const bool ipv6 = is_ipv6(s);
  const void* source = ipv6 ? (const void*)&s->headers.v6.ip.saddr : (const void*)&s->headers.v4.ip.saddr;
  const uint16_t port = ipv6 ? s->headers.v6.udp.source : s->headers.v4.udp.source;
  return port == end->port && is_same_address(source, end->address, ipv6);
}

/// A router, a card or a neighbour's entry may have changed: the way back is the way of the last frame that brought something
/// new. Anybody on the way can send a copy of an older one.
HOP_INLINE void learn(struct __sk_buff* skb, const struct Processor* s, struct HopEnd* end) {
  __builtin_memcpy(end->mac, s->headers.ethernet.h_source, ETH_ALEN);
  end->device = skb->ifindex;
}

HOP_INLINE int send_to(struct __sk_buff* skb, struct Processor* s, struct HopEnd* self, struct HopEnd* to) {
  if (!hop_address(skb, s, self, to)) return TC_ACT_SHOT;
  s->counts.count[kHopSent]++;
  return bpf_redirect(to->device, 0);
}

/// Answers a repetition or a probe where it came from, which need not be where the end was last: its later frames teach that.
HOP_INLINE int send_back(struct __sk_buff* skb, struct Processor* s, struct HopGroup* group, uint32_t child) {
  struct HopEnd back = group->child[child].end;
  learn(skb, s, &back);
  return send_to(skb, s, &group->self, &back);
}

HOP_INLINE int send_to_children(struct __sk_buff* skb, struct Processor* s, struct HopGroup* group) {
  for (uint32_t i = 0; i < kHopChildren; ++i) {
    if (i + 1 >= group->place.children) return send_to(skb, s, &group->self, &group->child[i].end);
    if (!hop_address(skb, s, &group->self, &group->child[i].end)) return TC_ACT_SHOT;
    s->counts.count[kHopSent]++;
    bpf_clone_redirect(skb, group->child[i].end.device, 0);
  }
  return TC_ACT_SHOT;
}

HOP_INLINE int work_on(struct __sk_buff* skb, struct Processor* s, struct HopGroup* group, uint32_t child,
                       struct HopEnd* from) {
  struct HopHeader* header = &s->frame.header;
  const uint32_t at = group->first_slot + (header->sequence & (group->place.slots - 1));
  struct HopSlot* slot = bpf_map_lookup_elem(&hop_slots, &at);
  if (!slot) return TC_ACT_SHOT;
  struct HopWork work = hop_claim(&group->place, slot, header);
  if (work.todo & kHopNew) learn(skb, s, from);
  if (work.todo & kHopStore) {
    hop_store(&slot->buffers, &s->frame.payload, hop_words(header), work.part);
    work = hop_stored(&group->place, slot, header);
  }
  if (work.todo & kHopFold) {
    hop_fold(&slot->buffers, header, &group->place, slot->given);
    work = hop_folded(&group->place, slot, header);
    s->counts.count[kHopFolds]++;
  }
  if (work.todo & kHopRepeated) s->counts.count[kHopRepeats]++;
  if (work.todo & kHopDaemon) return TC_ACT_UNSPEC;
  if (!(work.todo & (kHopUp | kHopBack | kHopDown))) return TC_ACT_SHOT;
  sum_packet(s);
  struct HopPayload* value = work.flags & kHopValue ? &slot->buffers.value : &s->frame.payload;
  if (work.todo & kHopUp) {
    const uint32_t what = kHopContribute | (work.flags & (kHopFull | kHopValue)) << 8 | group->child_of_parent << 16;
    if (!hop_compose(skb, s, value, &group->up_key, what)) return TC_ACT_SHOT;
    if (!(work.todo & kHopBack)) return send_to(skb, s, &group->self, &group->parent);
    if (!hop_address(skb, s, &group->self, &group->parent)) return TC_ACT_SHOT;
    s->counts.count[kHopSent]++;
    bpf_clone_redirect(skb, group->parent.device, 0);
  }
  if (!(work.todo & (kHopBack | kHopDown))) return TC_ACT_SHOT;
  const uint32_t what = kHopResult | (work.flags & (kHopValue | kHopClosed)) << 8;
  if (!hop_compose(skb, s, value, &group->down_key, what)) return TC_ACT_SHOT;
  if (work.todo & kHopDown) return send_to_children(skb, s, group);
  return send_back(skb, s, group, child);
}

SEC("tc")
int hop_receive(struct __sk_buff* skb) {
  const uint32_t zero = 0;
  const struct HopConfig* config = bpf_map_lookup_elem(&hop_config, &zero);
  if (!config || !config->port) return TC_ACT_UNSPEC;
  struct Processor* s = bpf_map_lookup_elem(&hop_processor, &zero);
  if (!s || !read_headers(skb, s, config)) return TC_ACT_UNSPEC;
  if (bpf_ktime_get_boot_ns() > config->lease_end_ns) {
    // The daemon is dead. Another process may have its port by now.
    s->counts.count[kHopExpired]++;
    return TC_ACT_UNSPEC;
  }
  if (!read_frame(skb, s)) goto stranger;
  struct HopHeader* header = &s->frame.header;
  const uint32_t index = header->group;
  struct HopGroup* group = bpf_map_lookup_elem(&hop_groups, &index);
  if (!group || !group->place.children || !hop_admits(header, group->place.children, group->payload_bytes_max))
    goto stranger;
  const bool is_from_parent = header->kind == kHopResult || header->kind == kHopProbed;
  if (is_from_parent && group->place.is_root) goto stranger;
  const uint32_t child = header->child & (kHopChildren - 1);
  struct HopEnd* from = is_from_parent ? &group->parent : &group->child[child].end;
  struct HopKey* key = is_from_parent ? &group->parent_key : &group->child[child].key;
  const uint32_t words = hop_words(header);
  if (!is_from(s, from) || header->tag != hop_tag(key, header, &s->frame.payload, words)) goto stranger;
  s->counts.count[kHopFrames]++;
  if (is_from_parent && !group->heard) group->heard = 1;
  if (header->kind == kHopProbed) {
    if ((int32_t)(header->sequence - group->probed) > 0) group->probed = header->sequence;
    return TC_ACT_SHOT;
  }
  if (header->kind != kHopProbe) return work_on(skb, s, group, child, from);
  sum_packet(s);
  if (!hop_compose(skb, s, &s->frame.payload, &group->down_key, kHopProbed)) return TC_ACT_SHOT;
  return send_back(skb, s, group, child);
stranger:
  s->counts.count[kHopStrangers]++;
  return TC_ACT_SHOT;
}

/// User space runs it, with the group's number as mark, before it names a verdict.
SEC("tc")
int hop_freeze_group(struct __sk_buff* skb) {
  const uint32_t index = skb->mark;
  struct HopGroup* group = bpf_map_lookup_elem(&hop_groups, &index);
  if (!group) return 0;
  for (uint32_t i = 0; i < 2 * kHopChildren && i < group->place.slots; ++i) {
    const uint32_t at = group->first_slot + i;
    struct HopSlot* slot = bpf_map_lookup_elem(&hop_slots, &at);
    if (slot) hop_freeze(slot);
  }
  return 1;
}

char hop_license[] SEC("license") = "Dual BSD/GPL";
