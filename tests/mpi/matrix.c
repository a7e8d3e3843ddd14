/* Tests every predefined type and operation, in several sizes, in place and not, on several communicators:
 * MPI_Allreduce is compared with the same reduction done here, one rank after the other, from all ranks' inputs. The
 * program prints one line and fails on the first difference. `matrix quick` leaves out large vectors, and tries each pair of
 * type and operation on MPI_COMM_WORLD and one other communicator.
 *
 * Integers must be equal; floats may differ by `members` roundings of the largest sum of magnitudes, since the tree
 * chooses the order of adding. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct double_int {
  double value;
  int tag;
};
struct float_int {
  float value;
  int tag;
};
struct long_int {
  long value;
  int tag;
};
struct two_int {
  int value;
  int tag;
};

enum family {
  FAMILY_INTEGER,
  FAMILY_FLOAT,
  FAMILY_DOUBLE,
  FAMILY_BYTE,
  FAMILY_PAIR,
  FAMILY_COMPLEX_FLOAT,
  FAMILY_COMPLEX_DOUBLE,
  FAMILY_BOOL
};

struct type {
  const char* name;
  MPI_Datatype type;
  enum family family;
};
struct op {
  const char* name;
  MPI_Op op;
  int integers, floats, pairs, bits, complexes;
};

static uint64_t state = 88172645463325252ull;
static uint64_t draw(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* Open MPI 4.1 adds and multiplies 8- and 16-bit integers with saturation if AVX is available and wraps elsewhere,
 * so its own results depend on the order; the tree wraps. Those inputs stay small enough for both to be right. */
static int narrow_arithmetic(const struct type* type, const struct op* op, size_t extent) {
  return FAMILY_INTEGER == type->family && extent < 4 && (MPI_SUM == op->op || MPI_PROD == op->op);
}

static void fill(void* buffer, const struct type* type, const struct op* op, size_t count, size_t extent) {
  unsigned char* bytes = buffer;
  memset(bytes, 0, count * extent);
  for (size_t i = 0; i < count; ++i) {
    unsigned char* at = bytes + i * extent;
    switch (type->family) {
      case FAMILY_INTEGER:
      case FAMILY_BYTE:
        if (narrow_arithmetic(type, op, extent)) {
          at[0] = (unsigned char)(MPI_SUM == op->op ? draw() % 7 : draw() % 8 > 0);
          break;
        }
        for (size_t b = 0; b < extent; ++b) at[b] = (unsigned char)(draw() >> 24);
        /* Open MPI 4.1.4 compares MPI_UNSIGNED_LONG (not MPI_UINT64_T) as if it were signed. */
        if (MPI_UNSIGNED_LONG == type->type) at[extent - 1] &= 0x7f;
        break;
      case FAMILY_BOOL: at[0] = draw() >> 20 & 1; break;
      case FAMILY_FLOAT: {
        float v = (float)((double)(int64_t)(draw() >> 40) / 65536.0 - 128.0);
        memcpy(at, &v, sizeof v);
        break;
      }
      case FAMILY_DOUBLE: {
        double v = (double)(int64_t)(draw() >> 30) / 65536.0 - 1000.0;
        memcpy(at, &v, sizeof v);
        break;
      }
      case FAMILY_COMPLEX_FLOAT: {
        float v[2] = {(float)(draw() % 1000) / 7, (float)(draw() % 1000) / 9};
        memcpy(at, v, sizeof v);
        break;
      }
      case FAMILY_COMPLEX_DOUBLE: {
        double v[2] = {(double)(draw() % 1000) / 7, (double)(draw() % 1000) / 9};
        memcpy(at, v, sizeof v);
        break;
      }
      case FAMILY_PAIR:
        if (type->type == MPI_DOUBLE_INT) {
          struct double_int p = {.value = (double)(draw() % 50), .tag = (int)(draw() % 100)};
          at[0] = 0;
          memcpy(at, &p.value, 8);
          memcpy(at + 8, &p.tag, 4);
        }
        if (type->type == MPI_FLOAT_INT) {
          struct float_int p = {(float)(draw() % 50), (int)(draw() % 100)};
          memcpy(at, &p, sizeof p);
        }
        if (type->type == MPI_LONG_INT) {
          struct long_int p = {.value = (long)(draw() % 50), .tag = (int)(draw() % 100)};
          memcpy(at, &p.value, 8);
          memcpy(at + 8, &p.tag, 4);
        }
        if (type->type == MPI_2INT) {
          struct two_int p = {(int)(draw() % 50), (int)(draw() % 100)};
          memcpy(at, &p, sizeof p);
        }
        break;
    }
  }
}

