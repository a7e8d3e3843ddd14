#include "bench/field/imb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>

#include "bench/field/rows.h"
#include "bench/field/words.h"

enum { kWidth = 13, kWarmupLeast = 10, kWarmupPart = 10, kNameMost = 64 };

static const field_options kOptions = {.sizes = "-msglog", .iterations = "-iter", .memory = "-mem"};

static const char* const kNames[2][kFieldImbMost] = {
    {"Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Allgather", "Allgatherv", "Gather", "Gatherv",
     "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast", "Barrier"},
    {"Ibcast",
     "Ibcast_pure",
     "Iallgather",
     "Iallgather_pure",
     "Iallgatherv",
     "Iallgatherv_pure",
     "Igather",
     "Igather_pure",
     "Igatherv",
     "Igatherv_pure",
     "Iscatter",
     "Iscatter_pure",
     "Iscatterv",
     "Iscatterv_pure",
     "Ialltoall",
     "Ialltoall_pure",
     "Ialltoallv",
     "Ialltoallv_pure",
     "Ireduce",
     "Ireduce_pure",
     "Ireduce_scatter",
     "Ireduce_scatter_pure",
     "Ireduce_scatter_block",
     "Ireduce_scatter_block_pure",
     "Iallreduce",
     "Iallreduce_pure",
     "Ibarrier",
     "Ibarrier_pure"}};

void field_imb_list(int is_nonblocking) {
  for (int i = 0; i < kFieldImbMost && kNames[is_nonblocking][i] != NULL; ++i)
    printf("%s\n", kNames[is_nonblocking][i]);
}

void field_imb_help(const char* name) {
  printf(
      "Usage: sumac bench %s [options] [benchmark ...]\n"
      "Without a benchmark all run; names may be joined by commas.\n"
      "  -npmin N              fewest ranks: tables for N ranks, twice as many and so on, at last all [2]\n"
      "  -iter N[,MB]          iterations, fewer where a size would move more than MB MiB in all [1000,40]\n"
      "  -time SECONDS         fewer iterations where a size would take longer [10]\n"
      "  -msglog [MIN:]MAX     sizes 0 and 2^MIN to 2^MAX [0:22]\n"
      "  -mem GB               memory that a process may use for its buffers; larger sizes are left out [1]\n"
      "  -check                check every result; the column defects counts wrong elements, and the exit status is 1\n"
      "  -list, -help          the names of the benchmarks; this text\n",
      name);
}

static void name_known(const char* name, const char* word, size_t length, int is_nonblocking, char* error,
                       size_t error_bytes) {
  int at = snprintf(error, error_bytes, "%s: no benchmark %.*s: known are", name,
                    (int)(length < kNameMost ? length : kNameMost), word);
  for (int i = 0; i < kFieldImbMost && kNames[is_nonblocking][i] != NULL; ++i) {
    if (at < 0 || (size_t)at >= error_bytes) return;
    at += snprintf(error + at, error_bytes - (size_t)at, "%s %s", i == 0 ? "" : ",", kNames[is_nonblocking][i]);
  }
}

/* Adds the first `length` letters of a word. @return -1: `error` has the reason. */
static int add(const char* name, field_imb_command* command, const char* word, size_t length, char* error,
               size_t error_bytes) {
  char copy[kNameMost];
  field_imb_benchmark one = {0};
  if (length < sizeof copy) {
    memcpy(copy, word, length), copy[length] = '\0';
    one.kind = field_find_imb(copy, command->is_nonblocking, &one.is_pure);
  }
  if (one.kind == NULL) return name_known(name, word, length, command->is_nonblocking, error, error_bytes), -1;
  for (int i = 0; i < kFieldImbMost && kNames[command->is_nonblocking][i] != NULL; ++i)
    if (strcasecmp(kNames[command->is_nonblocking][i], copy) == 0) one.name = kNames[command->is_nonblocking][i];
  for (int i = 0; i < command->count; ++i)
    if (command->benchmarks[i].name == one.name)
      return snprintf(error, error_bytes, "%s: %s is named twice: name each benchmark once", name, one.name), -1;
  command->benchmarks[command->count++] = one;
  return 0;
}

