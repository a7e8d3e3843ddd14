/* The programs of this folder print at rank 0 their results, with all bits, and their own time. */
#ifndef BENCH_APPS_RESULT_H
#define BENCH_APPS_RESULT_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* A number with the digits that every order of additions has in common, and all bits of it on a line of its own. */
static inline void print_number(const char* name, double value) {
  printf("RESULT %s %.9e\nBITS %s %a\n", name, value, name, value);
}

static inline void print_seconds(double began) { printf("SECONDS %.4f\n", MPI_Wtime() - began); }

/* The n-th word behind the program's name as a number. */
static inline int word(int argc, char** argv, int n, int otherwise) { return argc > n ? atoi(argv[n]) : otherwise; }

#endif
