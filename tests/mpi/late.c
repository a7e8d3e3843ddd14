/* The last rank comes late to a collective.
 *
 *   late fails     the others meet SUMAC_TIMEOUT first, each in an MPI_Allreduce, and so does the last one then
 *   late fails i   in an MPI_Iallreduce
 *   late FILE      the last one comes once the file names it: stderr goes there
 *
 * A failure must be of class MPI_ERR_OTHER, and the next call on the communicator must fail as well. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int rank, size;

static int sum(int nonblocking) {
  int mine = rank, all = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = nonblocking ? MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request)
                       : MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (nonblocking && MPI_SUCCESS == rc) {
    rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (MPI_SUCCESS == rc && size * (size - 1) / 2 != all) {
    printf("late: rank %d: the sum is wrong\n", rank);
    rc = MPI_ERR_UNKNOWN;
  }
  return rc;
}

/* Returns whether the code is one of a time limit, and prints its text. */
static int is_late(int rc) {
  char text[MPI_MAX_ERROR_STRING] = "no error";
  int class = MPI_SUCCESS, length = 0;
  if (MPI_SUCCESS != rc) {
    MPI_Error_class(rc, &class);
    MPI_Error_string(rc, text, &length);
  }
  printf("late: rank %d of %d: %s: %s\n", rank, size, MPI_ERR_OTHER == class ? "MPI_ERR_OTHER" : "another class", text);
#if defined(MPICH_NAME) /* 4.0 has another text for codes that are added to a class of MPI's own */
  return MPI_ERR_OTHER == class;
#else
  return MPI_ERR_OTHER == class && NULL != strstr(text, "timed out after");
#endif
}

static int fails(int nonblocking) {
  char word = 0;
  if (size - 1 == rank) {
    for (int i = 1; i < size; ++i) {
      MPI_Recv(&word, 1, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  /* The others have given their parts before they gave up, so the last one may have its sum; the next call fails. */
  const int first = sum(nonblocking);
  const int right = ((size - 1 == rank && MPI_SUCCESS == first) || is_late(first)) && is_late(sum(0));
  if (size - 1 != rank) {
    MPI_Send(&word, 1, MPI_CHAR, size - 1, 1, MPI_COMM_WORLD);
  }
  return right;
}

static int is_named(const char* file) {
  char text[1 << 16], words[64];
  snprintf(words, sizeof words, "rank %d has not begun it", size - 1);
  FILE* in = fopen(file, "r");
  size_t bytes = NULL == in ? 0 : fread(text, 1, sizeof text - 1, in);
  text[bytes] = '\0';
  if (NULL != in) {
    fclose(in);
  }
  return NULL != strstr(text, words);
}

static int comes(const char* file) {
  int named = size - 1 != rank;
  for (int i = 0; i < 6000 && !named; ++i) { /* a minute */
    const struct timespec little = {.tv_nsec = 10000000};
    nanosleep(&little, NULL);
    named = is_named(file);
  }
  return named && MPI_SUCCESS == sum(0) && MPI_SUCCESS == sum(0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int right = argc > 1 && MPI_SUCCESS == sum(0) && MPI_SUCCESS == sum(0);
  if (right) {
    right = 0 == strcmp(argv[1], "fails") ? fails(argc > 2) : comes(argv[1]);
  }
  printf("late: rank %d is %s\n", rank, right ? "right" : "wrong");
  MPI_Finalize();
  return right ? 0 : 1;
}
