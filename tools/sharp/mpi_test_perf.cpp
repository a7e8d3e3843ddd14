// Prints how long operations take: a row for each size, with mean, least and most over the members.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tools/sharp/mpi_test.hpp"

namespace sumac::mpi_test {
namespace {

struct Row {
  double mean_us = 0, least_us = 0, most_us = 0;
  int iterations = 0;
};

/// Runs several operations at a time: nonblocking ones are posted in a row and waited for together.
int time_one(const Options& options, const Group& group, const Work& work, Row* row) {
  const int at_once = is_nonblocking(work.collective) ? options.outstanding : 1;
  double sum = 0;
  int timed = 0;
  for (int done = -options.skips; done < options.iterations;) {
    const int times = std::min(at_once, done < 0 ? -done : options.iterations - done);
    if (options.barrier_before) MPI_Barrier(group.mpi);
    const double begin = MPI_Wtime();
    if (const int status = perform_many(options, group, work, times); status != 0) return status;
    if (done >= 0) {
      sum += MPI_Wtime() - begin;
      timed += times;
    }
    done += times;
  }
  const double mine = sum / timed * 1e6;
  MPI_Reduce(&mine, &row->mean_us, 1, MPI_DOUBLE, MPI_SUM, 0, group.mpi);
  MPI_Reduce(&mine, &row->least_us, 1, MPI_DOUBLE, MPI_MIN, 0, group.mpi);
  MPI_Reduce(&mine, &row->most_us, 1, MPI_DOUBLE, MPI_MAX, 0, group.mpi);
  row->mean_us /= group.size;
  row->iterations = timed;
  return 0;
}

void print(std::size_t bytes, const Row& row) {
  const double gigabits = row.mean_us > 0 ? static_cast<double>(bytes) * 8 / (row.mean_us * 1e3) : 0;
  std::printf("%12zu %14.2f %14.2f %14.2f %14.3f %12d\n", bytes, row.mean_us, row.least_us, row.most_us, gigabits,
              row.iterations);
  std::fflush(stdout);
}

}  // namespace

int measure(const Options& options, const Group& group) {
  int failed = 0;
  for (const auto collective : options.collectives) {
    const bool has_data = collective != Collective::barrier && collective != Collective::ibarrier;
    if (group.rank == 0)
      std::printf("# %s over %d processes%s\n#%11s %14s %14s %14s %14s %12s\n", name_of(collective), group.size,
                  options.use_sharp ? "" : ", by MPI alone (ENABLE_SHARP_COLL=1 is not set)", "size", "avg lat(us)",
                  "min lat(us)", "max lat(us)", "avg bw(Gb/s)", "iters");
    for (std::size_t bytes = options.bytes_min; bytes <= options.bytes_max; bytes *= 2) {
      const std::size_t whole = has_data ? bytes : 0;
      const Memory in(whole, options.allocation), out(whole * static_cast<std::size_t>(group.size), options.allocation);
      if (in.data() == nullptr || out.data() == nullptr) return failed + 1;
      std::memset(in.data(), 0, whole);
      Work work{.collective = collective, .dtype = options.dtype, .element_bytes = width(options.dtype)};
      work.count = std::max<std::size_t>(1, bytes / work.element_bytes);
      work.root = options.root < 0 || options.root >= group.size ? group.size - 1 : options.root;
      work.in = in.data();
      work.out = out.data();
      Row row;
      const int status = time_one(options, group, work, &row);
      if (status == SHARP_COLL_ENOT_SUPP) {
        if (group.rank == 0) std::printf("# not offered by this library\n");
        break;
      }
      if (status != 0) {
        std::fprintf(stderr, "sharp_mpi_test: rank %d: %s: %s\n", group.rank, name_of(collective),
                     sharp_coll_strerror(status));
        return failed + 1;
      }
      if (group.rank == 0) print(whole, row);
      if (!has_data) break;
    }
  }
  return failed;
}

}  // namespace sumac::mpi_test
