// One operation of each collective: through the library, or by MPI itself for comparison.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/sharp/mpi_test.hpp"

namespace sumac::mpi_test {
namespace {

/// A descriptor, and the list of pieces to which it may point.
struct Described {
  sharp_coll_data_desc desc{};
  sharp_data_iov pieces[SHARP_COLL_DATA_MAX_IOV]{};

  void set(const Options& options, void* data, std::size_t bytes, std::size_t unit) {
    desc.mem_type = SHARP_MEM_TYPE_HOST;
    const std::size_t elements = unit == 0 ? 0 : bytes / unit;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(options.iov_count), elements);
    if (!options.iov || count == 0) {
      desc.type = SHARP_DATA_BUFFER;
      desc.buffer = {data, bytes, nullptr};
      return;
    }
    desc.type = SHARP_DATA_IOV;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = elements * i / count * unit, end = elements * (i + 1) / count * unit;
      pieces[i] = {static_cast<char*>(data) + begin, end - begin, nullptr};
    }
    desc.iov.count = static_cast<unsigned>(count);
    desc.iov.vector = pieces;
  }
};

int reduce_like(const Options& options, const Group& group, const Work& work, void** handle) {
  const std::size_t bytes = work.count * work.element_bytes;
  Described in, out;
  in.set(options, work.in, bytes, work.element_bytes);
  sharp_coll_reduce_spec spec{};
  spec.root = work.root;
  spec.dtype = static_cast<sharp_datatype>(work.dtype);
  spec.tag_dtype = static_cast<sharp_datatype>(work.tag);
  spec.op = static_cast<sharp_reduce_op>(work.op);
  spec.length = work.count;
  spec.sbuf_desc = in.desc;
  switch (work.collective) {
    case Collective::allreduce:
    case Collective::iallreduce:
      out.set(options, work.out, bytes, work.element_bytes);
      spec.rbuf_desc = out.desc;
      return handle != nullptr ? sharp_coll_do_allreduce_nb(group.sharp, &spec, handle)
                               : sharp_coll_do_allreduce(group.sharp, &spec);
    case Collective::reduce:
    case Collective::ireduce:
      out.set(options, work.out, bytes, work.element_bytes);
      spec.rbuf_desc = out.desc;
      return handle != nullptr ? sharp_coll_do_reduce_nb(group.sharp, &spec, handle)
                               : sharp_coll_do_reduce(group.sharp, &spec);
    default: {  // For reduce_scatter: one window over the whole vector; all members use the same length for their part.
      const Part first = part_of(work.count, 0, group.size);
      out.set(options, work.out, first.to * work.element_bytes, work.element_bytes);
      spec.rbuf_desc = out.desc;
      return sharp_coll_do_reduce_scatter(group.sharp, &spec);
    }
  }
}

int by_sharp(const Options& options, const Group& group, const Work& work, void** handle) {
  switch (work.collective) {
    case Collective::barrier: return sharp_coll_do_barrier(group.sharp);
    case Collective::ibarrier: return sharp_coll_do_barrier_nb(group.sharp, handle);
    case Collective::bcast: {
      Described buffer;
      buffer.set(options, work.out, work.count * work.element_bytes, work.element_bytes);
      sharp_coll_bcast_spec spec{};
      spec.root = work.root;
      spec.buf_desc = buffer.desc;
      spec.size = work.count * work.element_bytes;
      return sharp_coll_do_bcast(group.sharp, &spec);
    }
    case Collective::allgather: {
      Described in, out;
      in.set(options, work.in, work.count * work.element_bytes, work.element_bytes);
      out.set(options, work.out, work.count * work.element_bytes * static_cast<std::size_t>(group.size),
              work.element_bytes);
      sharp_coll_gather_spec spec{};
      spec.sbuf_desc = in.desc;
      spec.rbuf_desc = out.desc;
      spec.dtype = static_cast<sharp_datatype>(work.dtype);
      spec.size = work.count * work.element_bytes;
      return sharp_coll_do_allgather(group.sharp, &spec);
    }
    default: return reduce_like(options, group, work, handle);
  }
}