/* Adds the names of a word, which commas join. */
static int add_all(const char* name, field_imb_command* command, const char* word, char* error, size_t error_bytes) {
  for (const char* at = word;; ++at) {
    const size_t length = strcspn(at, ",");
    if (length == 0)
      return snprintf(error, error_bytes, "%s: \"%.*s\" has an empty name: give names with one comma between them",
                      name, kNameMost, word),
             -1;
    if (add(name, command, at, length, error, error_bytes) != 0) return -1;
    at += length;
    if (*at == '\0') return 0;
  }
}

static int parse_real(const char* text, double* value) {
  char* end = NULL;
  *value = strtod(text, &end);
  return end == text || *end != '\0' || !(*value > 0) || *value > 1e6 ? -1 : 0;
}

/* Reads N, N,MB or N,MB,N: the third number is for benchmarks that are no collectives. */
static int parse_iterations(const char* text, field_imb_command* command) {
  long unused, *const numbers[] = {&command->iterations, &command->volume_mb, &unused};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    char part[32];
    const size_t length = strcspn(text, ",");
    if (length >= sizeof part) return -1;
    memcpy(part, text, length), part[length] = '\0';
    if (field_parse_number(part, 1, numbers[i]) != 0) return -1;
    if (text[length] == '\0') return 0;
    text += length + 1;
  }
  return -1;
}

static int take(field_imb_command* command, const char* option, const char* value) {
  long number = 0;
  if (strcmp(option, "-npmin") == 0) {
    if (field_parse_number(value, 1, &number) != 0) return -1;
    return command->ranks_min = (int)number, 0;
  }
  if (strcmp(option, "-iter") == 0) return parse_iterations(value, command);
  if (strcmp(option, "-time") == 0) return parse_real(value, &command->seconds);
  if (strcmp(option, "-mem") == 0) return parse_real(value, &command->memory_gb);
  return field_parse_exponents(value, &command->exponent_min, &command->exponent_max);
}

_Static_assert(kFieldNumberMost == 1000000000, "the lines below name it");

/* The options with a value, and the values that each takes. */
static const struct {
  const char *option, *takes;
} kWithValue[] = {{"-npmin", "a whole number from 1 to 1000000000"},
                  {"-iter", "N or N,MB, whole numbers from 1 to 1000000000"},
                  {"-time", "seconds above 0, at most 1000000"},
                  {"-mem", "gigabytes above 0, at most 1000000"},
                  {"-msglog", "MAX or MIN:MAX, exponents of 2 from 0 to 30"}};

/* @return the values that an option takes, in words; NULL: it is no option with a value. */
static const char* values_of(const char* word) {
  for (size_t i = 0; i < sizeof kWithValue / sizeof *kWithValue; ++i)
    if (strcmp(word, kWithValue[i].option) == 0) return kWithValue[i].takes;
  return NULL;
}

int field_imb_parse(const char* name, int argc, char** argv, field_imb_command* command, char* error,
                    size_t error_bytes) {
  *command = (field_imb_command){.is_nonblocking = strcmp(name, "IMB-NBC") == 0,
                                 .ranks_min = 2,
                                 .iterations = 1000,
                                 .volume_mb = 40,
                                 .seconds = 10,
                                 .memory_gb = 1,
                                 .exponent_min = 0,
                                 .exponent_max = 22};
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    const char* takes = values_of(word);
    if (takes != NULL) {
      if (i + 1 == argc) return snprintf(error, error_bytes, "%s: %s needs a value: give %s", name, word, takes), -1;
      if (take(command, word, argv[++i]) != 0)
        return snprintf(error, error_bytes, "%s: %s %s: give %s", name, word, argv[i], takes), -1;
    } else if (strcmp(word, "-check") == 0) {
      command->is_checked = 1;
    } else if (strcmp(word, "-list") == 0) {
      command->list = 1;
    } else if (strcmp(word, "-help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
      command->help = 1;
    } else if (word[0] == '-') {
      return snprintf(error, error_bytes, "%s: no option %s: see `sumac bench %s -help`", name, word, name), -1;
    } else if (add_all(name, command, word, error, error_bytes) != 0) {
      return -1;
    }
  }
  for (int i = 0; command->count == 0 && i < kFieldImbMost && kNames[command->is_nonblocking][i] != NULL; ++i) {
    field_imb_benchmark* one = &command->benchmarks[i];
    one->name = kNames[command->is_nonblocking][i];
    one->kind = field_find_imb(one->name, command->is_nonblocking, &one->is_pure);
  }
  while (command->count < kFieldImbMost && command->benchmarks[command->count].kind != NULL) ++command->count;
  return 0;
}

