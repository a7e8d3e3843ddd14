/* hostbench: times collectives inside one host, on request, verified. All programs of a comparison (Sumac, each peer, the
 * naive one) are started once, sleep, and are asked in turn: two neighbours in a pair are milliseconds apart, in the same
 * state of the machine, and no start is paid between them. Not a program to start by hand: bench/host.py does.
 *
 *   mpirun -n 2 hostbench --ranks 2 --area FILE --commands FIFO --replies FIFO [--pin]
 *
 * A command is a line "KIND BYTES ITERATIONS WARMUP", answered by one line of JSON; the end of commands ends the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/area.h"
#include "bench/host/cell.h"
#include "bench/host/kinds.h"
#include "bench/host/ticks.h"
#include "bench/host/world.h"

typedef struct {
  const char *area, *commands, *replies;
  int ranks, pin;
} settings;

__attribute__((noreturn)) static void refuse(const char* what, const char* why) {
  fprintf(stderr, "hostbench: %s: %s\n", what, why);
  exit(2);
}

static settings read_settings(int argc, char** argv) {
  static const struct option kOptions[] = {
      {"area", required_argument, NULL, 'a'},    {"commands", required_argument, NULL, 'c'},
      {"replies", required_argument, NULL, 'r'}, {"ranks", required_argument, NULL, 'n'},
      {"pin", no_argument, NULL, 'p'},           {NULL, 0, NULL, 0}};
  settings s = {0};
  for (int option; (option = getopt_long(argc, argv, "", kOptions, NULL)) != -1;) {
    if (option == 'a')
      s.area = optarg;
    else if (option == 'c')
      s.commands = optarg;
    else if (option == 'r')
      s.replies = optarg;
    else if (option == 'n')
      s.ranks = atoi(optarg);
    else if (option == 'p')
      s.pin = 1;
    else
      exit(2);
  }
  if (!s.area || !s.commands || !s.replies || s.ranks < 1 || s.ranks > kAreaRanksMax)
    refuse("usage", "--ranks 1..64 --area FILE --commands FIFO --replies FIFO [--pin]");
  return s;
}

static void pin(int rank) {
  if (area_pin(rank) != 0) refuse("--pin", strerror(errno));
}

static void reply(FILE* to, const area_command* command, const cell_result* r, double ns_each) {
  fprintf(
      to,
      "{\"kind\":\"%s\",\"bytes\":%zu,\"iterations\":%d,\"ns\":%.2f,\"mean_ns\":%.2f,\"min_ns\":%.2f,\"p90_ns\":%.2f,"
      "\"round_trip_ns\":[%.1f,%.1f],\"verified\":%ld,\"errors\":%ld",
      command->kind, command->bytes, command->iterations, r->call.median * ns_each, r->call.mean * ns_each,
      r->call.min * ns_each, r->call.p90 * ns_each, r->round_trip_ns[0], r->round_trip_ns[1], r->verified, r->errors);
  if (r->pure > 0)
    fprintf(to, ",\"overlap\":%.2f,\"pure_ns\":%.1f,\"slept_ns\":%.1f", r->overlap, r->pure * ns_each,
            r->slept * ns_each);
  fprintf(to, "}\n");
  fflush(to);
}

/* Rank 0 reads what to do; @return 0 at the end of commands. */
static int next_command(FILE* from, FILE* to, area_command* command) {
  char line[256];
  while (fgets(line, sizeof line, from) != NULL) {
    *command = (area_command){.kind = ""};
    const char* wrong = "not KIND BYTES ITERATIONS WARMUP";
    if (sscanf(line, "%31s %zu %d %d", command->kind, &command->bytes, &command->iterations, &command->warmup) == 4)
      wrong = kinds_refuse(command);
    if (wrong == NULL) return 1;
    line[strcspn(line, "\n")] = '\0';
    fprintf(to, "{\"refused\":\"%s\"}\n", wrong);
    fflush(to);
  }
  return 0;
}

static void lead(const settings* s, const ticks_origin* origin) {
  FILE *from = fopen(s->commands, "re"), *to = fopen(s->replies, "we");
  if (from == NULL || to == NULL) {
    fprintf(stderr, "hostbench: %s or %s: %s\n", s->commands, s->replies, strerror(errno));
    world_abort();
  }
  const double each = ticks_ns_each(origin);
  fprintf(to, "{\"ready\":%d,\"stamp_ns\":[%.1f,%.1f]}\n", world_size(), cell_stamp_ticks(0) * each,
          cell_stamp_ticks(1) * each);
  fflush(to);
  area_command command;
  cell_result result;
  while (next_command(from, to, &command)) {
    area_give_command(&command);
    cell_run(&command, ticks_ns_each(origin), &result);
    reply(to, &command, &result, ticks_ns_each(origin));
  }
  command = (area_command){.kind = "quit"};
  area_give_command(&command);
  fclose(from);
  fclose(to);
}

static void follow(const ticks_origin* origin) {
  area_command command;
  cell_result result;
  for (area_take_command(&command); strcmp(command.kind, "quit") != 0; area_take_command(&command))
    cell_run(&command, ticks_ns_each(origin), &result);
}

int main(int argc, char** argv) {
  const ticks_origin origin = ticks_start();
  const settings s = read_settings(argc, argv);
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) refuse("sched_getaffinity", strerror(errno));
  if (s.pin && s.ranks > CPU_COUNT(&all)) refuse("--pin", "fewer cores than ranks");
  if (area_open(s.area) != 0) refuse(s.area, strerror(errno));
  /* Before the start, so that what the library allocates lies near the core it will be used from. */
  const int early = world_early_rank();
  if (s.pin && early >= 0) pin(early);
  const int code = world_start(&argc, &argv, s.ranks);
  if (code != 0) refuse("cannot start", world_explain(code));
  if (s.pin && early < 0) pin(world_rank());
  area_enter(world_rank(), world_size(), world_size() > CPU_COUNT(&all));
  if (world_rank() == 0)
    lead(&s, &origin);
  else
    follow(&origin);
  return world_stop() == 0 ? 0 : 1;
}
