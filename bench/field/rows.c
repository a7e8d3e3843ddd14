#include "bench/field/rows.h"

#include <stdio.h>
#include <string.h>

#include "bench/measure.h"

field_range field_range_of(const field_result* result, size_t offset) {
  field_range range = {0};
  for (int rank = 0; rank < result->ranks; ++rank) {
    double value;
    memcpy(&value, (const char*)&result->of_rank[rank] + offset, sizeof value);
    range.mean += value / result->ranks;
    if (rank == 0 || value < range.least) range.least = value;
    if (rank == 0 || value > range.greatest) range.greatest = value;
  }
  return range;
}

double field_overlap(double overall, double compute, double pure) {
  const double percent = pure > 0 ? 100 * (1 - (overall - compute) / pure) : 0;
  return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

void field_print_json(const field_cell* cell, const field_result* result) {
  const field_range pure = FIELD_RANGE(result, pure);
  const double overall = FIELD_RANGE(result, overall).mean, compute = FIELD_RANGE(result, compute).mean;
  const double median = bench_summarise(result->pure_of_iteration, (size_t)result->iterations).median;
  printf(
      "{\"benchmark\":\"%s%s%s\",\"bytes\":%zu,\"ranks\":%d,\"iterations\":%d,\"unit\":\"us\","
      "\"median\":%.4f,\"avg\":%.4f,\"min\":%.4f,\"max\":%.4f,",
      cell->overlaps || cell->is_pure ? "i" : "", cell->kind->name, cell->is_pure ? "_pure" : "", cell->bytes,
      result->ranks, result->iterations, median, pure.mean, pure.least, pure.greatest);
  if (cell->overlaps)
    printf("\"overall\":%.4f,\"compute\":%.4f,\"overlap\":%.2f,", overall, compute,
           field_overlap(overall, compute, pure.mean));
  printf("\"checked\":%s,\"errors\":%ld}\n", cell->is_checked ? "true" : "false", result->errors);
  fflush(stdout);
}