static void print_first_lines(const char* name, int argc, char** argv, const field_imb_command* command) {
  static const char kRule[] = "#----------------------------------------------------------------\n";
  struct utsname machine;
  int version, subversion;
  const time_t now = time(NULL);
  uname(&machine);
  MPI_Get_version(&version, &subversion);
  printf("%s#    Sumac %s, in the form of Intel(R) MPI Benchmarks, %s part\n%s", kRule, SUMAC_VERSION,
         command->is_nonblocking ? "MPI-NBC" : "MPI-1", kRule);
  printf("# Date                  : %s", ctime(&now));
  printf("# Machine               : %s\n# System                : %s\n", machine.machine, machine.sysname);
  printf("# Release               : %s\n# Version               : %s\n", machine.release, machine.version);
  printf("# MPI Version           : %d.%d\n# MPI Thread Environment: \n\n\n# Calling sequence was: \n\n# %s", version,
         subversion, name);
  for (int i = 1; i < argc; ++i) printf(" %s", argv[i]);
  printf(" \n\n# Minimum message length in bytes:   0\n# Maximum message length in bytes:   %d\n#\n",
         1 << command->exponent_max);
  printf(
      "# MPI_Datatype                   :   MPI_BYTE \n# MPI_Datatype for reductions    :   MPI_FLOAT \n"
      "# MPI_Op                         :   MPI_SUM  \n# \n# \n\n# List of Benchmarks to run:\n\n");
  for (int i = 0; i < command->count; ++i) printf("# %s\n", command->benchmarks[i].name);
}

typedef struct {
  int rows, any_wrong;
} tally;

/* One table: a benchmark with some of the ranks. */
typedef struct {
  char name[kNameMost]; /* For messages: "IMB-MPI1 Allreduce". */
  const field_imb_command* command;
  const field_imb_benchmark* benchmark;
  MPI_Comm comm;
  int members, ranks;
  int as_json;
  tally* all; /* All tables of the run share it. */
} table;

static int has_size(const table* t) { return t->benchmark->kind->gives != kFieldNothing; }
static int overlaps(const table* t) { return t->command->is_nonblocking && !t->benchmark->is_pure; }
static int has_defects(const table* t) { return t->command->is_checked && has_size(t); }

static void print_rule(const table* t) {
  const int columns = (has_size(t) ? 1 : 0) + 1 + (overlaps(t) ? 4 : 3) + has_defects(t);
  printf("#");
  for (int i = 1; i < columns * kWidth; ++i) printf("-");
  printf("\n");
}

static void print_head(const table* t) {
  static const char* const kRange[] = {"t_min[usec]", "t_max[usec]", "t_avg[usec]", NULL};
  static const char* const kOverlap[] = {"t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", " overlap[%]", NULL};
  printf("\n");
  print_rule(t);
  printf("# Benchmarking %s \n# #processes = %d \n", t->benchmark->name, t->members);
  if (t->members < t->ranks)
    printf("# ( %d additional process%s waiting in MPI_Barrier)\n", t->ranks - t->members,
           t->ranks - t->members == 1 ? "" : "es");
  print_rule(t);
  if (has_size(t)) printf("%*s", kWidth, "#bytes");
  printf("%*s", kWidth, "#repetitions");
  for (const char* const* name = overlaps(t) ? kOverlap : kRange; *name != NULL; ++name) printf("%*s", kWidth, *name);
  if (has_defects(t)) printf("%*s", kWidth, "defects");
  printf("\n");
  fflush(stdout);
}