static int close_enough(double a, double b, double scale, double epsilon, int members) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (a == b) return 1;
  return fabs(a - b) <= epsilon * members * (scale > fabs(b) ? scale : fabs(b));
}

static int same(const void* got, const void* want, const struct type* type, size_t count, size_t extent, int members) {
  if (FAMILY_FLOAT == type->family || FAMILY_COMPLEX_FLOAT == type->family) {
    const float *a = got, *b = want;
    for (size_t i = 0; i < count * extent / sizeof(float); ++i)
      if (!close_enough(a[i], b[i], 256.0 * members, 1.2e-7, members)) return 0;
    return 1;
  }
  if (FAMILY_DOUBLE == type->family || FAMILY_COMPLEX_DOUBLE == type->family) {
    const double *a = got, *b = want;
    for (size_t i = 0; i < count * extent / sizeof(double); ++i)
      if (!close_enough(a[i], b[i], 270000.0 * members, 2.3e-16, members)) return 0;
    return 1;
  }
  if (FAMILY_PAIR == type->family && 16 == extent) { /* the padding after the tag is undefined */
    const unsigned char *a = got, *b = want;
    for (size_t i = 0; i < count; ++i)
      if (0 != memcmp(a + 16 * i, b + 16 * i, 12)) return 0;
    return 1;
  }
  return 0 == memcmp(got, want, count * extent);
}

static long checks;

static void check(MPI_Comm comm, const char* comm_name, const struct type* type, const struct op* op, int count,
                  int in_place) {
  int rank, size;
  MPI_Aint lower, extent_;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Type_get_extent(type->type, &lower, &extent_);
  size_t extent = (size_t)extent_, bytes = extent * (size_t)count;
  char *mine = malloc(bytes + 1), *all = malloc(bytes * (size_t)size + 1), *want = malloc(bytes + 1),
       *got = malloc(bytes + 1);
  fill(mine, type, op, (size_t)count, extent);
  MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm);
  memcpy(want, all, bytes);
  for (int r = 1; r < size; ++r) MPI_Reduce_local(all + bytes * (size_t)r, want, count, type->type, op->op);
  int rc;
  if (in_place) {
    memcpy(got, mine, bytes);
    rc = MPI_Allreduce(MPI_IN_PLACE, got, count, type->type, op->op, comm);
  } else {
    memset(got, 0x5a, bytes);
    rc = MPI_Allreduce(mine, got, count, type->type, op->op, comm);
  }
  if (MPI_SUCCESS != rc || !same(got, want, type, (size_t)count, extent, size)) {
    fprintf(stderr, "matrix: WRONG on %s rank %d of %d: %s %s count %d%s rc %d\n", comm_name, rank, size, type->name,
            op->name, count, in_place ? " in place" : "", rc);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  ++checks;
  free(mine), free(all), free(want), free(got);
}

