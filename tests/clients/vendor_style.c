/* The calls of the shipped example: everything that caps advertises, sizes doubling, 512 operations outstanding,
 * lists of up to 15 buffers, reduce and bcast from each root, reduce-scatter and allgather in chunks; in groups of
 * the world, of it reversed, and of parts whose sizes are no powers of two. */
#include "oob.h"

#define OUTSTANDING 512

static int drive(void) {
  int flag = 0;

  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS ? flag : -1;
}

static size_t width_of(int type) {
  switch (type) {
    case SHARP_DTYPE_UNSIGNED_LONG:
    case SHARP_DTYPE_LONG:
    case SHARP_DTYPE_DOUBLE: return 8;
    case SHARP_DTYPE_UNSIGNED:
    case SHARP_DTYPE_INT:
    case SHARP_DTYPE_FLOAT: return 4;
    case SHARP_DTYPE_UINT8:
    case SHARP_DTYPE_INT8: return 1;
    default: return 2;
  }
}
static int is_float(int type) {
  return type == SHARP_DTYPE_FLOAT || type == SHARP_DTYPE_DOUBLE || type == SHARP_DTYPE_FLOAT_SHORT ||
         type == SHARP_DTYPE_BFLOAT16;
}

/* Stores rank + 1 in each element. 16-bit floats get a raw bit pattern, as in the vendor's test: their sum is that
 * of the patterns only if subnormal numbers are honoured. */
static void put(void* data, int type, size_t i, long value) {
  unsigned char* at = (unsigned char*)data + i * width_of(type);
  const float f = (float)value;
  const double d = (double)value;
  if (type == SHARP_DTYPE_FLOAT)
    memcpy(at, &f, sizeof f);
  else if (type == SHARP_DTYPE_DOUBLE)
    memcpy(at, &d, sizeof d);
  else
    memcpy(at, &value, width_of(type)); /* little-endian hosts: the low bytes come first */
}

/* Returns the result for `size` members with rank + 1 each. */
static long expected(int op, int size) {
  long all = 1;
  switch (op) {
    case SHARP_OP_MAX: return size;
    case SHARP_OP_MIN: return 1;
    case SHARP_OP_SUM: return (long)size * (size + 1) / 2;
    case SHARP_OP_PROD:
      for (int i = 2; i <= size; ++i) all *= i;
      return all;
    case SHARP_OP_LAND:
    case SHARP_OP_LOR: return 1;
    case SHARP_OP_LXOR: return size % 2;
    default: break;
  }
  for (int i = 2; i <= size; ++i) all = op == SHARP_OP_BAND ? (all & i) : op == SHARP_OP_BOR ? (all | i) : (all ^ i);
  return all;
}

/* Tests every type with every operation; illegal pairs are refused at every rank. */
static int complex_mode(struct sharp_coll_comm* group, const struct sharp_coll_caps* caps, int rank, int size) {
  int ran = 0;
  for (int type = 0; type < SHARP_DTYPE_NULL; ++type)
    for (int op = 0; op <= SHARP_OP_BXOR; ++op) {
      if ((caps->support_mask.dtypes >> type & 1) == 0 || (caps->support_mask.reduce_ops >> op & 1) == 0) continue;
      const int is_half = type == SHARP_DTYPE_FLOAT_SHORT || type == SHARP_DTYPE_BFLOAT16;
      if (is_half && op == SHARP_OP_PROD) continue; /* the product of two tiny numbers is no number */
      for (size_t bytes = 8; bytes <= 4096; bytes *= 2) {
        const size_t count = bytes / width_of(type);
        unsigned char in[4096], out[4096], want[4096];
        for (size_t i = 0; i < count; ++i) put(in, type, i, rank + 1), put(want, type, i, expected(op, size));
        struct sharp_coll_reduce_spec spec;
        POISON(spec);
        describe(&spec.sbuf_desc, in, bytes, NULL);
        describe(&spec.rbuf_desc, out, bytes, NULL);
        spec.dtype = (enum sharp_datatype)type;
        spec.op = (enum sharp_reduce_op)op;
        spec.length = count;
        spec.aggr_mode = SHARP_AGGREGATION_NONE;
        const int status = sharp_coll_do_allreduce(group, &spec);
        if (is_float(type) && op > SHARP_OP_PROD) {
          MUST(status == SHARP_COLL_ENOT_SUPP);
          continue;
        }
        if (status != 0 || memcmp(out, want, bytes) != 0)
          fprintf(stderr, "type %d op %d %zu bytes: %d\n", type, op, bytes, status);
        MUST(status == SHARP_COLL_SUCCESS && memcmp(out, want, bytes) == 0);
        ++ran;
      }
    }
  return ran;
}

