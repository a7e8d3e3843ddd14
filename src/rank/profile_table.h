/* The table of a job's profile: calls, bytes and time of each kind of call. It knows no MPI and no clock: profile.c
 * fills it at each rank and sums it over the ranks. */
#ifndef SUMAC_RANK_PROFILE_TABLE_H
#define SUMAC_RANK_PROFILE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "team/team.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The collectives of a profile: those of a team with their numbers (enum sumac_coll), and those that every binding
 *  leaves to the MPI. */
enum sumac_profile_coll {
  SUMAC_PROFILE_REDUCE_SCATTER = SUMAC_COLLS,
  SUMAC_PROFILE_SCAN,
  SUMAC_PROFILE_EXSCAN,
  SUMAC_PROFILE_ALLTOALLW,
  SUMAC_PROFILE_COLLS
};

enum sumac_form { SUMAC_FORM_BLOCKING, SUMAC_FORM_NONBLOCKING, SUMAC_FORM_PERSISTENT, SUMAC_FORMS };

/** The ways of a profile: those of a team with their numbers (enum sumac_way), and one more. */
enum sumac_profile_way {
  SUMAC_PROFILE_NO_DATA = SUMAC_WAYS, /* the call had nothing to move, so it ended at once */
  SUMAC_PROFILE_WAYS
};

/** Size classes: no byte, at most 64 B, 512 B, 4 KiB, 32 KiB, 256 KiB, 2 MiB, 16 MiB, and more. */
#define SUMAC_PROFILE_CLASSES 9

/** Numbers of int64_t and nothing else: they are summed over ranks as an array. */
struct sumac_profile_cell {
  int64_t calls, bytes, ns;
};
struct sumac_profile_table {
  struct sumac_profile_cell cells[SUMAC_PROFILE_COLLS][SUMAC_FORMS][SUMAC_PROFILE_CLASSES][SUMAC_PROFILE_WAYS];
};
#define SUMAC_PROFILE_CELLS (sizeof(struct sumac_profile_table) / sizeof(struct sumac_profile_cell))

/** The kind of calls that a cell counts. */
struct sumac_profile_kind {
  int coll, form, size_class, way;
};
struct sumac_profile_kind sumac_profile_kind_of(size_t cell);

/** Returns the class of a call of so many bytes. */
int sumac_profile_class(uint64_t bytes);
/** Returns "<= 64 B". */
const char* sumac_profile_class_name(int size_class);
/** Writes the name of the MPI's function in lower case, without its prefix: "iallreduce", "allreduce_init". */
void sumac_profile_name(int coll, int form, char name[40]);
/** Returns "shared memory"; `next` is the name of the software that does the calls which are passed on. */
const char* sumac_profile_way_name(int way, const char* next);

void sumac_profile_count(struct sumac_profile_table* table, int coll, int form, int way, uint64_t bytes, int64_t ns);
/** Returns the sum of all cells. */
struct sumac_profile_cell sumac_profile_total(const struct sumac_profile_table* table);

/** The most rows of SUMAC_PROFILE=1; all others are summed up in one more. */
#define SUMAC_PROFILE_ROWS_MAX 20

/** A rank, and the time that it spent. */
struct sumac_profile_rank {
  int64_t ns;
  int rank;
  char host[64];
};

/** A row of the printed table: the cell's sum over all ranks, and the rank that spent most time there. */
struct sumac_profile_row {
  size_t cell;
  struct sumac_profile_cell sum;
  struct sumac_profile_rank slowest;
};

/** Stores the cells with the most time in `rows`, at most `rows_max`, in descending order, without their slowest ranks.
 *  Returns their number; `*left_out` has the sum of the others and `*left_out_rows` their number. */
int sumac_profile_rows(const struct sumac_profile_table* sum, struct sumac_profile_row* rows, int rows_max,
                       struct sumac_profile_cell* left_out, int* left_out_rows);

/** A whole profile, ready to be printed. */
struct sumac_profile {
  int ranks, hosts;
  int64_t wall_ns_max, wall_ns_sum; /* from MPI_Init to MPI_Finalize: the longest rank's, and the sum over all ranks */
  int64_t ns_min;                   /* the least time that a rank spent in collectives */
  struct sumac_profile_rank slowest;
  struct sumac_profile_cell total;
  struct sumac_profile_row rows[SUMAC_PROFILE_CELLS];
  int row_count, left_out_rows;
  struct sumac_profile_cell left_out;
  const char* next;
  bool is_exact; /* bytes are printed to the last one */
};
void sumac_profile_print(const struct sumac_profile* profile, FILE* out);

#ifdef __cplusplus
}
#endif

#endif
