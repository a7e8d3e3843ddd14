#define _GNU_SOURCE
#include "bench/host/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench/host/copies.h"
#include "bench/host/data.h"
#include "bench/host/kinds.h"
#include "bench/host/ticks.h"
#include "bench/host/world.h"

/* The calls of kNew: so many that what a library does once is small beside them. */
enum { kNewCalls = 100000 };

__attribute__((noreturn)) static void give_up(const char* what, int code) {
  fprintf(stderr, "hostbench: rank %d: %s: %s\n", world_rank(), what, world_explain(code));
  world_abort();
}

static void must(int code, const char* what) {
  if (code != 0) give_up(what, code);
}

/* Small calls back to back come in bursts: their inputs lie ready side by side and their results are checked afterwards, so
 * that nothing stands between two calls. Larger ones are refilled each time, which a program that computes does as well. */
enum { kBurstBytes = 64 << 10, kBurstBlockMax = 8 << 10, kBurstMin = 16, kBurstMax = 256 };

/* Does a barrier hold back who is early? Each rank says how far it is, and after the barrier must see all others there. */
static long barrier_errors(const data_cell* c, int calls) {
  long errors = 0;
  for (int i = 1; i <= calls; ++i) {
    area_put(i);
    must(world_call(kBarrier, &c->call), "barrier");
    for (int rank = 0; rank < c->ranks; ++rank) errors += area_get(rank) < i;
  }
  area_align();
  area_put(0);
  area_align();
  return errors;
}

static double sum_over_ranks(const data_cell* c, double mine) {
  area_align();
  area_put(mine);
  area_align();
  double sum = 0;
  for (int rank = 0; rank < c->ranks; ++rank) sum += area_get(rank);
  area_align();
  area_put(0);
  area_align();
  return sum;
}

/* The MPI's own barrier lets it finish what it began; ours then sends all ranks off together, whatever the MPI. */
static void align(const data_cell* c) {
  must(world_call(kBarrier, &c->call), "barrier");
  area_align();
}

static void sleep_ns(double ns) {
  if (ns < 1) return;
  const struct timespec time = {(time_t)(ns / 1e9), (long)(ns - 1e9 * (double)(time_t)(ns / 1e9))};
  nanosleep(&time, NULL); /* interrupted: what was slept is measured anyway */
}

