/* MINLOC and MAXLOC of MPI's pairs that the tree has a form of, C's and Fortran's. All ranks contribute one value where the lowest index
 * decides, and different ones elsewhere. Prints "pairs: 48 right on N ranks".
 * "long" adds the one pair that the tree has no form of. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 41 };

static int rank, size, wrong, right;

#define PAIR(Value, Index) \
  struct {                 \
    Value value;           \
    Index index;           \
  }

/* Rank r contributes the value (5 r + i) mod 7 and the index 100 - 3 r as element i. The best value wins, and of equal ones the
 * lowest index, which is the highest rank's. */
static int value_of(int r, int i) { return i % 4 == 3 ? 1 : (5 * r + i) % 7; }
static int index_of(int r) { return 100 - 3 * r; }

static int winner(int i, int is_max) {
  int best = 0;
  for (int r = 1; r < size; ++r) {
    const int by = value_of(r, i) - value_of(best, i);
    if (is_max ? by >= 0 : by <= 0) best = r;
  }
  return best;
}

#define CHECK(type, Value, Index)                                                                               \
  do {                                                                                                          \
    PAIR(Value, Index) in[COUNT], out[COUNT];                                                                   \
    for (int is_max = 0; is_max < 2; ++is_max) {                                                                \
      for (int count = 1; count <= COUNT; count += (COUNT - 1) / 2) {                                           \
        memset(in, 0, sizeof(in));                                                                              \
        memset(out, 0, sizeof(out));                                                                            \
        for (int i = 0; i < count; ++i) {                                                                       \
          in[i].value = (Value)value_of(rank, i);                                                               \
          in[i].index = (Index)index_of(rank);                                                                  \
        }                                                                                                       \
        MPI_Allreduce(in, out, count, type, is_max ? MPI_MAXLOC : MPI_MINLOC, MPI_COMM_WORLD);                  \
        int same = 1;                                                                                           \
        for (int i = 0; i < count; ++i) {                                                                       \
          const int best = winner(i, is_max);                                                                   \
          same = same && out[i].value == (Value)value_of(best, i) && out[i].index == (Index)index_of(best);     \
        }                                                                                                       \
        same ? ++right : ++wrong;                                                                               \
        if (!same) fprintf(stderr, "pairs: %s of %d, %s: wrong\n", #type, count, is_max ? "MAXLOC" : "MINLOC"); \
      }                                                                                                         \
    }                                                                                                           \
  } while (0)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(MPI_SHORT_INT, short, int);
  CHECK(MPI_2INT, int, int);
  CHECK(MPI_LONG_INT, long, int);
  CHECK(MPI_FLOAT_INT, float, int);
  CHECK(MPI_DOUBLE_INT, double, int);
  CHECK(MPI_2INTEGER, int, int);
  CHECK(MPI_2REAL, float, float);
  CHECK(MPI_2DOUBLE_PRECISION, double, double);
  if (argc > 1 && 0 == strcmp(argv[1], "long")) CHECK(MPI_LONG_DOUBLE_INT, long double, int);
  if (0 == rank && 0 == wrong) printf("pairs: %d right on %d ranks\n", right, size);
  MPI_Finalize();
  return wrong;
}
