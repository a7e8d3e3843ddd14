#include "bench/field/osu.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/field/rows.h"
#include "bench/field/words.h"

enum { kWidth = 18 };

static const field_options kOptions = {.sizes = "-m", .iterations = "-i", .memory = "-M"};

static const struct option kLong[] = {{"message-size", required_argument, NULL, 'm'},
                                      {"iterations", required_argument, NULL, 'i'},
                                      {"warmup", required_argument, NULL, 'x'},
                                      {"full", no_argument, NULL, 'f'},
                                      {"validation", no_argument, NULL, 'c'},
                                      {"mem-limit", required_argument, NULL, 'M'},
                                      {"num-test-calls", required_argument, NULL, 't'},
                                      {"window-size", required_argument, NULL, 'W'},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, 'v'},
                                      {NULL, 0, NULL, 0}};

static void help_of_pair(const field_pair_kind* pair) {
  printf(
      "Usage: sumac bench %s [options]     2 ranks; the MPI alone carries the messages\n"
      "options:\n"
      "  -m [MIN:]MAX  sizes in bytes, doubled from MIN to MAX; K, M and G may follow (128, 2:128, 8:1M, 2:) "
      "[%zu:4194304]\n"
      "  -i ITER       iterations of each size [%ld; %ld above 8192 bytes]\n"
      "  -x ITER       warm-up iterations before, which do not count [%ld; %ld above 8192 bytes]\n",
      pair->name, pair->bytes_min, pair->iterations, pair->iterations_large, pair->warmup, pair->warmup_large);
  if (!pair->goes_back) printf("  -W COUNT      messages that are under way at a time [64]\n");
  printf(
      "  -c            check every message; a column says Pass or Fail, and the exit status is 1 after a Fail\n"
      "  -M SIZE       memory that a process may use for its buffers; larger sizes are left out [512M]\n"
      "  -h, -v        this text; the version\n");
}

void field_osu_help(const char* name) {
  if (field_find_pair(name) != NULL) {
    help_of_pair(field_find_pair(name));
    return;
  }
  printf(
      "Usage: sumac bench %s [options]\n"
      "options:\n"
      "  -m [MIN:]MAX  sizes in bytes, doubled from MIN to MAX; K, M and G may follow (128, 2:128, 8:1M, 2:)\n"
      "                [1:1048576; 4:1048576 for sums, which are of floats: MIN is rounded down to whole ones]\n"
      "  -i ITER       iterations of each size [1000; 100 above 8192 bytes]\n"
      "  -x ITER       warm-up iterations before, which do not count [200; 10 above 8192 bytes]\n"
      "  -f            full table: also the fastest and the slowest rank and the iterations, or the parts of the\n"
      "                overall time of a nonblocking collective\n"
      "  -c            check every result; a column says Pass or Fail, and the exit status is 1 after a Fail\n"
      "  -M SIZE       memory that a process may use for its buffers; larger sizes are left out [512M]\n"
      "  -t CALLS      calls of MPI_Test during the computation beside a nonblocking collective [0]\n"
      "  -h, -v        this text; the version\n",
      name);
}

static int take(field_osu_command* command, int letter, const char* value) {
  switch (letter) {
    case 'm': return field_parse_sizes(value, &command->bytes_min, &command->bytes_max);
    case 'M': {
      size_t unused = 1;
      return field_parse_sizes(value, &unused, &command->memory_max);
    }
    case 'i':
      if (field_parse_number(value, 1, &command->iterations) != 0) return -1;
      command->iterations_large = command->iterations;
      return 0;
    case 'x':
      if (field_parse_number(value, 0, &command->warmup) != 0) return -1;
      command->warmup_large = command->warmup;
      return 0;
    case 't': return field_parse_number(value, 0, &command->tests);
    case 'W':
      return field_parse_number(value, 1, &command->window) == 0 && command->window <= kFieldWindowMost ? 0 : -1;
    case 'f': return command->is_full = 1, 0;
    case 'c': return command->is_checked = 1, 0;
    case 'h': return command->help = 1, 0;
    default: return command->version = 1, 0;
  }
}

static void name_known(const char* name, char* error, size_t error_bytes) {
  int at = snprintf(error, error_bytes, "no benchmark %s: known are", name);
  for (int i = 0; i < kFieldKinds && at > 0 && (size_t)at < error_bytes; ++i)
    at += snprintf(error + at, error_bytes - (size_t)at, " osu_%s,", kFieldTable[i].name);
  if (at > 0 && (size_t)at < error_bytes)
    at += snprintf(error + at, error_bytes - (size_t)at, " each with an i in front (osu_ibcast),");
  for (int i = 0; i < kFieldPairs && at > 0 && (size_t)at < error_bytes; ++i)
    at += snprintf(error + at, error_bytes - (size_t)at, " %s,", kFieldPairTable[i].name);
  if (at > 0 && (size_t)at < error_bytes)
    snprintf(error + at, error_bytes - (size_t)at, " IMB-MPI1, IMB-NBC, mpi_overhead");
}

