#pragma once
// What a test tells the library that stands in for CUDA's (fake_cuda.cpp). Looked up with dlsym().
#include <cstddef>

struct FakeCudaCounts {
  int pinned = 0, streams = 0, events = 0;        ///< Alive.
  int to_host = 0, to_device = 0, not_ready = 0;  ///< So far.
};

extern "C" {
void* fake_cuda_malloc(std::size_t bytes);  ///< Device memory; to touch it is deadly.
void fake_cuda_free(void* device);
void* fake_cuda_view(void* device);  ///< The same memory as the host may touch it; for a whole block.
/// The call of that name after `after` more succeeds no more, once ("cuMemcpyDtoHAsync"): out of memory.
void fake_cuda_fail(const char* function, int after);
FakeCudaCounts fake_cuda_counts();
}
