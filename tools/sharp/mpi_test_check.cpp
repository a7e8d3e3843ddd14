// Checks results. Inputs follow from (rank, element), so every process knows the contributions of all others.
#include <cstdio>
#include <cstring>

#include "reduce/reference.hpp"
#include "tools/sharp/mpi_test.hpp"

namespace sumac::mpi_test {
namespace {

/// Returns small whole numbers: their sums are exact in every type whatever the order; in a product only one rank
/// contributes a 2.
double value_of(Op op, int rank, int size, std::size_t i) {
  const auto mixed = static_cast<unsigned>(rank) * 7u + static_cast<unsigned>(i % 1021u) * 3u;
  if (op == Op::prod) return static_cast<int>(i % static_cast<std::size_t>(size)) == rank ? 2 : 1;
  return static_cast<double>(mixed % 5u);
}

void store(Dtype dtype, double value, unsigned char* at) {
  const auto put = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (dtype) {
    case Dtype::uint32: return put(static_cast<std::uint32_t>(value));
    case Dtype::int32: return put(static_cast<std::int32_t>(value));
    case Dtype::uint64: return put(static_cast<std::uint64_t>(value));
    case Dtype::int64: return put(static_cast<std::int64_t>(value));
    case Dtype::float32: return put(static_cast<float>(value));
    case Dtype::float64: return put(value);
    case Dtype::uint16: return put(static_cast<std::uint16_t>(value));
    case Dtype::int16: return put(static_cast<std::int16_t>(value));
    case Dtype::float16: return put(reduce::float16_nearest(value));
    case Dtype::bfloat16: return put(reduce::bfloat16_nearest(value));
    case Dtype::uint8: return put(static_cast<std::uint8_t>(value));
    case Dtype::int8: return put(static_cast<std::int8_t>(value));
    case Dtype::null: return;
  }
}

void fill(const Work& work, int rank, int size, unsigned char* data) {
  std::memset(data, 0, work.count * work.element_bytes);
  for (std::size_t i = 0; i < work.count; ++i) {
    unsigned char* at = data + i * work.element_bytes;
    store(work.dtype, value_of(work.op, rank, size, i), at);
    if (is_pair(work.op)) store(work.tag == Dtype::null ? Dtype::int32 : work.tag, rank % 100, at + width(work.dtype));
  }
}

struct Buffers {
  Memory in, out, expected;
  Buffers(const Work& work, int size, Allocation how)
      : in(work.count * work.element_bytes, how),
        out(work.count * work.element_bytes * static_cast<std::size_t>(size), how),
        expected(work.count * work.element_bytes * static_cast<std::size_t>(size), Allocation::malloc) {}
  bool ok() const { return in.data() != nullptr && out.data() != nullptr && expected.data() != nullptr; }
};

bool has_data(Collective collective) { return collective != Collective::barrier && collective != Collective::ibarrier; }

/// Computes the expected content of this member's receive buffer, and returns its size in bytes.
std::size_t expect(const Group& group, const Work& work, Buffers* buffers) {
  const std::size_t bytes = work.count * work.element_bytes;
  unsigned char* expected = buffers->expected.data();
  if (!has_data(work.collective)) return 0;
  if (work.collective == Collective::allgather) {
    for (int rank = 0; rank < group.size; ++rank)
      fill(work, rank, group.size, expected + static_cast<std::size_t>(rank) * bytes);
    return bytes * static_cast<std::size_t>(group.size);
  }
  if (work.collective == Collective::bcast) {
    fill(work, work.root, group.size, expected);
    return bytes;
  }
  std::vector<unsigned char> one(bytes);
  fill(work, 0, group.size, expected);
  for (int rank = 1; rank < group.size; ++rank) {
    fill(work, rank, group.size, one.data());
    reduce::reference_reduce(work.op, work.dtype, work.tag, expected, one.data(), work.count);
  }
  if (work.collective == Collective::reduce || work.collective == Collective::ireduce)
    return group.rank == work.root ? bytes : 0;
  if (work.collective == Collective::reduce_scatter) {
    const Part part = part_of(work.count, group.rank, group.size);
    std::memmove(expected, expected + part.from * work.element_bytes, (part.to - part.from) * work.element_bytes);
    return (part.to - part.from) * work.element_bytes;
  }
  return bytes;
}

enum class Verdict { right, wrong, not_offered };

Verdict run_one(const Options& options, const Group& group, const Work& work_without_memory) {
  Work work = work_without_memory;
  Buffers buffers(work, group.size, options.allocation);
  int status = buffers.ok() ? 0 : SHARP_COLL_ENOMEM;
  std::size_t checked = 0;
  if (status == 0) {
    work.in = buffers.in.data();
    work.out = buffers.out.data();
    fill(work, group.rank, group.size, buffers.in.data());
    std::memset(buffers.out.data(), 0xa5, work.count * work.element_bytes);
    if (work.collective == Collective::bcast && group.rank == work.root)
      fill(work, group.rank, group.size, buffers.out.data());
    checked = expect(group, work, &buffers);
    status = perform(options, group, work);
  }
  const bool differs = status == 0 && std::memcmp(work.out, buffers.expected.data(), checked) != 0;
  // The worst of all members counts: 2 wrong, 1 not offered, 0 right.
  const int mine = differs || (status != 0 && status != SHARP_COLL_ENOT_SUPP) ? 2
                   : status == SHARP_COLL_ENOT_SUPP                           ? 1
                                                                              : 0;
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, group.mpi);
  if (mine == 2) {
    std::fprintf(stderr, "sharp_mpi_test: rank %d: %s of %zu x %s %s: %s\n", group.rank, name_of(work.collective),
                 work.count, std::string(to_string(work.dtype)).c_str(), std::string(to_string(work.op)).c_str(),
                 differs ? "wrong result" : sharp_coll_strerror(status));
  }
  return worst == 2 ? Verdict::wrong : worst == 1 ? Verdict::not_offered : Verdict::right;
}

bool reduces(Collective collective) {
  return has_data(collective) && collective != Collective::bcast && collective != Collective::allgather;
}

int root_of(const Options& options, const Group& group) {
  return options.root < 0 || options.root >= group.size ? group.size - 1 : options.root;
}

struct Count {
  int right = 0, wrong = 0, not_offered = 0;
  void add(Verdict verdict) { ++(verdict == Verdict::right ? right : verdict == Verdict::wrong ? wrong : not_offered); }
};

void say(const Group& group, const char* mode, Collective collective, const Count& count) {
  if (group.rank != 0) return;
  if (count.not_offered > 0 && count.right + count.wrong == 0) {
    std::printf("%-8s %-15s not offered by this library\n", mode, name_of(collective));
  } else {
    std::printf("%-8s %-15s %d right, %d wrong%s\n", mode, name_of(collective), count.right, count.wrong,
                count.not_offered > 0 ? ", some not offered" : "");
  }
  std::fflush(stdout);
}

void sizes(const Options& options, const Group& group, Work work, Count* count) {
  for (std::size_t bytes = options.bytes_min; bytes <= options.bytes_max; bytes *= 2) {
    work.count = std::max<std::size_t>(1, bytes / work.element_bytes);
    count->add(run_one(options, group, work));
    if (!has_data(work.collective)) return;
  }
}

}  // namespace

