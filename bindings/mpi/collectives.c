/* MPI_Barrier and MPI_Allreduce: in a host by the next module, between hosts by the tree.
 *
 * Once the group stands, the way of a call depends on its type, operation and size alone, never on what one rank sees. If the tree fails,
 * the call fails at every rank with MPI_ERR_OTHER: switching silently could leave ranks waiting for each other in different algorithms. */
#include "hcoll.h"

#include <stdio.h>
#include <string.h>

/* Result and status of a small operation reach the host's other ranks as one message. */
#define TOGETHER_BYTES_MAX 4096

static void count_next(hcoll_module_t* module, enum hcoll_kind kind, enum hcoll_why why) {
  if (HCOLL_STARTING != module->state) {
    ++module->tally.next[kind][why];
  }
}

/* Says once what ended the group. */
static int failed(hcoll_module_t* module, const char* what, int status) {
  if (!module->broken) {
    module->broken = true;
    char text[512] = "";
    if (NULL != module->group && 0 == sumac_comm_error(module->group, text, sizeof(text))) {
      text[0] = '\0';
    }
    /* The tree ended for all: one rank tells people. What a rank alone has seen, its libsharp_coll says. */
    if (0 == ompi_comm_rank(module->comm)) {
      HCOLL_SAY("SHArP: %s failed:%s(%d) %s", what, sharp_coll_strerror(status), status, text);
    }
  }
  return MPI_ERR_OTHER;
}

/* From the host's leader to its other ranks. */
static int share_status(hcoll_module_t* module, int* status) {
  ompi_communicator_t* host = module->host_comm;
  return host->c_coll->coll_bcast(status, 1, &ompi_mpi_int.dt, 0, host, host->c_coll->coll_bcast_module);
}

static int share_result(hcoll_module_t* module, int* status, void* rbuf, int count, struct ompi_datatype_t* dtype,
                        size_t bytes) {
  ompi_communicator_t* host = module->host_comm;
  mca_coll_base_comm_coll_t* coll = host->c_coll;
  if (bytes <= TOGETHER_BYTES_MAX) {
    _Alignas(16) char both[16 + TOGETHER_BYTES_MAX];
    if (module->leader) {
      memset(both, 0, 16);
      memcpy(both, status, sizeof(*status));
      memcpy(both + 16, rbuf, bytes);
    }
    int rc = coll->coll_bcast(both, (int)(16 + bytes), &ompi_mpi_byte.dt, 0, host, coll->coll_bcast_module);
    if (OMPI_SUCCESS == rc && !module->leader) {
      memcpy(status, both, sizeof(*status));
      if (0 == *status) {
        memcpy(rbuf, both + 16, bytes);
      }
    }
    return rc;
  }
  int rc = share_status(module, status);
  if (OMPI_SUCCESS != rc || 0 != *status) {
    return rc;
  }
  return coll->coll_bcast(rbuf, count, dtype, 0, host, coll->coll_bcast_module);
}

int hcoll_barrier(struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  if (HCOLL_FRESH == module->state) {
    int rc = hcoll_group_make(module);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  if (HCOLL_GROUP != module->state) {
    count_next(module, HCOLL_BARRIER, HCOLL_WHY_NO_GROUP);
    return module->next.barrier(comm, module->next.barrier_module);
  }
  ompi_communicator_t* host = module->host_comm;
  if (NULL != host) {
    int rc = host->c_coll->coll_barrier(host, host->c_coll->coll_barrier_module);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  int status = module->leader ? sharp_coll_do_barrier(module->group) : 0;
  if (NULL != host) {
    int rc = share_status(module, &status);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  if (0 != status) {
    return failed(module, "barrier", status);
  }
  ++module->tally.tree[HCOLL_BARRIER];
  return MPI_SUCCESS;
}

static int tree_allreduce(hcoll_module_t* module, const struct hcoll_reduction* reduction, const void* sbuf, void* rbuf,
                          size_t count) {
  size_t bytes = count * reduction->element_bytes;
  struct sharp_coll_reduce_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.sbuf_desc.type = SHARP_DATA_BUFFER;
  spec.sbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
  spec.sbuf_desc.buffer.ptr = (void*)sbuf;
  spec.sbuf_desc.buffer.length = bytes;
  spec.rbuf_desc.type = SHARP_DATA_BUFFER;
  spec.rbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
  spec.rbuf_desc.buffer.ptr = rbuf;
  spec.rbuf_desc.buffer.length = bytes;
  spec.dtype = reduction->dtype;
  spec.tag_dtype = reduction->tag_dtype;
  spec.length = count * reduction->per_element;
  spec.op = reduction->op;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return sharp_coll_do_allreduce(module->group, &spec);
}

/* Into the leader's receive buffer. */
static int reduce_in_host(hcoll_module_t* module, const void* sbuf, void* rbuf, int count,
                          struct ompi_datatype_t* dtype, struct ompi_op_t* op) {
  ompi_communicator_t* host = module->host_comm;
  mca_coll_base_comm_coll_t* coll = host->c_coll;
  const void* from = sbuf;
  if (MPI_IN_PLACE == sbuf && !module->leader) {
    from = rbuf; /* only the root may say in place */
  }
  return coll->coll_reduce(from, module->leader ? rbuf : NULL, count, dtype, op, 0, host, coll->coll_reduce_module);
}

int hcoll_allreduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                    struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct hcoll_reduction reduction;
  if (0 == count || HCOLL_STARTING == module->state) {
    return module->next.allreduce(sbuf, rbuf, count, dtype, op, comm, module->next.allreduce_module);
  }
  if (HCOLL_FRESH == module->state) {
    int rc = hcoll_group_make(module);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  enum hcoll_why why;
  if (HCOLL_GROUP != module->state) {
    why = HCOLL_WHY_NO_GROUP;
  } else if (!hcoll_map(dtype, op, &reduction)) {
    why = HCOLL_WHY_TYPE;
  } else if ((int64_t)count > module->bytes_max / (int64_t)reduction.element_bytes) {
    why = HCOLL_WHY_SIZE;
  } else {
    why = HCOLL_WHYS;
  }
  if (HCOLL_WHYS != why) {
    count_next(module, HCOLL_ALLREDUCE, why);
    return module->next.allreduce(sbuf, rbuf, count, dtype, op, comm, module->next.allreduce_module);
  }
  const void* from = MPI_IN_PLACE == sbuf ? rbuf : sbuf;
  if (NULL != module->host_comm) {
    int rc = reduce_in_host(module, sbuf, rbuf, count, dtype, op);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
    from = rbuf;
  }
  int status = module->leader ? tree_allreduce(module, &reduction, from, rbuf, (size_t)count) : 0;
  if (NULL != module->host_comm) {
    int rc = share_result(module, &status, rbuf, count, dtype, (size_t)count * reduction.element_bytes);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  if (0 != status) {
    return failed(module, "allreduce", status);
  }
  ++module->tally.tree[HCOLL_ALLREDUCE];
  return MPI_SUCCESS;
}
