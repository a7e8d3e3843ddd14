#pragma once
// A status of the interface, and the one line that says more than it.
#pragma GCC visibility push(default)
#include <ucc/api/ucc.h>
#pragma GCC visibility pop

#include <string>

#include "base/result.hpp"
#include "rank/guarded.hpp"
#include "rank/say.h"

namespace sumac::ucc {

ucc_status_t status_of(Errc code) noexcept;

/// Prints the line, each different one once in a process: a program may repeat a refused call for ever.
ucc_status_t refuse(ucc_status_t status, const std::string& line);

/// A program may read a status while another thread sets it.
inline void set_status(ucc_coll_req_t& request, ucc_status_t status) noexcept {
  __atomic_store_n(&request.status, status, __ATOMIC_RELEASE);
}
inline ucc_status_t get_status(const ucc_coll_req_t& request) noexcept {
  return __atomic_load_n(&request.status, __ATOMIC_ACQUIRE);
}

template <class Use>
ucc_status_t guarded(Use use) noexcept {
  return rank::guarded<ucc_status_t>(use, UCC_ERR_NO_MEMORY, UCC_ERR_NO_RESOURCE);
}

}  // namespace sumac::ucc