/* Stores pairs of each type with each type of tag that caps advertises. Of three elements one is best at the last
 * rank, one at the first, and one is the same at all ranks, where the smallest tag wins; tags fall with the rank. */
static void put_pair(unsigned char* at, int type, int tag_type, size_t i, int rank, int size) {
  const long value = i % 3 == 0 ? rank + 1 : i % 3 == 1 ? size - rank : 9;
  const long tag = size - 1 - rank;
  put(at, type, 0, value);
  memcpy(at + width_of(type), &tag, width_of(tag_type));
}
static int pairs(struct sharp_coll_comm* group, const struct sharp_coll_caps* caps, int rank, int size) {
  int ran = 0;
  MUST(caps->sharp_pkt_version >= 1 && caps->support_mask.tag_dtypes != 0);
  for (int type = 0; type < SHARP_DTYPE_NULL; ++type)
    for (int tag = 0; tag < SHARP_DTYPE_NULL; ++tag)
      for (int op = SHARP_OP_MAXLOC; op <= SHARP_OP_MINLOC; ++op) {
        if ((caps->support_mask.dtypes >> type & 1) == 0 || (caps->support_mask.tag_dtypes >> tag & 1) == 0 ||
            (caps->support_mask.reduce_ops >> op & 1) == 0)
          continue;
        const size_t pair = width_of(type) + width_of(tag);
        for (size_t bytes = 16; bytes <= 4096; bytes *= 4) {
          const size_t count = bytes / pair;
          unsigned char in[4096], out[4096], want[4096];
          for (size_t i = 0; i < count; ++i) {
            const int rising = op == SHARP_OP_MAXLOC ? size - 1 : 0, falling = size - 1 - rising;
            put_pair(in + i * pair, type, tag, i, rank, size);
            put_pair(want + i * pair, type, tag, i, i % 3 == 0 ? rising : i % 3 == 1 ? falling : size - 1, size);
          }
          struct sharp_coll_reduce_spec spec;
          POISON(spec);
          describe(&spec.sbuf_desc, in, count * pair, NULL);
          describe(&spec.rbuf_desc, out, count * pair, NULL);
          spec.dtype = (enum sharp_datatype)type;
          spec.tag_dtype = (enum sharp_datatype)tag;
          spec.op = (enum sharp_reduce_op)op;
          spec.length = count;
          spec.aggr_mode = SHARP_AGGREGATION_NONE;
          const int status = sharp_coll_do_allreduce(group, &spec);
          if (status != 0 || memcmp(out, want, count * pair) != 0)
            fprintf(stderr, "type %d tag %d op %d %zu pairs: %d\n", type, tag, op, count, status);
          MUST(status == SHARP_COLL_SUCCESS && memcmp(out, want, count * pair) == 0);
          ++ran;
        }
      }
  return ran;
}

/* Uses each root, with whole buffers and with lists; the receive descriptor of a reduce is left unset at other
 * ranks. */
static void rooted(struct sharp_coll_comm* group, int rank, int size) {
  enum { kMost = 40000 };
  static unsigned short in[kMost], out[kMost];
  for (size_t count = 1; count <= kMost; count = count * 3 + 1)
    for (int root = 0; root < size; ++root) {
      struct sharp_data_iov cut[2] = {{in, count / 3 * 2, NULL}, {in + count / 3, (count - count / 3) * 2, NULL}};
      for (size_t i = 0; i < count; ++i) in[i] = (unsigned short)(i + (size_t)rank), out[i] = 7;
      struct sharp_coll_reduce_spec reduce;
      POISON(reduce);
      describe(&reduce.sbuf_desc, in, count * 2, NULL);
      if (rank == root) describe(&reduce.rbuf_desc, out, count * 2, NULL);
      reduce.root = root;
      reduce.dtype = SHARP_DTYPE_UNSIGNED_SHORT;
      reduce.op = SHARP_OP_SUM;
      reduce.length = count;
      reduce.aggr_mode = SHARP_AGGREGATION_NONE;
      MUST(sharp_coll_do_reduce(group, &reduce) == SHARP_COLL_SUCCESS);
      for (size_t i = 0; i < count; ++i)
        MUST(out[i] == (rank == root ? (unsigned short)((size_t)size * i + (size_t)(size * (size - 1) / 2)) : 7));
      struct sharp_coll_bcast_spec bcast;
      POISON(bcast);
      bcast.buf_desc.type = SHARP_DATA_IOV;
      bcast.buf_desc.mem_type = SHARP_MEM_TYPE_HOST;
      bcast.buf_desc.iov.count = 2;
      bcast.buf_desc.iov.vector = cut;
      bcast.root = root;
      bcast.size = count * 2;
      void* handle = NULL;
      MUST(sharp_coll_do_bcast_nb(group, &bcast, &handle) == SHARP_COLL_SUCCESS);
      MUST(sharp_coll_req_wait(handle) == SHARP_COLL_SUCCESS);
      for (size_t i = 0; i < count; ++i) MUST(in[i] == (unsigned short)(i + (size_t)root));
    }
}

