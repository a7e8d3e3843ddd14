#include "bindings/pmpi/watch.hpp"

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/ranks.hpp"
#include "bindings/pmpi/requests.hpp"

namespace sumac::pmpi {
namespace {

/// An MPI may make one of its collectives of others by their public names.
thread_local bool is_inside = false;

}  // namespace

Watch::Watch(int coll, sumac_form form, MPI_Comm comm) : comm_(comm) {
  call_.coll = coll;
  call_.form = form;
  if (is_inside || comm == MPI_COMM_NULL) return;
  int is_inter = 0;
  if (mpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return;
  (void)mpi.Comm_rank(comm, &shape_.rank);
  (void)mpi.Comm_size(comm, &shape_.size);
  shape_.peers = shape_.size;
  if (is_inter != 0) (void)mpi.Comm_remote_size(comm, &shape_.peers);
  counts_ = is_inter != 0 || shape_.size > 1;
  is_inside = counts_;
}

Watch::~Watch() {
  if (counts_) is_inside = false;
}

void Watch::begin(std::uint64_t bytes) {
  call_.bytes = bytes;
  if (const Communicator* communicator = counting(); communicator != nullptr)
    before_ = sumac_record_counted(communicator, call_.coll);
  call_.start_ns = sumac_profile_now();
}

int Watch::way(const MPI_Request* request) const {
  const Communicator* communicator = counting();
  if (communicator == nullptr) return SUMAC_WAY_PASS;
  if (call_.form == SUMAC_FORM_PERSISTENT) {  // A team counts it when it is started.
    const Request* ours = persistent_exist() ? find_persistent(*request) : nullptr;
    if (ours == nullptr || ours->is_the_mpis) return SUMAC_WAY_PASS;
    return ours->op != nullptr ? static_cast<int>(SUMAC_WAY_HOST) : static_cast<int>(SUMAC_PROFILE_NO_DATA);
  }
  return sumac_record_way_since(communicator, call_.coll, call_.bytes, &before_);
}

void Watch::end(const MPI_Request* request) const {
  sumac_profile_call call = call_;
  call.way = way(request);
  const std::string name = sumac_profile_traces() ? name_of(comm_) : "";
  sumac_profile_add(&call, name.c_str());
}

void begin_watch(const char* host) {
  static const CommunicatorOfMpi world(MPI_COMM_WORLD);  // Until MPI_Finalize.
  sumac_profile_begin(&runtime, &world.record(), host, library.hosts);
  library.watches = true;
}

}  // namespace sumac::pmpi