int check_basic(const Options& options, const Group& group) {
  int wrong = 0;
  for (const auto collective : options.collectives) {
    Work work{.collective = collective,
              .dtype = options.dtype,
              .element_bytes = width(options.dtype),
              .root = root_of(options, group)};
    Count count;
    sizes(options, group, work, &count);
    say(group, "basic", collective, count);
    wrong += count.wrong;
  }
  return wrong;
}

int check_complex(const Options& options, const Group& group) {
  int wrong = 0;
  for (const auto collective : options.collectives) {
    if (!reduces(collective)) continue;
    Count count;
    for (unsigned dtype = 0; dtype < kDtypeCount; ++dtype) {
      for (unsigned op = 0; op < kOpCount; ++op) {
        for (unsigned tag = 0; tag <= kDtypeCount; ++tag) {
          Work work{.collective = collective,
                    .dtype = static_cast<Dtype>(dtype),
                    .tag = static_cast<Dtype>(tag),
                    .op = static_cast<Op>(op),
                    .root = root_of(options, group)};
          if (!is_pair(work.op) && work.tag != Dtype::null) continue;
          work.element_bytes = element_bytes(work.dtype, work.op, work.tag);
          if (work.element_bytes != 0) sizes(options, group, work, &count);
        }
      }
    }
    say(group, "complex", collective, count);
    wrong += count.wrong;
  }
  return wrong;
}

}  // namespace sumac::mpi_test
