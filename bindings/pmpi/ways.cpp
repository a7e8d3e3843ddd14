// The MPI's functions between hosts (rank/across.h), on communicators of our own: messages of ours must not meet the program's.
#include "rank/across.h"

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/ranks.hpp"

namespace sumac::pmpi {
namespace {

constexpr int kTagDirect = 1;

MPI_Comm of(std::uintptr_t comm) { return handle_from<MPI_Comm>(comm); }
MPI_Request* at(void* request) { return static_cast<MPI_Request*>(request); }

int ibarrier(std::uintptr_t comm, void* request) { return mpi.Ibarrier(of(comm), at(request)); }
int iallreduce(std::uintptr_t comm, void* data, int count, std::uintptr_t type, std::uintptr_t op, void* request) {
  return mpi.Iallreduce(MPI_IN_PLACE, data, count, handle_from<MPI_Datatype>(type), handle_from<MPI_Op>(op), of(comm),
                        at(request));
}
int ireduce(std::uintptr_t comm, const void* in, void* out, int count, std::uintptr_t type, std::uintptr_t op, int root,
            void* request) {
  return mpi.Ireduce(in, out, count, handle_from<MPI_Datatype>(type), handle_from<MPI_Op>(op), root, of(comm),
                     at(request));
}
int ibcast(std::uintptr_t comm, void* data, int bytes, int root, void* request) {
  return mpi.Ibcast(data, bytes, MPI_BYTE, root, of(comm), at(request));
}
int iallgatherv(std::uintptr_t comm, void* data, const int* counts, const int* displacements, void* request) {
  return mpi.Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, counts, displacements, MPI_BYTE, of(comm), at(request));
}
int ialltoallv(std::uintptr_t comm, const void* in, const int* in_counts, const int* in_displacements, void* out,
               const int* out_counts, const int* out_displacements, void* request) {
  return mpi.Ialltoallv(in, in_counts, in_displacements, MPI_BYTE, out, out_counts, out_displacements, MPI_BYTE,
                        of(comm), at(request));
}
int isend(std::uintptr_t comm, const void* data, int bytes, int peer, void* request) {
  return mpi.Isend(data, bytes, MPI_BYTE, peer, kTagDirect, of(comm), at(request));
}
int irecv(std::uintptr_t comm, void* data, int bytes, int peer, void* request) {
  return mpi.Irecv(data, bytes, MPI_BYTE, peer, kTagDirect, of(comm), at(request));
}
int test(int count, void* requests, int* done) { return mpi.Testall(count, at(requests), done, MPI_STATUSES_IGNORE); }

/// MPI_Comm_split and not MPI_Comm_dup, which would copy the program's attributes.
int open(sumac_record* record, const int*, int count, bool leads, bool needed, sumac_carriers* made) {
  if (!needed) return MPI_SUCCESS;
  MPI_Comm all = MPI_COMM_NULL, leaders = MPI_COMM_NULL;
  int rc = mpi.Comm_split(static_cast<Communicator*>(record)->handle.load(), 0, record->rank, &all);
  if (rc != MPI_SUCCESS) return rc;
  made->all = bits_of(all);
  static_cast<Communicator*>(record)->ours = all;
  (void)mpi.Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  if (count == record->size) {
    made->leaders = made->all;
    return rc;
  }
  rc = mpi.Comm_split(all, leads ? 0 : MPI_UNDEFINED, record->rank, &leaders);
  if (rc == MPI_SUCCESS && leads) made->leaders = bits_of(leaders);
  return rc;
}

/// In MPI_Finalize the MPI frees our communicators by itself: ranks may come to them in different orders.
void close(sumac_carriers* made) {
  if (!library.on) return;
  MPI_Comm leaders = of(made->leaders), all = of(made->all);
  if (made->leaders != 0 && made->leaders != made->all) (void)mpi.Comm_free(&leaders);
  if (made->all != 0) (void)mpi.Comm_free(&all);
}

int with(sumac_record* record, const sumac_carriers* made, bool leads, void* context,
         int (*use)(void*, const sumac_communicator*, const sumac_communicator*)) {
  const MPI_Comm all = made->all == 0 ? static_cast<Communicator*>(record)->handle.load() : of(made->all);
  const CommunicatorOfMpi team(all), leaders(leads && made->leaders != 0 ? of(made->leaders) : all);
  return use(context, &team.record(), &leaders.record());
}

}  // namespace

const sumac_between between{.request_bytes = sizeof(MPI_Request),
                            .ibarrier = ibarrier,
                            .iallreduce = iallreduce,
                            .ireduce = ireduce,
                            .ibcast = ibcast,
                            .iallgatherv = iallgatherv,
                            .ialltoallv = ialltoallv,
                            .isend = isend,
                            .irecv = irecv,
                            .test = test,
                            .open = open,
                            .close = close,
                            .with = with};

}  // namespace sumac::pmpi
