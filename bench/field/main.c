/* sumac-bench: measures the collectives of the MPI that it is started by, with the names, options and tables of OSU's and of
 * Intel's benchmarks. `sumac bench` starts it; it is also OSU's or Intel's program under whose name a link leads to it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/field/imb.h"
#include "bench/field/osu.h"

enum { kHelpPrinted = 3 };

static const char kHelp[] =
    "usage: sumac-bench [--json] NAME [OPTIONS]     under an MPI launcher; `sumac bench` starts it\n"
    "       sumac-bench --parse RANKS NAME [OPTIONS]  says what is wrong with the words, without MPI (RANKS 0: not "
    "known)\n"
    "       sumac-bench --list\n";

static void print_list(void) {
  printf("OSU's names (sumac bench NAME -h):\n");
  for (int i = 0; i < kFieldKinds; ++i) printf("  osu_%-22s osu_i%s\n", kFieldTable[i].name, kFieldTable[i].name);
  printf("Intel's names (sumac bench IMB-MPI1 NAME ..., sumac bench IMB-NBC NAME ...; -help):\n");
  for (int i = 0; i < kFieldKinds; ++i)
    printf("  IMB-MPI1 %-22s IMB-NBC I%s, I%s_pure\n", kFieldTable[i].imb, kFieldTable[i].name, kFieldTable[i].name);
}

typedef struct {
  const char* name;
  int is_imb;
  field_osu_command osu;
  field_imb_command imb;
} command;

static int parse(int argc, char** argv, command* w, char* error, size_t error_bytes) {
  const char* slash = strrchr(argv[0], '/');
  w->name = slash == NULL ? argv[0] : slash + 1;
  w->is_imb = strcmp(w->name, "IMB-MPI1") == 0 || strcmp(w->name, "IMB-NBC") == 0;
  return w->is_imb ? field_imb_parse(w->name, argc, argv, &w->imb, error, error_bytes)
                   : field_osu_parse(w->name, argc, argv, &w->osu, error, error_bytes);
}

/* @return 1 if a text was all that was asked for. */
static int print_texts(const command* w) {
  if (w->is_imb && w->imb.help) return field_imb_help(w->name), 1;
  if (w->is_imb && w->imb.list) return field_imb_list(w->imb.is_nonblocking), 1;
  if (!w->is_imb && w->osu.help) return field_osu_help(w->name), 1;
  if (!w->is_imb && w->osu.version) return field_osu_title(&w->osu), 1;
  return 0;
}

static int too_few(const command* w, int ranks, char* error, size_t error_bytes) {
  const int least = w->is_imb ? w->imb.ranks_min : 2;
  if (ranks >= least) return 0;
  return snprintf(error, error_bytes, "%s needs at least %d ranks%s, and there are %d: give a larger -n", w->name,
                  least, w->is_imb ? " (-npmin)" : "", ranks);
}

static int only_parse(int argc, char** argv) {
  static command w;
  char error[1024];
  const int ranks = atoi(argv[0]);
  int is_wrong = parse(argc - 1, argv + 1, &w, error, sizeof error) != 0;
  if (!is_wrong && print_texts(&w)) return kHelpPrinted;
  is_wrong = is_wrong || (ranks > 0 && too_few(&w, ranks, error, sizeof error));
  if (is_wrong) fprintf(stderr, "%s\n", error);
  return is_wrong ? 2 : 0;
}

int main(int argc, char** argv) {
  const char* slash = strrchr(argv[0], '/');
  const char* own = slash == NULL ? argv[0] : slash + 1;
  const int has_name = strncmp(own, "osu_", 4) == 0 || strncmp(own, "IMB-", 4) == 0;
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
  } else if ((w.is_imb ? w.imb.help | w.imb.list : w.osu.help | w.osu.version) != 0) {
    if (rank == 0) print_texts(&w);
  } else if (too_few(&w, ranks, error, sizeof error)) {
    status = 2;
  } else {
    status = w.is_imb ? field_imb_run(w.name, argc, argv, &w.imb, as_json) : field_osu_run(w.name, &w.osu, as_json);
  }
  if (status == 2 && error[0] != '\0' && rank == 0) fprintf(stderr, "%s\n", error);
  MPI_Finalize();
  // One rank's status is the job's, and the launcher reports one rank instead of all.
  return rank == 0 ? status : 0;
}
