#include "bench/host/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct data_buffers data_buffers;

void data_need_buffers(size_t bytes) {
  if (bytes <= data_buffers.bytes) return;
  free(data_buffers.send), free(data_buffers.receive), free(data_buffers.scratch);
  const size_t size = (bytes + 4095) / 4096 * 4096;
  data_buffers.send = aligned_alloc(4096, size), data_buffers.receive = aligned_alloc(4096, size);
  data_buffers.scratch = aligned_alloc(4096, size), data_buffers.bytes = size;
  if (!data_buffers.send || !data_buffers.receive || !data_buffers.scratch)
    fprintf(stderr, "hostbench: out of memory\n"), world_abort();
  memset(data_buffers.send, 1, size), memset(data_buffers.receive, 1, size), memset(data_buffers.scratch, 1, size);
}

bench_pattern* data_pattern_for(bench_type type, int sources, size_t count) {
  enum { kKept = 160 };
  static struct {
    bench_type type;
    int sources;
    size_t count;
    bench_pattern* pattern;
  } kept[kKept];
  static int used;
  for (int i = 0; i < used; ++i)
    if (kept[i].type == type && kept[i].sources == sources && kept[i].count == count) return kept[i].pattern;
  if (used == kKept) fprintf(stderr, "hostbench: more than %d different cells in one start\n", kKept), world_abort();
  bench_pattern* made = bench_pattern_new(type, sources, count);
  if (made == NULL) fprintf(stderr, "hostbench: out of memory\n"), world_abort();
  kept[used].type = type, kept[used].sources = sources, kept[used].count = count, kept[used].pattern = made;
  return kept[used++].pattern;
}

int data_is_pairwise(const data_cell* c) {
  const world_kind kind = c->kind;
  return kind == kAlltoall || kind == kScatter || kind == kScatterv;
}
size_t data_block_bytes(const data_cell* c) {
  return c->call.count * (c->call.is_char ? 1 : bench_type_bytes(c->call.type));
}
char* data_block(const void* base, const data_cell* c, int index) {
  return (char*)base + (size_t)index * data_block_bytes(c);
}

static void put(const data_cell* c, int source, int iteration, void* to) {
  if (c->call.is_char)
    memset(to, 1 + (source + 10 * iteration) % 100, data_block_bytes(c));
  else
    bench_pattern_fill(c->pattern, source, iteration, to);
}

void data_fill(const data_cell* c, int iteration) {
  char *send = (char*)c->call.send, *receive = c->call.receive;
  switch (c->kind) {
    case kBarrier: return;
    case kBcast:
      if (c->rank == 0) put(c, 0, iteration, receive);
      return;
    case kScatter:
    case kScatterv:
      if (c->rank != 0) return;
      __attribute__((fallthrough));
    case kAlltoall:
      for (int to = 0; to < c->ranks; ++to) put(c, c->rank * c->ranks + to, iteration, data_block(send, c, to));
      return;
    default: put(c, c->rank, iteration, send);
  }
}

static int differs(const data_cell* c, int source, int iteration, const void* got) {
  put(c, source, iteration, data_buffers.scratch);
  return memcmp(data_buffers.scratch, got, data_block_bytes(c)) != 0;
}

int data_check(const data_cell* c, int iteration) {
  const void* receive = c->call.receive;
  int wrong = 0;
  switch (c->kind) {
    case kBarrier: return 0;
    case kAllreduce: return bench_pattern_check(c->pattern, iteration, receive, NULL) != 0;
    case kReduce: return c->rank == 0 && bench_pattern_check(c->pattern, iteration, receive, NULL) != 0;
    case kBcast: return differs(c, 0, iteration, receive);
    case kScatter:
    case kScatterv: return differs(c, c->rank, iteration, receive);
    case kGather:
      if (c->rank != 0) return 0;
      __attribute__((fallthrough));
    case kAllgather:
      for (int from = 0; from < c->ranks; ++from) wrong |= differs(c, from, iteration, data_block(receive, c, from));
      return wrong;
    case kAlltoall:
      for (int from = 0; from < c->ranks; ++from)
        wrong |= differs(c, from * c->ranks + c->rank, iteration, data_block(receive, c, from));
      return wrong;
    case kWorldKinds: break;
  }
  return 1;
}
