#pragma once
// The common part of the tests of CUDA buffers: the library that stands in for the driver, as a rank loads it, and the
// numbers that are added up.
#include <dlfcn.h>

#include "client/cuda/fake_cuda.hpp"
#include "client/world/test_world.hpp"

namespace sumac::client::test {

inline constexpr const char* kFakeCuda = SUMAC_BINARY_DIR "/tests/fake-cuda/libcuda.so.1";

template <class F>
void take_symbol(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr) std::fprintf(stderr, "no %s\n", name);
  RANK_CHECK(function != nullptr);
}

/// In a rank: loads the stand-in under the name of the real library.
struct Fake {
  Fake() {
    void* library = ::dlopen(kFakeCuda, RTLD_NOW);
    if (library == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
    RANK_CHECK(library != nullptr);
    const auto take = [&](auto& function, const char* name) { take_symbol(library, function, name); };
    take(malloc, "fake_cuda_malloc");
    take(free, "fake_cuda_free");
    take(view, "fake_cuda_view");
    take(fail, "fake_cuda_fail");
    take(counts, "fake_cuda_counts");
  }
  /// Checks that every resource of the driver was given back.
  void check_all_given_back() const {
    const auto left = counts();
    RANK_CHECK(left.pinned == 0 && left.streams == 0 && left.events == 0);
  }
  decltype(&fake_cuda_malloc) malloc;
  decltype(&fake_cuda_free) free;
  decltype(&fake_cuda_view) view;
  decltype(&fake_cuda_fail) fail;
  decltype(&fake_cuda_counts) counts;
};

inline std::int32_t value(int rank, std::size_t i) { return static_cast<std::int32_t>(i * 13 + 7) * (rank + 1); }
inline std::int32_t sum(int size, std::size_t i) {
  std::int32_t all = 0;
  for (int rank = 0; rank < size; ++rank) all += value(rank, i);
  return all;
}

}  // namespace sumac::client::test
