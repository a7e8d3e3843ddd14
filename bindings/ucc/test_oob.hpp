#pragma once
// An allgather among processes, by memory that they share: the OOB of programs that have nothing else, tests and benches.
#include <ucc/api/ucc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sumac::ucc::test {

struct SharedOob {
  static constexpr std::size_t kBytes = 1 << 18;
  static constexpr int kRanks = 8;
  std::atomic<std::uint64_t> begun[kRanks];
  char bytes[2][kRanks][kBytes];  ///< A rank begins the use after the next only when all have taken this one's.
};

/// One rank's end of it. It stays where it is as long as the context or team that was made with params().
struct OobMember {
  SharedOob* shared;
  int rank, size;
  std::uint64_t uses = 0;
  void* out = nullptr;
  std::size_t bytes = 0;

  ucc_oob_coll_t params() {
    return {&begin, &test, &free, this, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(rank)};
  }

 private:
  static ucc_status_t begin(void* in, void* out, std::size_t bytes, void* self, void** request) {
    auto& me = *static_cast<OobMember*>(self);
    if (bytes > SharedOob::kBytes) return UCC_ERR_NO_RESOURCE;
    std::memcpy(me.shared->bytes[me.uses % 2][me.rank], in, bytes);
    me.shared->begun[me.rank].store(++me.uses, std::memory_order_release);
    me.out = out;
    me.bytes = bytes;
    *request = self;
    return UCC_OK;
  }
  static ucc_status_t test(void* self) {
    const auto& me = *static_cast<OobMember*>(self);
    for (int rank = 0; rank < me.size; ++rank)
      if (me.shared->begun[rank].load(std::memory_order_acquire) < me.uses) return UCC_INPROGRESS;
    for (int rank = 0; rank < me.size; ++rank)
      std::memcpy(static_cast<char*>(me.out) + static_cast<std::size_t>(rank) * me.bytes,
                  me.shared->bytes[(me.uses - 1) % 2][rank], me.bytes);
    return UCC_OK;
  }
  static ucc_status_t free(void*) { return UCC_OK; }
};

}  // namespace sumac::ucc::test
