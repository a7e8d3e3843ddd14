/* sumac-bench: measures the collectives of the MPI that it is started by, and messages between two of its ranks, with the names,
 * options and tables of OSU's, Intel's and Sandia's benchmarks. `sumac bench` starts it; it is also OSU's or Intel's program under whose name a link leads to it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/field/imb.h"
#include "bench/field/osu.h"
#include "bench/field/overhead.h"

/* Exit statuses of --parse. */
enum { kHelpPrinted = 3, kWantsTwoRanks = 4 };

static const char kHelp[] =
    "usage: sumac-bench [--json] NAME [OPTIONS]     under an MPI launcher; `sumac bench` starts it\n"
    "       sumac-bench --parse RANKS NAME [OPTIONS]  says what is wrong with the words, without MPI (RANKS 0: not "
    "known); status 4: right, and for 2 ranks alone\n"
    "       sumac-bench --list\n";

static void print_list(void) {
  printf("OSU's names (sumac bench NAME -h):\n");
  for (int i = 0; i < kFieldKinds; ++i) printf("  osu_%-22s osu_i%s\n", kFieldTable[i].name, kFieldTable[i].name);
  for (int i = 0; i < kFieldPairs; ++i) printf("  %s\n", kFieldPairTable[i].name);
  printf("Sandia's name (sumac bench mpi_overhead -h):\n  mpi_overhead\n");
  printf("Intel's names (sumac bench IMB-MPI1 NAME ..., sumac bench IMB-NBC NAME ...; -help):\n");
  for (int i = 0; i < kFieldKinds; ++i)
    printf("  IMB-MPI1 %-22s IMB-NBC I%s, I%s_pure\n", kFieldTable[i].imb, kFieldTable[i].name, kFieldTable[i].name);
}

typedef struct {
  const char* name;
  int is_imb, is_overhead;
  field_osu_command osu;
  field_imb_command imb;
  field_overhead_command overhead;
} command;

static int parse(int argc, char** argv, command* w, char* error, size_t error_bytes) {
  const char* slash = strrchr(argv[0], '/');
  w->name = slash == NULL ? argv[0] : slash + 1;
  w->is_imb = strcmp(w->name, "IMB-MPI1") == 0 || strcmp(w->name, "IMB-NBC") == 0;
  w->is_overhead = strcmp(w->name, "mpi_overhead") == 0;
  if (w->is_overhead) return field_overhead_parse(argc, argv, &w->overhead, error, error_bytes);
  return w->is_imb ? field_imb_parse(w->name, argc, argv, &w->imb, error, error_bytes)
                   : field_osu_parse(w->name, argc, argv, &w->osu, error, error_bytes);
}

static int wants_text(const command* w) {
  if (w->is_overhead) return w->overhead.help;
  return w->is_imb ? w->imb.help | w->imb.list : w->osu.help | w->osu.version;
}

static void print_text(const command* w) {
  if (w->is_overhead)
    field_overhead_help();
  else if (w->is_imb && w->imb.help)
    field_imb_help(w->name);
  else if (w->is_imb)
    field_imb_list(w->imb.is_nonblocking);
  else if (w->osu.help)
    field_osu_help(w->name);
  else
    field_osu_title(&w->osu);
}

static int is_for_two(const command* w) { return w->is_overhead || (!w->is_imb && w->osu.pair != NULL); }

static int does_not_fit(const command* w, int ranks, char* error, size_t error_bytes) {
  if (is_for_two(w) && ranks != 2)
    return snprintf(error, error_bytes, "%s measures messages between 2 ranks, and there are %d: give -n 2", w->name,
                    ranks);
  const int least = w->is_imb ? w->imb.ranks_min : 2;
  if (ranks >= least) return 0;
  return snprintf(error, error_bytes, "%s needs at least %d ranks%s, and there are %d: give a larger -n", w->name,
                  least, w->is_imb ? " (-npmin)" : "", ranks);
}

static int run(const command* w, int argc, char** argv, int as_json) {
  if (w->is_overhead) return field_overhead_run(&w->overhead);
  if (w->is_imb) return field_imb_run(w->name, argc, argv, &w->imb, as_json);
  return field_osu_run(w->name, &w->osu, as_json);
}

static int only_parse(int argc, char** argv) {
  static command w;
  char error[1024];
  const int ranks = atoi(argv[0]);
  int is_wrong = parse(argc - 1, argv + 1, &w, error, sizeof error) != 0;
  if (!is_wrong && wants_text(&w)) return print_text(&w), kHelpPrinted;
  is_wrong = is_wrong || (ranks > 0 && does_not_fit(&w, ranks, error, sizeof error));
  if (is_wrong) fprintf(stderr, "%s\n", error);
  return is_wrong ? 2 : is_for_two(&w) ? kWantsTwoRanks : 0;
}

int main(int argc, char** argv) {
  const char* slash = strrchr(argv[0], '/');
  const char* own = slash == NULL ? argv[0] : slash + 1;
  const int has_name = strncmp(own, "osu_", 4) == 0 || strncmp(own, "IMB-", 4) == 0 || strcmp(own, "mpi_overhead") == 0;
  int as_json = 0;
  if (!has_name) --argc, ++argv;
  if (!has_name && argc > 0 && strcmp(argv[0], "--list") == 0) return print_list(), 0;
  if (!has_name && argc > 2 && strcmp(argv[0], "--parse") == 0) return only_parse(argc - 1, argv + 1);
  if (!has_name && argc > 0 && strcmp(argv[0], "--json") == 0) as_json = 1, --argc, ++argv;
  if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
    return fputs(kHelp, argc == 0 ? stderr : stdout), argc == 0 ? 2 : 0;

  static command w;
  char error[1024] = "";
  int rank, ranks, status = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (parse(argc, argv, &w, error, sizeof error) != 0) {
    status = 2;
  } else if (wants_text(&w)) {
    if (rank == 0) print_text(&w);
  } else if (does_not_fit(&w, ranks, error, sizeof error)) {
    status = 2;
  } else {
    status = run(&w, argc, argv, as_json);
  }
  if (status == 2 && error[0] != '\0' && rank == 0) fprintf(stderr, "%s\n", error);
  MPI_Finalize();
  // One rank's status is the job's, and the launcher reports one rank instead of all.
  return rank == 0 ? status : 0;
}