static int by_value(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

/* Computes for so long, like a program that has its core to itself or shares it with others that compute. */
static void compute_ns(double ns) {
  static volatile double value = 1; /* volatile: the arithmetic is done although nobody needs its result */
  const int64_t end = bench_now_ns() + (int64_t)ns;
  while (bench_now_ns() < end)
    for (int i = 0; i < 100; ++i) value = value * 0.999 + 1e-3;
}

/* Returns how much later than asked for this process runs again, as a median. */
static double oversleep_ticks(double ns, double ns_each) {
  enum { kTries = 15 };
  int64_t late[kTries];
  for (int i = 0; i < kTries; ++i) {
    const int64_t start = ticks_now();
    sleep_ns(ns);
    late[i] = ticks_now() - start - (int64_t)(ns / ns_each);
  }
  qsort(late, kTries, sizeof late[0], by_value);
  return (double)late[kTries / 2];
}

/* The step in which the counter moves, or what reading it costs: about the same. */
static double counter_step(void) {
  enum { kTries = 101 };
  static int64_t each[kTries];
  if (each[kTries / 2] > 0) return (double)each[kTries / 2];
  for (int i = 0; i < kTries; ++i) {
    const int64_t start = ticks_now();
    each[i] = ticks_now() - start;
  }
  qsort(each, kTries, sizeof each[0], by_value);
  return (double)each[kTries / 2];
}

/* Returns what a stamp adds to a duration: the mean of a quiet stretch, because single readings move in the counter's steps. */
double cell_stamp_ticks(int fenced) {
  enum { kStretches = 15, kStamps = 64 };
  int64_t each[kStretches];
  for (int i = 0; i < kStretches; ++i) {
    const int64_t start = ticks_fenced();
    for (int k = 0; k < kStamps; ++k) (void)(fenced ? ticks_fenced() : ticks_now());
    each[i] = ticks_fenced() - start;
  }
  qsort(each, kStretches, sizeof each[0], by_value);
  return (double)each[kStretches / 2] / kStamps;
}

static bench_summary summarise(const data_cell* c, const area_command* command, double stamp) {
  static double means[kAreaIterationsMax];
  bench_mean_over_ranks_ms(area_notes(), c->ranks, kAreaIterationsMax, command->warmup, command->iterations, means);
  /* The counter moves in steps (10 ns on some machines), so without this the median would, too: spread each value evenly
   * over the step that it stands for. */
  const double step = counter_step() / c->ranks;
  uint32_t dice = 1;
  for (int i = 0; i < command->iterations; ++i) {
    dice = dice * 1664525u + 1013904223u;
    means[i] += (step * (dice / 4294967296.0 - 0.5) - stamp) / 1e6;
  }
  bench_summary s = bench_summarise(means, (size_t)command->iterations);
  s.median *= 1e6, s.mean *= 1e6, s.min *= 1e6, s.max *= 1e6, s.p90 *= 1e6; /* they were ticks, not ns */
  return s;
}

/* Divides the times of a row by its calls. */
static bench_summary each_of(bench_summary s, int calls) {
  s.median /= calls, s.mean /= calls, s.min /= calls, s.max /= calls, s.p90 /= calls;
  return s;
}

/* Post, wait. With `computing` > 0: post, be away for that many ticks, wait. */
static long post_loop(const data_cell* c, int total, double computing, double early, double ns_each, int64_t* slept) {
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    data_fill(c, i);
    align(c);
    const int64_t start = ticks_now();
    must(world_post(c->kind, &c->call), "nonblocking collective");
    if (computing > 0) {
      const int64_t asleep = ticks_now();
      if (kKinds[c->row].how == kPostBusy)
        compute_ns(computing * ns_each);
      else
        sleep_ns((computing - early) * ns_each);
      slept[i] = ticks_now() - asleep;
    }
    must(world_wait(), "wait");
    area_note(i, ticks_now() - start);
    errors += data_check(c, i);
  }
  return errors;
}

static long run_overlap(const data_cell* c, const area_command* command, double ns_each, cell_result* result) {
  static int64_t slept[kAreaIterationsMax];
  static double shares[kAreaIterationsMax];
  const int total = command->warmup + command->iterations;
  prctl(PR_SET_TIMERSLACK, 1);
  long errors = post_loop(c, total, 0, 0, ns_each, slept);
  area_align();
  if (c->rank == 0) area_put(summarise(c, command, 0).median);
  area_align();
  const double pure = area_get(0);
  const double early = oversleep_ticks(pure * ns_each, ns_each);
  area_align();
  if (c->rank == 0) area_put(0);
  errors += post_loop(c, total, pure, early, ns_each, slept);
  /* The share hidden in each iteration of this rank, with the time it really was away. */
  const int64_t* mine = area_notes() + (size_t)c->rank * kAreaIterationsMax;
  double away = 0;
  for (int i = 0; i < command->iterations; ++i) {
    const int at = command->warmup + i;
    shares[i] = 100 * (1 - (double)(mine[at] - slept[at]) / pure);
    away += (double)slept[at] / command->iterations;
  }
  const double share = bench_summarise(shares, (size_t)command->iterations).median;
  const double overlap = sum_over_ranks(c, share) / c->ranks, asleep = sum_over_ranks(c, away) / c->ranks;
  *result = (cell_result){.pure = pure, .slept = asleep, .overlap = overlap < 0 ? 0 : overlap};
  return errors;
}