/* Names the option that getopt_long refused with `letter` (':': its value is missing). `word` is the last one that it passed:
 * not the word of an unknown letter within a group (-zf), which only `optopt` names; that is 0 for a long name. */
static void name_option(const char* name, const char* letters, int letter, const char* word, char* error,
                        size_t error_bytes) {
  const char short_option[] = {'-', (char)optopt, '\0'};
  const int is_known = optopt != 0 && strchr(letters, optopt) != NULL;
  const int is_long = optopt == 0 || (is_known && strncmp(word, "--", 2) == 0);
  const char* option = is_long ? word : short_option;
  if (letter == ':')
    snprintf(error, error_bytes, "%s: %s needs a value: see `sumac bench %s -h`", name, option, name);
  else if (is_known)
    snprintf(error, error_bytes, "%s: %s takes no value: see `sumac bench %s -h`", name, option, name);
  else
    snprintf(error, error_bytes, "%s: no option %s: see `sumac bench %s -h`", name, option, name);
}

/* The options of the other programs are unknown here: -W of a collective, -f and -t of a pair, -W of osu_latency. */
static const char* letters_of(const field_osu_command* command) {
  if (command->pair == NULL) return ":m:i:x:fcM:t:hv";
  return command->pair->goes_back ? ":m:i:x:cM:hv" : ":m:i:x:cM:W:hv";
}

static const char* long_name(int letter) {
  const struct option* one = kLong;
  while (one->name != NULL && one->val != letter) ++one;
  return one->name;
}

static void set_defaults(field_osu_command* command) {
  const field_pair_kind* pair = command->pair;
  command->bytes_min = pair != NULL ? pair->bytes_min : 1;
  command->bytes_max = (size_t)(pair != NULL ? 4 : 1) << 20;
  command->memory_max = (size_t)512 << 20;
  command->iterations = pair != NULL ? pair->iterations : 1000;
  command->iterations_large = pair != NULL ? pair->iterations_large : 100;
  command->warmup = pair != NULL ? pair->warmup : 200;
  command->warmup_large = pair != NULL ? pair->warmup_large : 10;
  command->window = 64;
}

int field_osu_parse(const char* name, int argc, char** argv, field_osu_command* command, char* error,
                    size_t error_bytes) {
  *command = (field_osu_command){.pair = field_find_pair(name)};
  command->kind = field_find_osu(name, &command->is_nonblocking);
  if (command->kind == NULL && command->pair == NULL) return name_known(name, error, error_bytes), -1;
  set_defaults(command);
  const size_t size_least = command->bytes_min;
  const char* letters = letters_of(command);
  int letter;
  opterr = 0;
  optind = 0;  // getopt begins anew
  while ((letter = getopt_long(argc, argv, letters, kLong, NULL)) != -1) {
    if (letter == ':' || letter == '?')
      return name_option(name, letters, letter, argv[optind - 1], error, error_bytes), -1;
    // getopt knows every long name, whatever program it belongs to.
    if (strchr(letters, letter) == NULL)
      return snprintf(error, error_bytes, "%s: no option --%s: see `sumac bench %s -h`", name, long_name(letter), name),
             -1;
    if (take(command, letter, optarg) == 0) continue;
    if (letter == 'm' || letter == 'M')
      return snprintf(error, error_bytes, "%s: -%c %s: give sizes such as 8, 4:64K or 1M, from %zu to 1G", name, letter,
                      optarg, letter == 'M' ? (size_t)1 : size_least),
             -1;
    return snprintf(error, error_bytes, "%s: -%c %s: give a whole number from %d to %d", name, letter, optarg,
                    letter == 'i' || letter == 'W', letter == 'W' ? (int)kFieldWindowMost : (int)kFieldNumberMost),
           -1;
  }
  if (optind < argc)
    return snprintf(error, error_bytes, "%s: %s is no option: see `sumac bench %s -h`", name, argv[optind], name), -1;
  if (command->pair != NULL) return 0;
  if (command->is_checked && command->kind->gives == kFieldNothing)
    return snprintf(error, error_bytes, "%s: -c: a barrier has no data to check: leave -c out", name), -1;
  const size_t element = command->kind->reduces ? sizeof(float) : 1;
  if (command->bytes_min < element) command->bytes_min = element;
  if (command->bytes_max < command->bytes_min)
    return snprintf(error, error_bytes, "%s: -m: the largest size must have room for one element of %zu bytes", name,
                    element),
           -1;
  command->bytes_min -= command->bytes_min % element;
  return 0;
}

