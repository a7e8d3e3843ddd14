#include "bench/host/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void data_leave_caches(void) {
  enum { kLeast = 8 << 20, kLine = 64 };
  static char* other;
  static size_t size;
  if (other == NULL) {
    const long own = sysconf(_SC_LEVEL2_CACHE_SIZE); /* 0 or -1: it does not say */
    size = 2 * own > kLeast ? 2 * (size_t)own : kLeast;
    other = calloc(1, size);
    if (other == NULL) fprintf(stderr, "hostbench: out of memory\n"), world_abort();
  }
  for (size_t at = 0; at < size; at += kLine) ((volatile char*)other)[at] += 1;
}

static size_t place_bytes(const data_cell* c) { return (data_block_bytes(c) * (size_t)c->ranks + 4095) / 4096 * 4096; }
size_t data_places_bytes(const data_cell* c) { return kDataPlaces * place_bytes(c); }
void data_take_place(data_cell* c, int iteration) {
  const size_t at = (size_t)(iteration % kDataPlaces) * place_bytes(c);
  c->call.send = data_buffers.send + at, c->call.receive = data_buffers.receive + at;
}

int data_is_pairwise(const data_cell* c) {
  const world_kind kind = c->kind;
  return kind == kAlltoall || kind == kAlltoallv || kind == kScatter || kind == kScatterv;
}
static size_t bytes_of(const data_cell* c, size_t count) {
  if (c->call.form == kPairs) return count * sizeof(world_pair);
  return count * (c->call.is_char ? 1 : bench_type_bytes(c->call.type));
}
size_t data_block_bytes(const data_cell* c) { return bytes_of(c, c->call.count) * (c->call.form == kVector ? 2 : 1); }
char* data_block(const void* base, const data_cell* c, int index) {
  return (char*)base + (size_t)index * data_block_bytes(c);
}

/* Small numbers, so that several ranks have the largest and the place decides. */
static world_pair pair_of(int source, size_t index, int iteration) {
  return (world_pair){(double)(((size_t)source * 5 + index * 3 + (size_t)iteration * 7) % 13), source};
}

static int pairs_differ(const data_cell* c, int iteration, const world_pair* got) {
  int wrong = 0;
  for (size_t i = 0; i < c->call.count; ++i) {
    world_pair most = pair_of(0, i, iteration);
    for (int rank = 1; rank < c->ranks; ++rank) {
      const world_pair other = pair_of(rank, i, iteration);
      if (other.value > most.value) most = other;
    }
    wrong |= got[i].value != most.value || got[i].place != most.place;
  }
  return wrong;
}

/* The elements one after another. */
static void put_plain(const data_cell* c, int source, int iteration, void* to) {
  if (c->call.form == kPairs)
    for (size_t i = 0; i < c->call.count; ++i) ((world_pair*)to)[i] = pair_of(source, i, iteration);
  else if (c->call.is_char)
    memset(to, 1 + (source + 10 * iteration) % 100, bytes_of(c, c->call.count));
  else
    bench_pattern_fill(c->pattern, source, iteration, to);
}

/* As they lie in a program's memory. A small block is the beginning of a large one, and lies where a large one would. */
static void put(const data_cell* c, int source, int iteration, char* to) {
  if (c->call.form != kVector) return put_plain(c, source, iteration, to);
  put_plain(c, source, iteration, data_buffers.scratch);
  for (size_t at = 0; at < bytes_of(c, c->call.count); at += kVectorRun)
    memcpy(to + 2 * at, data_buffers.scratch + at, kVectorRun);
}

void data_fill(const data_cell* c, int iteration) {
  char *send = (char*)c->call.send, *receive = c->call.receive;
  switch (c->kind) {
    case kBarrier: return;
    case kBcast:
      if (c->rank == 0) put(c, 0, iteration, receive);
      return;
    case kReduceScatter:
      for (int to = 0; to < c->ranks; ++to) put(c, c->rank, iteration, data_block(send, c, to));
      return;
    case kScatter:
    case kScatterv:
      if (c->rank != 0) return;
      __attribute__((fallthrough));
    case kAlltoall:
    case kAlltoallv:
      for (int to = 0; to < c->ranks; ++to) put(c, c->rank * c->ranks + to, iteration, data_block(send, c, to));
      return;
    default: put(c, c->rank, iteration, send);
  }
}

static int differs(const data_cell* c, int source, int iteration, const char* got) {
  const int from = data_is_pairwise(c) ? source / c->ranks : source;
  const size_t bytes = bytes_of(c, world_block_count(c->kind, &c->call, from, c->rank));
  put_plain(c, source, iteration, data_buffers.scratch);
  if (c->call.form != kVector) return memcmp(data_buffers.scratch, got, bytes) != 0;
  int wrong = 0;
  for (size_t at = 0; at < bytes; at += kVectorRun)
    wrong |= memcmp(data_buffers.scratch + at, got + 2 * at, kVectorRun) != 0;
  return wrong;
}

static int sum_differs(const data_cell* c, int iteration, const void* got) {
  if (c->call.form == kPairs) return pairs_differ(c, iteration, got);
  return bench_pattern_check(c->pattern, iteration, got, NULL) != 0;
}

/* The sum of the first ranks. */
static int prefix_differs(const data_cell* c, int iteration, int ranks, const void* got) {
  return bench_pattern_check(data_pattern_for(c->call.type, ranks, c->call.count), iteration, got, NULL) != 0;
}

int data_check(const data_cell* c, int iteration) {
  const void* receive = c->call.receive;
  int wrong = 0;
  switch (c->kind) {
    case kBarrier: return 0;
    case kScan: return prefix_differs(c, iteration, c->rank + 1, receive);
    case kExscan: return c->rank > 0 && prefix_differs(c, iteration, c->rank, receive);
    case kReduceScatter:
    case kAllreduce: return sum_differs(c, iteration, receive);
    case kReduce: return c->rank == 0 && sum_differs(c, iteration, receive);
    case kBcast: return differs(c, 0, iteration, receive);
    case kScatter:
    case kScatterv: return differs(c, c->rank, iteration, receive);
    case kGather:
      if (c->rank != 0) return 0;
      __attribute__((fallthrough));
    case kAllgather:
    case kAllgatherv:
      for (int from = 0; from < c->ranks; ++from) wrong |= differs(c, from, iteration, data_block(receive, c, from));
      return wrong;
    case kAlltoall:
    case kAlltoallv:
      for (int from = 0; from < c->ranks; ++from)
        wrong |= differs(c, from * c->ranks + c->rank, iteration, data_block(receive, c, from));
      return wrong;
    case kWorldKinds: break;
  }
  return 1;
}