/* Returns the offset within `rank`'s part of `part` bytes at which a chunk at `offset` begins. */
static size_t begin_in(size_t offset, size_t part, int rank) {
  const size_t own = part * (size_t)rank;
  return offset > own && offset < own + part ? offset - own : 0;
}

/* Goes chunk by chunk over a vector of `part` bytes for each member: the caller moves its own pointer on, while the
 * length that it passes stays that of the part. */
static void chunks(struct sharp_coll_comm* group, size_t part, size_t chunk, int rank, int size) {
  const size_t whole = part * (size_t)size;
  unsigned char *in = malloc(whole), *out = malloc(part), *all = malloc(whole), *mine = malloc(part);
  MUST(in != NULL && out != NULL && all != NULL && mine != NULL);
  for (size_t i = 0; i < whole; ++i) in[i] = (unsigned char)(i * 3 + (size_t)rank), all[i] = 0xEE;
  for (size_t i = 0; i < part; ++i) out[i] = 0xEE, mine[i] = (unsigned char)(i * 5 + (size_t)rank * 11);
  for (size_t offset = 0; offset < whole; offset += chunk) {
    const size_t window = offset + chunk < whole ? chunk : whole - offset, begin = begin_in(offset, part, rank);
    struct sharp_coll_reduce_spec scatter;
    POISON(scatter);
    describe(&scatter.sbuf_desc, in + offset, window, NULL);
    describe(&scatter.rbuf_desc, out + begin, part, NULL);
    scatter.dtype = SHARP_DTYPE_UINT8;
    scatter.op = SHARP_OP_SUM;
    scatter.length = part;
    scatter.offset = offset;
    scatter.aggr_mode = SHARP_AGGREGATION_NONE;
    MUST(sharp_coll_do_reduce_scatter(group, &scatter) == SHARP_COLL_SUCCESS);
    struct sharp_coll_gather_spec gather;
    POISON(gather);
    describe(&gather.sbuf_desc, mine + begin, part, NULL);
    describe(&gather.rbuf_desc, all + offset, window, NULL);
    gather.dtype = SHARP_DTYPE_UINT8;
    gather.size = window / part; /* the example passes this quotient, which has no meaning */
    gather.offset = offset;
    MUST(sharp_coll_do_allgather(group, &gather) == SHARP_COLL_SUCCESS);
  }
  for (size_t i = 0; i < part; ++i) {
    const size_t at = part * (size_t)rank + i;
    MUST(out[i] == (unsigned char)((size_t)size * at * 3 + (size_t)(size * (size - 1) / 2)));
  }
  for (size_t i = 0; i < whole; ++i) MUST(all[i] == (unsigned char)(i % part * 5 + i / part * 11));
  free(in);
  free(out);
  free(all);
  free(mine);
}