static int has_size(const field_osu_command* command) { return command->kind->gives != kFieldNothing; }

void field_osu_title(const field_osu_command* command) {
  if (command->pair != NULL)
    printf("# OSU MPI %s Test v%s\n", command->pair->title, SUMAC_VERSION "-sumac");
  else if (command->is_nonblocking)
    printf("# OSU MPI Non-blocking %s Latency Test v%s\n", command->kind->osu_nonblocking_title,
           SUMAC_VERSION "-sumac");
  else
    printf("# OSU MPI %s Latency Test v%s\n", command->kind->osu_title, SUMAC_VERSION "-sumac");
}

static void print_names(const char* const* names) {
  for (; *names != NULL; ++names) printf("%*s", kWidth, *names);
}

static void print_head(const field_osu_command* command) {
  static const char* const kFull[] = {
      "Compute(us)", "Coll. Init(us)", "MPI_Test(us)", "MPI_Wait(us)", "Pure Comm.(us)", "Overlap(%)", NULL};
  static const char* const kShort[] = {"Compute(us)", "Pure Comm.(us)", "Overlap(%)", NULL};
  printf("\n");
  field_osu_title(command);
  if (command->is_nonblocking) {
    printf("# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n");
    if (has_size(command)) printf("%-10s", "# Size");
    printf("%*s", kWidth, "Overall(us)");
    print_names(command->is_full ? kFull : kShort);
  } else {
    if (has_size(command))
      printf("%-10s%*s", "# Size", kWidth, "Avg Latency(us)");
    else
      printf("# Avg Latency(us)");
    if (command->is_full) printf("%*s%*s%12s", kWidth, "Min Latency(us)", kWidth, "Max Latency(us)", "Iterations");
  }
  if (command->is_checked) printf("%*s", kWidth, "Validation");
  printf("\n");
  fflush(stdout);
}

static void print_time(int width, double us) { printf("%*.2f", width, us); }

static void print_row(const field_osu_command* command, const field_cell* cell, const field_result* result) {
  const field_range pure = FIELD_RANGE(result, pure);
  if (has_size(command)) printf("%-10zu", cell->bytes);
  if (command->is_nonblocking) {
    const double overall = FIELD_RANGE(result, overall).mean, compute = FIELD_RANGE(result, compute).mean;
    print_time(kWidth, overall);
    print_time(kWidth, compute);
    if (command->is_full) {
      print_time(kWidth, FIELD_RANGE(result, post).mean);
      print_time(kWidth, FIELD_RANGE(result, test).mean);
      print_time(kWidth, FIELD_RANGE(result, wait).mean);
    }
    print_time(kWidth, pure.mean);
    print_time(kWidth, field_overlap(overall, compute, pure.mean));
  } else {
    // OSU's program for barriers has this column one narrower.
    print_time(has_size(command) ? kWidth : kWidth - 1, pure.mean);
    if (command->is_full) printf("%*.2f%*.2f%12d", kWidth, pure.least, kWidth, pure.greatest, result->iterations);
  }
  if (command->is_checked) printf("%*s", kWidth, result->errors == 0 ? "Pass" : "Fail");
  printf("\n");
  fflush(stdout);
}

int field_osu_run(const char* name, const field_osu_command* command, int as_json) {
  if (command->pair != NULL) return field_pair_run(command);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (command->is_nonblocking) field_calibrate();
  if (rank == 0 && !as_json) print_head(command);
  int rows = 0, any_wrong = 0;
  const size_t first = has_size(command) ? command->bytes_min : 0, last = has_size(command) ? command->bytes_max : 0;
  for (size_t bytes = first; bytes <= last; bytes = bytes == 0 ? 1 : bytes * 2) {
    const int is_large = bytes > kFieldOsuLargeBytes;
    field_cell cell = {.name = name,
                       .options = &kOptions,
                       .kind = command->kind,
                       .comm = MPI_COMM_WORLD,
                       .bytes = bytes,
                       .iterations = (int)(is_large ? command->iterations_large : command->iterations),
                       .warmup = (int)(is_large ? command->warmup_large : command->warmup),
                       .is_checked = command->is_checked,
                       .overlaps = command->is_nonblocking,
                       .tests = (int)command->tests,
                       .memory_max = (double)command->memory_max};
    field_result result;
    if (field_measure(&cell, &result) != 0) break;
    if (rank == 0 && as_json) field_print_json(&cell, &result);
    if (rank == 0 && !as_json) print_row(command, &cell, &result);
    any_wrong |= result.errors != 0;
    ++rows;
    field_result_end(&result);
  }
  return any_wrong ? 1 : rows == 0 ? 2 : 0;
}
