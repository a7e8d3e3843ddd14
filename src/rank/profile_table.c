/* The printed profile. An example is in docs/profile.md. */
#include "rank/profile_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sumac_profile_cell) == 3 * sizeof(int64_t), "summed as an array of int64_t");

static const char* const class_names[SUMAC_PROFILE_CLASSES] = {
    "0 B", "<= 64 B", "<= 512 B", "<= 4 KiB", "<= 32 KiB", "<= 256 KiB", "<= 2 MiB", "<= 16 MiB", "> 16 MiB"};

int sumac_profile_class(uint64_t bytes) {
  int size_class = bytes > 0;
  for (uint64_t most = 64; size_class > 0 && size_class < SUMAC_PROFILE_CLASSES - 1 && bytes > most; most *= 8) {
    ++size_class;
  }
  return size_class;
}

const char* sumac_profile_class_name(int size_class) { return class_names[size_class]; }

static const char* coll_name(int coll) {
  switch (coll) {
    case SUMAC_PROFILE_REDUCE_SCATTER: return "reduce_scatter";
    case SUMAC_PROFILE_SCAN: return "scan";
    case SUMAC_PROFILE_EXSCAN: return "exscan";
    case SUMAC_PROFILE_ALLTOALLW: return "alltoallw";
    default: return sumac_coll_name(coll);
  }
}

void sumac_profile_name(int coll, int form, char name[40]) {
  snprintf(name, 40, "%s%s%s", SUMAC_FORM_NONBLOCKING == form ? "i" : "", coll_name(coll),
           SUMAC_FORM_PERSISTENT == form ? "_init" : "");
}

const char* sumac_profile_way_name(int way, const char* next) {
  switch (way) {
    case SUMAC_WAY_HOST: return "shared memory";
    case SUMAC_WAY_LEADERS: return "shared memory and leaders";
    case SUMAC_WAY_TREE: return "tree";
    case SUMAC_WAY_PASS: return next;
    default: return "no data";
  }
}

static const struct sumac_profile_cell* flat(const struct sumac_profile_table* table) {
  return &table->cells[0][0][0][0];
}

struct sumac_profile_kind sumac_profile_kind_of(size_t cell) {
  size_t at = cell / SUMAC_PROFILE_WAYS;
  return (struct sumac_profile_kind){.coll = (int)(at / SUMAC_PROFILE_CLASSES / SUMAC_FORMS),
                                     .form = (int)(at / SUMAC_PROFILE_CLASSES % SUMAC_FORMS),
                                     .size_class = (int)(at % SUMAC_PROFILE_CLASSES),
                                     .way = (int)(cell % SUMAC_PROFILE_WAYS)};
}

static void add(struct sumac_profile_cell* sum, const struct sumac_profile_cell* one) {
  sum->calls += one->calls;
  sum->bytes += one->bytes;
  sum->ns += one->ns;
}

void sumac_profile_count(struct sumac_profile_table* table, int coll, int form, int way, uint64_t bytes, int64_t ns) {
  const struct sumac_profile_cell one = {1, (int64_t)bytes, ns};
  add(&table->cells[coll][form][sumac_profile_class(bytes)][way], &one);
}

struct sumac_profile_cell sumac_profile_total(const struct sumac_profile_table* table) {
  struct sumac_profile_cell total = {0, 0, 0};
  for (size_t i = 0; i < SUMAC_PROFILE_CELLS; ++i) {
    add(&total, &flat(table)[i]);
  }
  return total;
}

/* True if the first row comes before the second: more time, or the same time and a smaller number. */
static int comes_first(const struct sumac_profile_row* a, const struct sumac_profile_row* b) {
  return a->sum.ns != b->sum.ns ? a->sum.ns > b->sum.ns : a->cell < b->cell;
}

int sumac_profile_rows(const struct sumac_profile_table* sum, struct sumac_profile_row* rows, int rows_max,
                       struct sumac_profile_cell* left_out, int* left_out_rows) {
  int count = 0;
  *left_out = (struct sumac_profile_cell){0, 0, 0};
  *left_out_rows = 0;
  for (size_t i = 0; i < SUMAC_PROFILE_CELLS; ++i) {
    struct sumac_profile_row row = {.cell = i, .sum = flat(sum)[i]};
    if (0 == row.sum.calls) {
      continue;
    }
    int at = count;
    while (at > 0 && comes_first(&row, &rows[at - 1])) {
      --at;
    }
    if (rows_max == count) { /* the row that now is the last one has no room */
      add(left_out, at < count ? &rows[count - 1].sum : &row.sum);
      ++*left_out_rows;
      if (at == count) {
        continue;
      }
      --count;
    }
    memmove(&rows[at + 1], &rows[at], sizeof(row) * (size_t)(count - at));
    rows[at] = row;
    ++count;
  }
  return count;
}