static int applies(const struct type* type, const struct op* op) {
  int logical = MPI_LAND == op->op || MPI_LOR == op->op || MPI_LXOR == op->op;
  switch (type->family) {
    case FAMILY_INTEGER:
      return op->integers && !(logical && MPI_INTEGER == type->type); /* Fortran's integers are not truth values */
    case FAMILY_FLOAT:
    case FAMILY_DOUBLE: return op->floats;
    case FAMILY_PAIR: return op->pairs;
    case FAMILY_BYTE: return op->bits;
    case FAMILY_BOOL: return logical;
    case FAMILY_COMPLEX_FLOAT:
    case FAMILY_COMPLEX_DOUBLE: return op->complexes;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, quick = argc > 1 && 0 == strcmp(argv[1], "quick");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state += 7919ull * (uint64_t)(rank + 1);
  const struct type types[] = {
      {"int8", MPI_INT8_T, FAMILY_INTEGER},
      {"uint8", MPI_UINT8_T, FAMILY_INTEGER},
      {"short", MPI_SHORT, FAMILY_INTEGER},
      {"unsigned short", MPI_UNSIGNED_SHORT, FAMILY_INTEGER},
      {"int", MPI_INT, FAMILY_INTEGER},
      {"unsigned", MPI_UNSIGNED, FAMILY_INTEGER},
      {"long", MPI_LONG, FAMILY_INTEGER},
      {"unsigned long", MPI_UNSIGNED_LONG, FAMILY_INTEGER},
      {"long long", MPI_LONG_LONG, FAMILY_INTEGER},
      {"integer", MPI_INTEGER, FAMILY_INTEGER},
      {"float", MPI_FLOAT, FAMILY_FLOAT},
      {"double", MPI_DOUBLE, FAMILY_DOUBLE},
      {"real", MPI_REAL, FAMILY_FLOAT},
      {"double precision", MPI_DOUBLE_PRECISION, FAMILY_DOUBLE},
      {"byte", MPI_BYTE, FAMILY_BYTE},
      {"c_bool", MPI_C_BOOL, FAMILY_BOOL},
      {"float complex", MPI_C_FLOAT_COMPLEX, FAMILY_COMPLEX_FLOAT},
      {"double complex", MPI_C_DOUBLE_COMPLEX, FAMILY_COMPLEX_DOUBLE},
      {"2int", MPI_2INT, FAMILY_PAIR},
      {"float_int", MPI_FLOAT_INT, FAMILY_PAIR},
      {"double_int", MPI_DOUBLE_INT, FAMILY_PAIR},
      {"long_int", MPI_LONG_INT, FAMILY_PAIR},
  };
  const struct op ops[] = {
      {"max", MPI_MAX, 1, 1, 0, 0, 0},   {"min", MPI_MIN, 1, 1, 0, 0, 0},       {"sum", MPI_SUM, 1, 1, 0, 0, 1},
      {"prod", MPI_PROD, 1, 0, 0, 0, 0}, {"land", MPI_LAND, 1, 0, 0, 0, 0},     {"band", MPI_BAND, 1, 0, 0, 1, 0},
      {"lor", MPI_LOR, 1, 0, 0, 0, 0},   {"bor", MPI_BOR, 1, 0, 0, 1, 0},       {"lxor", MPI_LXOR, 1, 0, 0, 0, 0},
      {"bxor", MPI_BXOR, 1, 0, 0, 1, 0}, {"maxloc", MPI_MAXLOC, 0, 0, 1, 0, 0}, {"minloc", MPI_MINLOC, 0, 0, 1, 0, 0},
  };
  MPI_Comm reversed, halves, duplicate;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
  const struct {
    const char* name;
    MPI_Comm comm;
  } comms[] = {{"world", MPI_COMM_WORLD}, {"duplicate", duplicate}, {"reversed", reversed}, {"halves", halves}};
  /* The sizes lie around one payload (1 KiB), several of them, the streaming threshold (16 KiB) and one chunk (64
   * KiB). */
  const int sizes[] = {0, 1, 3, 127, 128, 129, 1000, 4096, 16385, 70001};
  const int sizes_count = quick ? 7 : (int)(sizeof sizes / sizeof *sizes);
  for (size_t c = 0; c < sizeof comms / sizeof *comms; ++c) {
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
        if (!applies(&types[t], &ops[o]) || (quick && c > 0 && (t + o) % 3 != c - 1)) continue;
        for (int s = 0; s < sizes_count; ++s) {
          if (sizes[s] > 5000 && (c > 0 || (t + o) % 5 != 0)) continue;
          check(comms[c].comm, comms[c].name, &types[t], &ops[o], sizes[s], s % 2);
        }
      }
    }
    MPI_Barrier(comms[c].comm);
  }
  MPI_Comm_free(&halves);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&duplicate);
  if (0 == rank) printf("matrix: %ld reductions right on %d ranks\n", checks, size);
  MPI_Finalize();
  return 0;
}
