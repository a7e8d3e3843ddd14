// A C++ program with its own operator new and delete: a header before each block, as arena and debugging allocators have. It ends
// with a sentence if anybody frees here what was not taken here; what is taken here and freed by another one ends in free().
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kHeader = 64;
constexpr std::uint64_t kOurs = 0x616c6c6f6361746f;

void* take(std::size_t bytes) {
  char* block = static_cast<char*>(std::malloc(bytes + kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::uint64_t*>(block) = kOurs;
  return block + kHeader;
}

void give(void* at) {
  if (at == nullptr) return;
  char* block = static_cast<char*>(at) - kHeader;
  if (*reinterpret_cast<std::uint64_t*>(block) != kOurs) {
    std::fputs("allocator: freed here, and taken elsewhere\n", stderr);
    std::abort();
  }
  *reinterpret_cast<std::uint64_t*>(block) = 0;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void operator delete(void* at) noexcept { give(at); }
void operator delete(void* at, std::size_t) noexcept { give(at); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string name = "a name that is too long for the string itself, " + std::to_string(rank);
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm{};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, name.c_str());
    std::vector<int> values(1000, rank + round), sums(values.size());
    MPI_Allreduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_INT, MPI_SUM, comm);
    MPI_Request request{};
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (sums[i] != ranks * (ranks - 1) / 2 + ranks * round || values[i] != sums[i]) ++wrong;
    MPI_Comm_free(&comm);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf(wrong == 0 ? "allocator: right on %d ranks\n" : "allocator: wrong on %d ranks\n", ranks);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