static void outstanding(struct sharp_coll_comm* group, int size) {
  static int in[OUTSTANDING][15], out[OUTSTANDING][15];
  static struct sharp_data_iov from[OUTSTANDING][15], to[OUTSTANDING][15];
  void* handles[OUTSTANDING];
  for (int n = 0; n < OUTSTANDING; ++n) {
    const unsigned pieces = (unsigned)n % 15 + 1;
    for (unsigned i = 0; i < pieces; ++i) {
      in[n][i] = n + (int)i;
      from[n][i].ptr = &in[n][i];
      to[n][pieces - 1 - i].ptr = &out[n][i]; /* the order of the buffers is reversed */
      from[n][i].length = to[n][pieces - 1 - i].length = sizeof(int);
      from[n][i].mem_handle = to[n][pieces - 1 - i].mem_handle = NULL;
    }
    struct sharp_coll_reduce_spec spec;
    POISON(spec);
    spec.sbuf_desc.type = spec.rbuf_desc.type = SHARP_DATA_IOV;
    spec.sbuf_desc.mem_type = spec.rbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
    spec.sbuf_desc.iov.count = spec.rbuf_desc.iov.count = pieces;
    spec.sbuf_desc.iov.vector = from[n];
    spec.rbuf_desc.iov.vector = to[n];
    spec.dtype = SHARP_DTYPE_INT;
    spec.op = SHARP_OP_SUM;
    spec.length = pieces;
    spec.aggr_mode = SHARP_AGGREGATION_NONE;
    MUST(sharp_coll_do_allreduce_nb(group, &spec, &handles[n]) == SHARP_COLL_SUCCESS);
  }
  for (int n = OUTSTANDING - 1; n >= 0; --n) MUST(sharp_coll_req_wait(handles[n]) == SHARP_COLL_SUCCESS);
  for (int n = 0; n < OUTSTANDING; ++n)
    for (int i = 0; i <= n % 15; ++i) MUST(out[n][n % 15 - i] == size * (n + i));
  void* barrier = NULL;
  MUST(sharp_coll_do_barrier_nb(group, &barrier) == SHARP_COLL_SUCCESS);
  MUST(sharp_coll_req_wait(barrier) == SHARP_COLL_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  struct sharp_coll_init_spec init;
  memset(&init, 0, sizeof init);
  init.progress_func = drive;
  describe_job(&init, &world, rank, size);
  init.config = sharp_coll_default_config;
  struct sharp_coll_context* context = NULL;
  MUST(sharp_coll_init(&init, &context) == SHARP_COLL_SUCCESS);
  struct sharp_coll_caps caps;
  MUST(sharp_coll_caps_query(context, &caps) == SHARP_COLL_SUCCESS);
  MPI_Comm groups[4];
  MPI_Comm_dup(world, &groups[0]);
  MPI_Comm_split(world, 0, -rank, &groups[1]);              /* the world reversed */
  MPI_Comm_split(world, rank < size / 2, rank, &groups[2]); /* halves, of 5: 2 and 3 */
  MPI_Comm_split(world, rank == 0, rank, &groups[3]);       /* rank 0 alone, and the rest */
  int ran = 0, paired = 0;
  for (int g = 0; g < 4; ++g) {
    int me = 0, members = 0;
    MPI_Comm_rank(groups[g], &me);
    MPI_Comm_size(groups[g], &members);
    struct sharp_coll_comm_init_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.rank = me;
    spec.size = members;
    spec.oob_ctx = &groups[g];
    struct sharp_coll_comm* group = NULL;
    MUST(sharp_coll_comm_init(context, &spec, &group) >= 0);
    ran += complex_mode(group, &caps, me, members);
    paired += pairs(group, &caps, me, members);
    rooted(group, me, members);
    const size_t parts[] = {1, 100, 4096, 50000};
    for (int i = 0; i < 4; ++i) {
      chunks(group, parts[i], parts[i] * (size_t)members, me, members); /* the vector is one chunk */
      chunks(group, parts[i], parts[i], me, members);
      chunks(group, parts[i], parts[i] * 2 / 3 + 1, me, members); /* chunks cross the edges of parts */
    }
    outstanding(group, members);
    MUST(sharp_coll_do_barrier(group) == SHARP_COLL_SUCCESS);
    MUST(sharp_coll_comm_destroy(group) == SHARP_COLL_SUCCESS);
    MPI_Comm_free(&groups[g]);
  }
  MUST(ran > 4 * 900);
  MUST(paired == 4 * 12 * 8 * 2 * 5); /* factors: groups, values, tags, operations, sizes */
  MPI_Barrier(world);                 /* rank 0 ends the job, and is alone in its last group */
  MUST(sharp_coll_finalize(context) == SHARP_COLL_SUCCESS);
  if (rank == 0) puts("vendor-style: passed");
  MPI_Finalize();
  return 0;
}
