#include "bench/field/data.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kRoot = 0, kSpoilt = 0xA5 };

static size_t element_bytes(const field_kind* kind) { return kind->reduces ? sizeof(float) : 1; }

/* Everybody's buffers are as large as the root's, as in OSU's programs: the ranks differ in nothing but their part. */
static size_t send_bytes(const field_kind* kind, size_t bytes, int ranks) {
  return kind->has_one_buffer ? 0 : field_share_bytes(kind->gives, bytes, ranks);
}

/* Elements of the vector that a sum is made of. */
static size_t sum_elements(const field_kind* kind, size_t bytes, int ranks) {
  return field_share_bytes(kind->gives, bytes, ranks) / sizeof(float);
}

size_t field_data_bytes(const field_kind* kind, size_t bytes, int ranks, int is_checked) {
  const size_t buffers = send_bytes(kind, bytes, ranks) + field_share_bytes(kind->keeps, bytes, ranks);
  if (!is_checked) return buffers;
  return buffers + (kind->reduces ? field_share_bytes(kind->gives, bytes, ranks) : bytes);
}

size_t field_data_start_max(const field_kind* kind, size_t bytes, int ranks) {
  return kind->has_starts ? (size_t)(ranks - 1) * (bytes / element_bytes(kind)) : 0;
}

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* The block that `from` gives to `to` (-1: to all who receive it) in an iteration. */
static void make_block(int from, int to, int iteration, unsigned char* out, size_t bytes) {
  const uint64_t seed = mix(mix(((uint64_t)(uint32_t)from << 32) | (uint32_t)to) + (uint32_t)iteration);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = mix(seed + at);
    memcpy(out + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
  }
}

/* Reduce_scatter divides its vector among the ranks; the v-forms have equal blocks. The other calls take no counts: their
 * blocks together may be more than an int can count. */
static void divide(field_data* d) {
  const int elements = d->call.count, divides = d->kind->keeps == kFieldPart;
  if (!divides && !d->kind->has_starts) return;
  for (int rank = 0; rank < d->ranks; ++rank) {
    d->counts[rank] = divides ? elements / d->ranks + (rank < elements % d->ranks) : elements;
    // Not the sum with the last rank's count, which may be too large for an int.
    d->starts[rank] = rank == 0 ? 0 : d->starts[rank - 1] + d->counts[rank - 1];
  }
}

int field_data_begin(field_data* d, const field_kind* kind, size_t bytes, int is_checked, MPI_Comm comm) {
  *d = (field_data){.kind = kind, .bytes = bytes};
  MPI_Comm_size(comm, &d->ranks);
  MPI_Comm_rank(comm, &d->rank);
  const size_t given = send_bytes(kind, bytes, d->ranks);
  d->receive_bytes = field_share_bytes(kind->keeps, bytes, d->ranks);
  // One byte more, because malloc(0) may return NULL.
  d->send = malloc(given + 1);
  d->receive = malloc(d->receive_bytes + 1);
  d->counts = malloc((size_t)d->ranks * sizeof *d->counts);
  d->starts = malloc((size_t)d->ranks * sizeof *d->starts);
  const size_t sums = sum_elements(kind, bytes, d->ranks);
  int is_short = d->send == NULL || d->receive == NULL || d->counts == NULL || d->starts == NULL;
  if (is_checked && kind->reduces)
    is_short = (d->pattern = bench_pattern_new(kBenchFloat, d->ranks, sums)) == NULL || is_short;
  else if (is_checked)
    is_short = (d->scratch = malloc(bytes + 1)) == NULL || is_short;
  if (is_short) return field_data_end(d), -1;
  memset(d->receive, 0, d->receive_bytes);
  if (kind->reduces)
    for (size_t i = 0; i < sums; ++i) ((float*)d->send)[i] = 1.0F;
  else
    memset(d->send, 1, given);
  d->call = (field_call){.send = d->send,
                         .receive = d->receive,
                         .count = (int)(bytes / element_bytes(kind)),
                         .counts = d->counts,
                         .starts = d->starts,
                         .type = kind->reduces ? MPI_FLOAT : MPI_CHAR,
                         .root = kRoot,
                         .rank = d->rank,
                         .comm = comm};
  divide(d);
  return 0;
}

void field_data_end(field_data* d) {
  free(d->send), free(d->receive), free(d->scratch), free(d->counts), free(d->starts);
  bench_pattern_free(d->pattern);
  *d = (field_data){0};
}

void field_data_fill(field_data* d, int iteration) {
  const field_kind* kind = d->kind;
  memset(d->receive, kSpoilt, d->receive_bytes);
  if (kind->reduces) {
    bench_pattern_fill(d->pattern, d->rank, iteration, d->send);
    return;
  }
  if (kind->from_root && d->rank != kRoot) return;
  unsigned char* out = kind->has_one_buffer ? d->receive : d->send;
  const int blocks = kind->gives == kFieldBlocks ? d->ranks : kind->gives == kFieldNothing ? 0 : 1;
  for (int to = 0; to < blocks; ++to)
    make_block(d->rank, kind->has_own_blocks ? to : -1, iteration, out + (size_t)to * d->bytes, d->bytes);
}

static size_t check_sum(const field_data* d, int iteration, field_wrong* wrong) {
  size_t first = 0, count = sum_elements(d->kind, d->bytes, d->ranks);
  if (d->kind->keeps == kFieldPart) {
    first = (size_t)d->starts[d->rank];
    count = (size_t)d->counts[d->rank];
  } else if (d->kind->keeps == kFieldBlock) {
    count = (size_t)d->call.count;
    first = (size_t)d->rank * count;
  }
  bench_mismatch mismatch;
  const size_t errors = bench_pattern_check_part(d->pattern, iteration, first, count, d->receive, &mismatch);
  if (errors != 0) *wrong = (field_wrong){mismatch.element, mismatch.expected, mismatch.got};
  return errors;
}

static size_t check_block(const field_data* d, int from, size_t start, int iteration, field_wrong* wrong) {
  make_block(from, d->kind->has_own_blocks ? d->rank : -1, iteration, d->scratch, d->bytes);
  const unsigned char *right = d->scratch, *found = (const unsigned char*)d->receive + start;
  if (memcmp(right, found, d->bytes) == 0) return 0;
  size_t errors = 0;
  for (size_t i = d->bytes; i-- > 0;) {
    if (right[i] == found[i]) continue;
    *wrong = (field_wrong){start + i, right[i], found[i]};
    ++errors;
  }
  return errors;
}

size_t field_data_check(const field_data* d, int iteration, field_wrong* wrong) {
  const field_kind* kind = d->kind;
  if (kind->keeps == kFieldNothing || (kind->to_root && d->rank != kRoot)) return 0;
  if (kind->reduces) return check_sum(d, iteration, wrong);
  if (kind->keeps != kFieldBlocks) return check_block(d, kRoot, 0, iteration, wrong);
  size_t errors = 0;
  // From the last to the first, so that `wrong` ends with the first wrong element.
  for (int from = d->ranks; from-- > 0;) errors += check_block(d, from, (size_t)from * d->bytes, iteration, wrong);
  return errors;
}
