#pragma once
// A library handle.
#include <memory>

#include "bindings/ucc/refuse.hpp"
#include "rank/register.hpp"
#include "rank/start.h"

struct ucc_lib_info {
  unsigned api_minor = UCC_API_MINOR;  ///< The headers that the program was compiled with have it.
  ucc_thread_mode_t thread_mode = UCC_THREAD_SINGLE;
  ucc_coll_sync_type_t sync_type = UCC_NO_SYNC_COLLECTIVES;
  std::string prefix;  ///< Its variables begin with it: "OMPI".
};

namespace sumac::ucc {

using rank::Register;

/// Null, and a line, if there is none.
std::shared_ptr<ucc_lib_info> find(ucc_lib_h handle);

/// The variables of this process; null, and a line, if one is wrong or SUMAC_ENABLE=0.
const sumac_process* process();

}  // namespace sumac::ucc