/* ---- numbers for people: three digits and a unit ---- */

static const char* scaled(double value, const char* unit, char text[24]) {
  snprintf(text, 24, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

static const char* time_text(double ns, char text[24]) {
  static const char* const units[] = {"ns", "us", "ms", "s"};
  size_t at = 0;
  for (; at < 3 && ns >= 999.5; ns /= 1000) {
    ++at;
  }
  return scaled(ns, units[at], text);
}

static const char* bytes_text(int64_t bytes, bool is_exact, char text[24]) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (is_exact || bytes < 1024) {
    snprintf(text, 24, "%" PRId64 " B", bytes);
    return text;
  }
  size_t at = 0;
  double value = (double)bytes;
  for (; at < 5 && value >= 1023.5; value /= 1024) {
    ++at;
  }
  return scaled(value, units[at], text);
}

static double percent(int64_t part, int64_t whole) { return whole > 0 ? 100.0 * (double)part / (double)whole : 0; }

#define ROW_FORMAT "  %-26s %-10s  %-25s %12s %*s %9s %6s %9s"

static int bytes_width(const struct sumac_profile* profile) { return profile->is_exact ? 18 : 10; }

static void print_cell(const struct sumac_profile* profile, FILE* out, const char* name, const char* size,
                       const char* way, const struct sumac_profile_cell* cell) {
  char calls[24], bytes[24], ns[24], share[24], mean[24];
  snprintf(calls, sizeof(calls), "%" PRId64, cell->calls);
  snprintf(share, sizeof(share), "%.1f %%", percent(cell->ns, profile->total.ns));
  fprintf(out, ROW_FORMAT, name, size, way, calls, bytes_width(profile),
          bytes_text(cell->bytes, profile->is_exact, bytes), time_text((double)cell->ns, ns), share,
          time_text(cell->calls > 0 ? (double)cell->ns / (double)cell->calls : 0, mean));
}

static void print_head(const struct sumac_profile* profile, FILE* out) {
  char wall[24], all[24], min[24], mean[24], max[24];
  fprintf(out, "sumac: profile: %d ranks on %d host%s, %s from MPI_Init to MPI_Finalize\n", profile->ranks,
          profile->hosts, 1 == profile->hosts ? "" : "s", time_text((double)profile->wall_ns_max, wall));
  fprintf(out, "  in collectives: %s of all ranks together, %.1f %% of their time\n",
          time_text((double)profile->total.ns, all), percent(profile->total.ns, profile->wall_ns_sum));
  fprintf(out, "  a rank: least %s, mean %s, most %s (rank %d on %s)\n", time_text((double)profile->ns_min, min),
          time_text((double)profile->total.ns / profile->ranks, mean), time_text((double)profile->slowest.ns, max),
          profile->slowest.rank, profile->slowest.host);
}

void sumac_profile_print(const struct sumac_profile* profile, FILE* out) {
  char name[40], ns[24];
  print_head(profile, out);
  if (0 == profile->total.calls) {
    fprintf(out, "  no collective was called\n");
    return;
  }
  fprintf(out, ROW_FORMAT "   slowest rank\n", "collective", "size", "way", "calls", bytes_width(profile), "bytes",
          "time", "share", "mean");
  for (int i = 0; i < profile->row_count; ++i) {
    const struct sumac_profile_row* row = &profile->rows[i];
    const struct sumac_profile_kind kind = sumac_profile_kind_of(row->cell);
    sumac_profile_name(kind.coll, kind.form, name);
    print_cell(profile, out, name, sumac_profile_class_name(kind.size_class),
               sumac_profile_way_name(kind.way, profile->next), &row->sum);
    fprintf(out, "   %d on %s: %s\n", row->slowest.rank, row->slowest.host, time_text((double)row->slowest.ns, ns));
  }
  if (profile->left_out_rows > 0) {
    snprintf(name, sizeof(name), "%d more row%s", profile->left_out_rows, 1 == profile->left_out_rows ? "" : "s");
    print_cell(profile, out, name, "", "", &profile->left_out);
    fprintf(out, "\n");
  }
  print_cell(profile, out, "all", "", "", &profile->total);
  fprintf(out, "\n");
}