// MPI's own collectives have no 16-bit floats: sums of the supported types are compared, the others are moved as bytes.
MPI_Datatype mpi_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::int16:
    case Dtype::float16: return MPI_INT16_T;
    case Dtype::int32: return MPI_INT32_T;
    case Dtype::float32: return MPI_FLOAT;
    case Dtype::int64: return MPI_INT64_T;
    case Dtype::float64: return MPI_DOUBLE;
    default: return MPI_UINT8_T;
  }
}

int by_mpi(const Group& group, const Work& work, MPI_Request* request) {
  const MPI_Datatype type = mpi_type(work.dtype);
  const int count = static_cast<int>(work.count);
  switch (work.collective) {
    case Collective::allreduce: return MPI_Allreduce(work.in, work.out, count, type, MPI_SUM, group.mpi);
    case Collective::iallreduce: return MPI_Iallreduce(work.in, work.out, count, type, MPI_SUM, group.mpi, request);
    case Collective::reduce: return MPI_Reduce(work.in, work.out, count, type, MPI_SUM, work.root, group.mpi);
    case Collective::ireduce:
      return MPI_Ireduce(work.in, work.out, count, type, MPI_SUM, work.root, group.mpi, request);
    case Collective::barrier: return MPI_Barrier(group.mpi);
    case Collective::ibarrier: return MPI_Ibarrier(group.mpi, request);
    case Collective::bcast: return MPI_Bcast(work.out, count, type, work.root, group.mpi);
    case Collective::reduce_scatter: {
      std::vector<int> counts;
      for (int i = 0; i < group.size; ++i) {
        const Part part = part_of(work.count, i, group.size);
        counts.push_back(static_cast<int>(part.to - part.from));
      }
      return MPI_Reduce_scatter(work.in, work.out, counts.data(), type, MPI_SUM, group.mpi);
    }
    case Collective::allgather: return MPI_Allgather(work.in, count, type, work.out, count, type, group.mpi);
  }
  return MPI_ERR_OTHER;
}

}  // namespace

Memory::Memory(std::size_t bytes, Allocation how) {
  bytes = std::max<std::size_t>(bytes, 64);
  if (how == Allocation::malloc) {
    data_ = static_cast<unsigned char*>(std::malloc(bytes));
  } else {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (how == Allocation::hugetlb ? MAP_HUGETLB : 0);
    void* mapped = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped != MAP_FAILED) {
      data_ = static_cast<unsigned char*>(mapped);
      mapped_ = whole;
      // Only a hint: without it pages are small.
      if (how == Allocation::hugethp) ::madvise(mapped, whole, MADV_HUGEPAGE);
    }
  }
  if (data_ == nullptr)
    std::fprintf(stderr, "sharp_mpi_test: no %zu bytes of memory%s\n", bytes,
                 how == Allocation::hugetlb ? " in huge pages (set vm.nr_hugepages, or use -H hugethp)" : "");
}

Memory::~Memory() {
  if (mapped_ != 0) {
    ::munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

int perform(const Options& options, const Group& group, const Work& work) {
  return perform_many(options, group, work, 1);
}

int perform_many(const Options& options, const Group& group, const Work& work, int times) {
  const bool nonblocking = is_nonblocking(work.collective);
  if (!options.use_sharp) {
    std::vector<MPI_Request> requests(nonblocking ? static_cast<std::size_t>(times) : 0, MPI_REQUEST_NULL);
    for (int i = 0; i < times; ++i) {
      if (by_mpi(group, work, nonblocking ? &requests[static_cast<std::size_t>(i)] : nullptr) != MPI_SUCCESS)
        return SHARP_COLL_ERROR;
    }
    return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS
               ? 0
               : SHARP_COLL_ERROR;
  }
  std::vector<void*> handles;
  int status = 0;
  for (int i = 0; i < times && status == 0; ++i) {
    void* handle = nullptr;
    status = by_sharp(options, group, work, nonblocking ? &handle : nullptr);
    if (nonblocking && status == 0) handles.push_back(handle);
  }
  for (void* handle : handles) {
    const int waited = sharp_coll_req_wait(handle);
    if (status == 0) status = waited;
  }
  return status;
}

}  // namespace sumac::mpi_test