static long run_bursts(data_cell c, int total) {
  const world_kind kind = c.kind;
  const size_t stride = data_block_bytes(&c) * (size_t)c.ranks;
  int burst = stride ? (int)(kBurstBytes / stride) : kBurstMax;
  burst = burst < kBurstMin ? kBurstMin : burst > kBurstMax ? kBurstMax : burst;
  if (stride) data_need_buffers(stride * (size_t)burst);
  const world_arguments shape = c.call;
  world_arguments each[kBurstMax];
  for (int k = 0; k < burst; ++k) {
    each[k] = shape;
    each[k].send = data_buffers.send + (size_t)k * stride, each[k].receive = data_buffers.receive + (size_t)k * stride;
  }
  long errors = 0;
  /* The first call of a burst waits for whoever filled slower: it is no call back to back, and not noted. */
  for (int done = 0, iteration = 0; done < total; done += burst - 1) {
    const int calls = total - done < burst - 1 ? total - done + 1 : burst;
    for (int k = 0; k < calls; ++k) c.call = each[k], data_fill(&c, iteration + k);
    int code = world_call(kind, &each[0]);
    int64_t start = ticks_now();
    for (int k = 1; k < calls; ++k) {
      code |= world_call(kind, &each[k]);
      const int64_t end = ticks_now();
      area_note(done + k - 1, end - start);
      start = end;
    }
    must(code, kKinds[c.row].name);
    for (int k = 0; k < calls; ++k) c.call = each[k], errors += data_check(&c, iteration + k);
    iteration += calls;
  }
  return errors;
}

/* An iteration has so many calls. */
enum { kRowCalls = 200, kLateCalls = 20, kLateNs = 1000000 };

/* All ranks note the largest of their times: the slowest rank counts. */
static void note_largest(const data_cell* c, int iteration, int64_t mine) {
  area_put((double)mine);
  area_align();
  double most = 0;
  for (int rank = 0; rank < c->ranks; ++rank)
    if (area_get(rank) > most) most = area_get(rank);
  area_note(iteration, (int64_t)most);
  area_align();
  area_put(0);
}

/* A row's calls have their data side by side as far as the caches hold them, and then use the same ones again. Returns how
 * many there are. */
static int row_buffers(const data_cell* c, int calls, world_arguments* each) {
  const size_t stride = (data_block_bytes(c) * (size_t)c->ranks + 63) / 64 * 64;
  const int fit = (int)(kBurstBytes / stride), buffers = fit < 1 ? 1 : fit > calls ? calls : fit;
  data_need_buffers(stride * (size_t)buffers);
  for (int k = 0; k < buffers; ++k) {
    each[k] = c->call;
    each[k].send = data_buffers.send + (size_t)k * stride, each[k].receive = data_buffers.receive + (size_t)k * stride;
  }
  return buffers;
}

static long run_rows(data_cell c, int total) {
  world_arguments each[kRowCalls];
  const int buffers = row_buffers(&c, kRowCalls, each);
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    for (int k = 0; k < buffers; ++k) c.call = each[k], data_fill(&c, i * buffers + k);
    align(&c);
    int code = 0;
    const int64_t start = ticks_fenced();
    for (int n = 0; n < kRowCalls; ++n) code |= world_call(c.kind, &each[n % buffers]);
    const int64_t took = ticks_fenced() - start;
    must(code, kKinds[c.row].name);
    note_largest(&c, i, took);
    for (int k = 0; k < buffers; ++k) c.call = each[k], errors += data_check(&c, i * buffers + k);
  }
  return errors;
}

/* The root of a bcast or scatter, or the leaves of a reduce or gather, call at once; the other side's last rank comes late. */
static long run_late(data_cell c, int total) {
  const int root_writes = c.kind == kBcast || c.kind == kScatter;
  const int needs_nobody = (c.rank == 0) == root_writes, is_late = c.rank == (root_writes ? c.ranks - 1 : 0);
  world_arguments each[kLateCalls];
  const int buffers = row_buffers(&c, kLateCalls, each);
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    for (int k = 0; k < buffers; ++k) c.call = each[k], data_fill(&c, i * buffers + k);
    align(&c);
    int code = 0;
    int64_t inside = 0;
    for (int n = 0; n < kLateCalls; ++n) {
      if (is_late) sleep_ns(kLateNs);
      const int64_t start = ticks_fenced();
      code |= world_call(c.kind, &each[n % buffers]);
      inside += ticks_fenced() - start;
    }
    must(code, kKinds[c.row].name);
    note_largest(&c, i, needs_nobody ? inside : 0);
    for (int k = 0; k < buffers; ++k) c.call = each[k], errors += data_check(&c, i * buffers + k);
  }
  return errors;
}

