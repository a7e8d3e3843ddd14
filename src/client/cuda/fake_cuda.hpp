#pragma once
// The interface by which a test controls the library that stands in for CUDA's (fake_cuda.cpp); found with dlsym().
#include <cstddef>

struct FakeCudaCounts {
  int pinned = 0, streams = 0, events = 0;        ///< Alive now.
  int to_host = 0, to_device = 0, not_ready = 0;  ///< So far.
};

extern "C" {
void* fake_cuda_malloc(std::size_t bytes);  ///< Device memory; the host dies if it touches it.
void fake_cuda_free(void* device);
void* fake_cuda_view(void* device);  ///< The same memory as the host may touch it; for a whole block.
/// Makes a call of that function ("cuMemcpyDtoHAsync") fail once with out of memory, after `after` more calls have
/// succeeded.
void fake_cuda_fail(const char* function, int after);
FakeCudaCounts fake_cuda_counts();
}
