// Forms the jobs and groups over MPI's processes.
#include <unistd.h>

#include <cstdio>
#include <random>

#include "tools/sharp/mpi_test.hpp"

namespace sumac::mpi_test {
namespace {

int oob_bcast(void* context, void* buffer, int bytes, int root) {
  return MPI_Bcast(buffer, bytes, MPI_BYTE, root, *static_cast<MPI_Comm*>(context)) == MPI_SUCCESS ? 0 : -1;
}
int oob_barrier(void* context) { return MPI_Barrier(*static_cast<MPI_Comm*>(context)) == MPI_SUCCESS ? 0 : -1; }
int oob_gather(void* context, int root, void* mine, void* all, int bytes) {
  return MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, *static_cast<MPI_Comm*>(context)) == MPI_SUCCESS
             ? 0
             : -1;
}

// MPI may need us to drive it while a blocking operation of the tree waits.
int drive_mpi() {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  return 0;
}

/// Returns the index of this process among those of its host.
int local_rank() {
  MPI_Comm host;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

MPI_Comm split(MPI_Comm of, int color, int key) {
  MPI_Comm made;
  MPI_Comm_split(of, color, key, &made);
  return made;
}

/// Returns the members of one job: all that take part, or under split:ppn-jobs those of one local rank.
MPI_Comm make_job_members(const Options& options, int local) {
  const bool takes_part = options.per_host == 0 || local < options.per_host;
  const int color = !takes_part ? MPI_UNDEFINED : options.group_type == "split:ppn-jobs" ? local : 0;
  return split(MPI_COMM_WORLD, color, 0);
}

MPI_Comm make_members(const Options& options, MPI_Comm job, int local) {
  int rank = 0, size = 0;
  MPI_Comm_rank(job, &rank);
  MPI_Comm_size(job, &size);
  const auto& type = options.group_type;
  const int count = std::min(options.group_count, size);
  const int part = static_cast<int>(static_cast<long long>(rank) * count / size);
  if (type == "world-rev") return split(job, 0, -rank);
  if (type == "half") return split(job, rank < (size + 1) / 2 ? 0 : MPI_UNDEFINED, rank);
  if (type == "split") return split(job, part, rank);
  if (type == "split-rev") return split(job, part, -rank);
  if (type == "split:ppn-comm") return split(job, local, rank);
  return split(job, 0, rank);  // For world, world-dup and split:ppn-jobs.
}

// All processes of one job use the same number; parallel jobs get different ones.
std::uint64_t job_id_for(const Options& options, MPI_Comm job, int local) {
  std::uint64_t id = options.job_id != 0 ? options.job_id : (std::uint64_t{std::random_device{}()} << 16) | 1;
  MPI_Bcast(&id, 1, MPI_UINT64_T, 0, job);
  return options.group_type == "split:ppn-jobs" ? id + static_cast<std::uint64_t>(local) : id;
}

bool begin(const Options& options, MPI_Comm* job, int local, Group* group) {
  sharp_coll_init_spec init{};
  MPI_Comm_rank(*job, &init.world_rank);
  MPI_Comm_size(*job, &init.world_size);
  init.job_id = job_id_for(options, *job, local);
  init.progress_func = drive_mpi;
  init.config = sharp_coll_default_config;
  if (!options.device.empty()) init.config.ib_dev_list = options.device.c_str();
  init.oob_colls = {oob_bcast, oob_barrier, oob_gather};
  init.oob_ctx = job;
  init.world_local_rank = local;
  const int status = sharp_coll_init(&init, &group->context);
  if (status != 0 && init.world_rank == 0)
    std::fprintf(stderr, "sharp_mpi_test: sharp_coll_init failed: %s\n", sharp_coll_strerror(status));
  return status == 0;
}

bool join(Group* group) {
  sharp_coll_comm_init_spec spec{};
  spec.rank = group->rank;
  spec.size = group->size;
  spec.oob_ctx = &group->mpi;
  const int status = sharp_coll_comm_init(group->context, &spec, &group->sharp);
  if (status < 0 && group->rank == 0)
    std::fprintf(stderr, "sharp_mpi_test: sharp_coll_comm_init failed: %s\n", sharp_coll_strerror(status));
  return status >= 0;
}

}  // namespace

bool make_group(const Options& options, Group* group) {
  const int local = local_rank();
  MPI_Comm job = make_job_members(options, local);
  bool well = true;
  if (job != MPI_COMM_NULL) {
    if (options.use_sharp) well = begin(options, &job, local, group);
    group->mpi = make_members(options, job, local);
    if (group->mpi != MPI_COMM_NULL) {
      MPI_Comm_rank(group->mpi, &group->rank);
      MPI_Comm_size(group->mpi, &group->size);
      // The library agrees within a job; parallel jobs may differ, so none starts alone.
      if (options.use_sharp && well) well = join(group);
    }
    MPI_Comm_free(&job);
  }
  int all = 0, mine = well;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) drop_group(group);
  return all != 0;
}

void drop_group(Group* group) {
  const auto say = [&](const char* what, int status) {
    if (status != 0)
      std::fprintf(stderr, "sharp_mpi_test: rank %d: %s: %s\n", group->rank, what, sharp_coll_strerror(status));
  };
  if (group->sharp != nullptr) say("sharp_coll_comm_destroy", sharp_coll_comm_destroy(group->sharp));
  if (group->context != nullptr) say("sharp_coll_finalize", sharp_coll_finalize(group->context));
  if (group->mpi != MPI_COMM_NULL) MPI_Comm_free(&group->mpi);
  *group = Group{};
}

}  // namespace sumac::mpi_test
