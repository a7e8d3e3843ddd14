/* The MPI programs of the tests are one executable, since linking each of them takes longer than compiling it. The name under which it is
 * started picks the program; each keeps a source of its own, which knows MPI alone. */
#include <stdio.h>
#include <string.h>

#define X(name) int mpi_##name(int argc, char** argv);
SUMAC_PROGRAMS
#undef X

static const struct {
  const char* name;
  int (*run)(int argc, char** argv);
} kPrograms[] = {
#define X(name) {#name, mpi_##name},
    SUMAC_PROGRAMS
#undef X
};

int main(int argc, char** argv) {
  const char* slash = strrchr(argv[0], '/');
  const char* name = slash ? slash + 1 : argv[0];
  for (size_t i = 0; i < sizeof kPrograms / sizeof *kPrograms; ++i)
    if (strcmp(kPrograms[i].name, name) == 0) return kPrograms[i].run(argc, argv);
  fprintf(stderr, "%s: there is no such MPI program in tests/mpi\n", name);
  return 2;
}
