/* One line of JSON for each row, instead of a table: for `sumac bench --compare`, whose numbers are medians. */
#ifndef SUMAC_BENCH_FIELD_ROWS_H
#define SUMAC_BENCH_FIELD_ROWS_H

#include "bench/field/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The mean over the ranks of one of their times; the least and the greatest, too. */
typedef struct {
  double mean, least, greatest;
} field_range;

field_range field_range_of(const field_result* result, size_t offset);
#define FIELD_RANGE(result, name) field_range_of(result, offsetof(field_times, name))

/** The overlap in percent: the part of the communication that the computation hid. */
double field_overlap(double overall, double compute, double pure);

/** Prints a row on stdout; rank 0 alone calls it. */
void field_print_json(const field_cell* cell, const field_result* result);

#ifdef __cplusplus
}
#endif
#endif