/* Filling 1 MiB and checking it take twice as long as the call. A rank that is through with that later than another would
 * count as the call's time, and where ranks share a core so would all that the others on it fill and check: so all begin
 * together, and of calls that would else be back to back nobody checks before all are out. */
static long run_calls(data_cell c, int total) {
  const way how = kKinds[c.row].how;
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    if (how == kFresh) data_take_place(&c, i);
    data_fill(&c, i);
    if (how == kCold) data_leave_caches();
    align(&c);
    const int64_t start = ticks_fenced();
    const int code = world_call(c.kind, &c.call);
    const int64_t end = ticks_fenced();
    area_note(i, end - start);
    must(code, kKinds[c.row].name);
    if (how == kBackToBack) area_align();
    errors += data_check(&c, i);
  }
  return errors;
}

/* The loop of OSU's collective programs: every call has the same buffers with the same content, is timed alone, and is
 * followed by a barrier of the MPI, outside of the time. Results are checked after the loop, and after one more call
 * with other data, because those of the loop are alike. */
static long run_osu(const data_cell* c, int total) {
  const world_kind kind = c->kind;
  data_fill(c, 0);
  align(c);
  for (int i = 0; i < total; ++i) {
    const int64_t start = ticks_fenced();
    const int code = world_call(kind, &c->call);
    area_note(i, ticks_fenced() - start);
    must(code, kKinds[c->row].name);
    must(world_call(kBarrier, &c->call), "barrier");
  }
  long errors = data_check(c, 0);
  align(c);
  data_fill(c, 1);
  must(world_call(kind, &c->call), kKinds[c->row].name);
  return errors + data_check(c, 1);
}

/* One block from the rank's own cache and one from the other's, which has just written it. */
static long run_copies(const data_cell* c, int total, int by) {
  const size_t bytes = data_block_bytes(c);
  char *mine = area_copies(c->rank), *theirs = area_copies(1 - c->rank);
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    data_fill(c, i);
    memcpy(mine, data_block(c->call.send, c, 1 - c->rank), bytes);
    area_align();
    const int64_t start = ticks_fenced();
    copies_do(by, data_block(c->call.receive, c, c->rank), data_block(c->call.send, c, c->rank), bytes);
    copies_do(by, data_block(c->call.receive, c, 1 - c->rank), theirs, bytes);
    area_note(i, ticks_fenced() - start);
    area_align();
    errors += data_check(c, i);
  }
  return errors;
}

/* The result is that of the fastest way. */
static long run_every_copy(const data_cell* c, const area_command* command, cell_result* result) {
  const int total = command->warmup + command->iterations;
  long errors = 0;
  for (int by = 0; by < kCopyWays; ++by) {
    if (!copies_has(by)) continue;
    errors += run_copies(c, total, by);
    area_align();
    if (c->rank != 0) continue;
    const bench_summary each = summarise(c, command, cell_stamp_ticks(1));
    if (result->call.median == 0 || each.median < result->call.median) result->call = each;
  }
  area_align();
  return errors;
}

static long run_communicators(const data_cell* c, int total) {
  const int first = kKinds[c->row].how == kFirst;
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    data_fill(c, i);
    align(c);
    int64_t start = ticks_fenced();
    must(world_dup(), "MPI_Comm_dup");
    if (first) {
      area_align();
      start = ticks_fenced();
      must(world_call(c->kind, &c->call), "first collective");
    }
    area_note(i, ticks_fenced() - start);
    if (first) errors += data_check(c, i);
    must(world_free_dup(), "MPI_Comm_free");
  }
  return errors;
}

/* Four collectives on the current communicator; returns the number of wrong results. */
static long use_communicator(const data_cell* c) {
  double one = 1, sum = 0, root = c->rank, all[kAreaRanksMax];
  const int size = world_current_size();
  world_arguments call = {.send = &one, .receive = &sum, .count = 1, .type = kBenchDouble};
  must(world_call(kBarrier, &call), "barrier");
  must(world_call(kAllreduce, &call), "allreduce");
  call.receive = &root;
  must(world_call(kBcast, &call), "bcast");
  call.receive = all;
  must(world_call(kAllgather, &call), "allgather");
  long errors = sum != size || root > c->rank;
  for (int i = 0; i < size; ++i) errors += all[i] != 1;
  return errors;
}

