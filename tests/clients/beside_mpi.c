/* Two jobs in one process. MPI's collectives go through Open MPI's component, which contains the client library, and
 * the program opens libsharp_coll.so beside it, as a plugin does. Both add up in turns and have operations under way
 * at the same time; a forked child harms neither; MPI's collectives go on when the library's job is over and the
 * library is closed. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oob.h"

static struct {
  int (*init)(struct sharp_coll_init_spec*, struct sharp_coll_context**);
  int (*finalize)(struct sharp_coll_context*);
  int (*comm_init)(struct sharp_coll_context*, struct sharp_coll_comm_init_spec*, struct sharp_coll_comm**);
  int (*comm_destroy)(struct sharp_coll_comm*);
  int (*do_allreduce_nb)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*, void**);
  int (*req_wait)(void*);
  const struct sharp_coll_config* default_config;
} sharp;

static void find(void* library, const char* name, void* to) {
  void* found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s is missing\n", name);
  MUST(found != NULL);
  memcpy(to, &found, sizeof found);
}

static void* load(void) {
  void* library = dlopen("libsharp_coll.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  MUST(library != NULL);
  find(library, "sharp_coll_init", &sharp.init);
  find(library, "sharp_coll_finalize", &sharp.finalize);
  find(library, "sharp_coll_comm_init", &sharp.comm_init);
  find(library, "sharp_coll_comm_destroy", &sharp.comm_destroy);
  find(library, "sharp_coll_do_allreduce_nb", &sharp.do_allreduce_nb);
  find(library, "sharp_coll_req_wait", &sharp.req_wait);
  find(library, "sharp_coll_default_config", &sharp.default_config);
  return library;
}

static void fill(int64_t* in, int64_t* out, size_t count, int rank, int round) {
  for (size_t i = 0; i < count; ++i) in[i] = (int64_t)i + rank + round, out[i] = -1;
}
static int is_sum(const int64_t* out, size_t count, int size, int round) {
  for (size_t i = 0; i < count; ++i)
    if (out[i] != (int64_t)size * ((int64_t)i + round) + (int64_t)size * (size - 1) / 2) return 0;
  return 1;
}

static void of_mpi(int rank, int size, int round) {
  int64_t in[100], out[100];
  fill(in, out, 100, rank, round);
  MUST(MPI_Allreduce(in, out, 100, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  MUST(is_sum(out, 100, size, round));
}

/* Posts a sum of the library's, does one of MPI's, and waits for the first. */
static void both(struct sharp_coll_comm* comm, size_t count, int rank, int size, int round) {
  int64_t *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
  MUST(in != NULL && out != NULL);
  fill(in, out, count, rank, round);
  struct sharp_coll_reduce_spec sum;
  POISON(sum);
  describe(&sum.sbuf_desc, in, count * sizeof *in, NULL);
  describe(&sum.rbuf_desc, out, count * sizeof *out, NULL);
  sum.dtype = SHARP_DTYPE_LONG;
  sum.length = count;
  sum.op = SHARP_OP_SUM;
  sum.aggr_mode = SHARP_AGGREGATION_NONE;
  void* request = NULL;
  MUST(sharp.do_allreduce_nb(comm, &sum, &request) == SHARP_COLL_SUCCESS);
  of_mpi(rank, size, round);
  MUST(sharp.req_wait(request) == SHARP_COLL_SUCCESS);
  MUST(is_sum(out, count, size, round));
  free(in);
  free(out);
}

/* The child ends through exit(), so that every handler and destructor of both copies of the client runs in it. */
static void fork_once(void) {
  const pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) exit(7);
  int status = 0;
  MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  of_mpi(rank, size, 0); /* the component begins its job first */
  for (int life = 0; life < 2; ++life) {
    void* library = load();
    struct sharp_coll_init_spec init;
    memset(&init, 0, sizeof init);
    describe_job(&init, &world, rank, size);
    init.config = *sharp.default_config;
    struct sharp_coll_context* context = NULL;
    MUST(sharp.init(&init, &context) == SHARP_COLL_SUCCESS);
    struct sharp_coll_comm_init_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.rank = rank;
    spec.size = size;
    spec.oob_ctx = &world;
    struct sharp_coll_comm* comm = NULL;
    MUST(sharp.comm_init(context, &spec, &comm) == SHARP_COLL_SUCCESS);
    for (int round = 0; round < 50; ++round) {
      both(comm, round % 5 == 0 ? 40000 : (size_t)round + 1, rank, size, round);
      if (round == 25) fork_once();
    }
    MUST(sharp.comm_destroy(comm) == SHARP_COLL_SUCCESS);
    MUST(sharp.finalize(context) == SHARP_COLL_SUCCESS);
    MUST(dlclose(library) == 0);
    for (int round = 0; round < 20; ++round) of_mpi(rank, size, round);
  }
  if (rank == 0) puts("beside-mpi: passed");
  MPI_Finalize();
  return 0;
}