static void print_row(const table* t, const field_cell* cell, const field_result* result) {
  if (has_size(t)) printf("%*zu", kWidth, cell->bytes);
  printf("%*d", kWidth, result->iterations);
  if (overlaps(t)) {
    // The rank that takes longest speaks for all.
    const field_times* slowest = &result->of_rank[0];
    for (int rank = 1; rank < result->ranks; ++rank)
      if (result->of_rank[rank].overall > slowest->overall) slowest = &result->of_rank[rank];
    const double longer = slowest->pure > slowest->compute ? slowest->pure : slowest->compute;
    double hidden = longer > 0 ? (slowest->pure + slowest->compute - slowest->overall) / longer : 0;
    hidden = hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
    printf("%*.2f%*.2f%*.2f%*.2f", kWidth, slowest->overall, kWidth, slowest->pure, kWidth, slowest->compute, kWidth,
           100 * hidden);
  } else {
    const field_range pure = FIELD_RANGE(result, pure);
    printf("%*.2f%*.2f%*.2f", kWidth, pure.least, kWidth, pure.greatest, kWidth, pure.mean);
  }
  if (has_defects(t)) printf("%*.2f", kWidth, (double)result->errors);
  printf("\n");
  fflush(stdout);
}

static int iterations_of(const field_imb_command* command, size_t bytes) {
  const long fitting = bytes == 0 ? command->iterations : (command->volume_mb << 20) / (long)bytes;
  const long least = fitting < 1 ? 1 : fitting;
  return (int)(least < command->iterations ? least : command->iterations);
}

/* @return -1: this size and the larger ones are left out. */
static int measure_row(const table* t, size_t bytes) {
  const int iterations = iterations_of(t->command, bytes), part = iterations / kWarmupPart;
  const field_cell cell = {.name = t->name,
                           .options = &kOptions,
                           .kind = t->benchmark->kind,
                           .comm = t->comm,
                           .bytes = bytes,
                           .iterations = iterations,
                           .warmup = part > kWarmupLeast ? part : kWarmupLeast,
                           .is_checked = t->command->is_checked,
                           .overlaps = overlaps(t),
                           .is_pure = t->benchmark->is_pure,
                           .seconds_max = t->command->seconds,
                           .memory_max = t->command->memory_gb * (double)(1 << 30)};
  int rank;
  MPI_Comm_rank(t->comm, &rank);
  field_result result;
  if (field_measure(&cell, &result) != 0) return -1;
  if (rank == 0 && t->as_json) field_print_json(&cell, &result);
  if (rank == 0 && !t->as_json) print_row(t, &cell, &result);
  t->all->any_wrong |= result.errors != 0;
  ++t->all->rows;
  field_result_end(&result);
  return 0;
}

static void measure_table(const table* t) {
  int rank;
  MPI_Comm_rank(t->comm, &rank);
  if (rank == 0 && !t->as_json) print_head(t);
  int status = measure_row(t, 0);
  for (int exponent = t->command->exponent_min; has_size(t) && status == 0 && exponent <= t->command->exponent_max;
       ++exponent) {
    const size_t bytes = (size_t)1 << exponent;
    if (t->benchmark->kind->reduces && bytes < sizeof(float)) continue;
    status = measure_row(t, bytes);
  }
}

/* The first ranks, -npmin of them and then twice as many each time, have a communicator, while the others wait in a barrier
 * of MPI_COMM_WORLD; at last all ranks use MPI_COMM_WORLD itself. */
static void measure_tables(table t, int rank) {
  for (t.members = t.command->ranks_min; t.members < t.ranks; t.members *= 2) {
    MPI_Comm_split(MPI_COMM_WORLD, rank < t.members ? 0 : MPI_UNDEFINED, rank, &t.comm);
    if (t.comm != MPI_COMM_NULL) {
      measure_table(&t);
      MPI_Comm_free(&t.comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  t.members = t.ranks;
  t.comm = MPI_COMM_WORLD;
  measure_table(&t);
}

int field_imb_run(const char* name, int argc, char** argv, const field_imb_command* command, int as_json) {
  int rank, ranks;
  tally all = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0 && !as_json) print_first_lines(name, argc, argv, command);
  if (command->is_nonblocking) field_calibrate();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < command->count; ++i) {
    table one = {
        .command = command, .benchmark = &command->benchmarks[i], .ranks = ranks, .as_json = as_json, .all = &all};
    snprintf(one.name, sizeof one.name, "%s %s", name, one.benchmark->name);
    measure_tables(one, rank);
  }
  if (rank == 0 && !as_json) printf("\n\n# All processes entering MPI_Finalize\n\n");
  return all.any_wrong ? 1 : all.rows == 0 ? 2 : 0;
}