static long run_churn(const data_cell* c, int total) {
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    align(c);
    const int64_t start = ticks_fenced();
    must(world_dup(), "MPI_Comm_dup");
    errors += use_communicator(c);
    must(world_free_dup(), "MPI_Comm_free");
    must(world_split(), "MPI_Comm_split");
    errors += use_communicator(c);
    must(world_free_dup(), "MPI_Comm_free");
    area_note(i, ticks_fenced() - start);
  }
  return errors;
}

static long run_new(const data_cell* c, int total) {
  long errors = 0;
  for (int i = 0; i < total; ++i) {
    data_fill(c, i);
    must(world_dup(), "MPI_Comm_dup");
    area_align();
    const int64_t start = ticks_fenced();
    for (int k = 0; k < kNewCalls; ++k) must(world_call(c->kind, &c->call), kKinds[c->row].name);
    area_note(i, ticks_fenced() - start);
    errors += data_check(c, i);
    must(world_free_dup(), "MPI_Comm_free");
  }
  return errors;
}

void cell_run(const area_command* command, double ns_each, cell_result* result) {
  data_cell c = {.row = kinds_find(command->kind), .rank = world_rank(), .ranks = world_size()};
  const int total = command->warmup + command->iterations;
  long verified = total;
  c.kind = kKinds[c.row].kind;
  if (kinds_has_data(c.row)) {
    c.call.type = kinds_type(c.row, command->bytes), c.call.is_char = kinds_is_char(c.row);
    c.call.form = kKinds[c.row].form;
    c.call.count = command->bytes / kinds_width(c.row, command->bytes);
    if (!c.call.is_char && c.call.form != kPairs)
      c.pattern = data_pattern_for(c.call.type, data_is_pairwise(&c) ? c.ranks * c.ranks : c.ranks, c.call.count);
    data_need_buffers(kKinds[c.row].how == kFresh ? data_places_bytes(&c) : data_block_bytes(&c) * (size_t)c.ranks);
    c.call.send = data_buffers.send, c.call.receive = data_buffers.receive;
  }
  *result = (cell_result){0};
  area_align();
  const double before = area_round_trip_ns();
  align(&c);
  long errors = 0;
  switch (kKinds[c.row].how) {
    case kBackToBack:
      if (command->bytes <= kBurstBlockMax) {
        errors = run_bursts(c, total);
        break;
      }
      __attribute__((fallthrough));
    case kAligned:
    case kCold:
    case kFresh: errors = run_calls(c, total); break;
    case kPost:
    case kPostBusy: errors = run_overlap(&c, command, ns_each, result); break;
    case kDup:
    case kFirst: errors = run_communicators(&c, total); break;
    case kChurn: errors = run_churn(&c, total); break;
    case kNew: errors = run_new(&c, total); break;
    case kOsu: errors = run_osu(&c, total), verified = 2; break;
    case kStream: errors = run_rows(c, total); break;
    case kLate: errors = run_late(c, total); break;
    case kCopies: errors = run_every_copy(&c, command, result); break;
  }
  area_align();
  const int bursts = kKinds[c.row].how == kBackToBack && command->bytes <= kBurstBlockMax;
  if (c.rank == 0 && kKinds[c.row].how != kCopies) result->call = summarise(&c, command, cell_stamp_ticks(!bursts));
  if (kKinds[c.row].how == kStream) result->call = each_of(result->call, kRowCalls);
  area_align();
  if (c.kind == kBarrier) errors += barrier_errors(&c, verified = total < 200 ? total : 200);
  must(world_call(kBarrier, &c.call), "barrier");
  area_align();
  result->round_trip_ns[0] = before;
  result->round_trip_ns[1] = area_round_trip_ns();
  result->errors = (long)sum_over_ranks(&c, (double)errors);
  result->verified = verified * c.ranks;
}
