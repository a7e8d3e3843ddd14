#include "client/status.hpp"

#include <sharp/api/sharp_coll.h>

namespace sumac::client {

// The texts of -4, -8, -11 and -18 are those that users find in the logs of the hardware stack.
const char* status_text(int status) noexcept {
  switch (status) {
    case SHARP_COLL_SUCCESS: return "Success";
    case SHARP_COLL_ERROR: return "SHArP error";
    case SHARP_COLL_ENOT_SUPP: return "Operation not supported";
    case SHARP_COLL_ENOMEM: return "Out of memory";
    case SHARP_COLL_EGROUP_ALLOC: return "SHArP Group alloc error";
    case SHARP_COLL_ECONN_TREE: return "Cannot connect to SHArP tree";
    case SHARP_COLL_EGROUP_JOIN: return "SHArP Group join error";
    case SHARP_COLL_EQUOTA: return "SHArP quota error";
    case SHARP_COLL_ESESS_INIT: return "Cannot connect to SHArPD";
    case SHARP_COLL_EDEV: return "Network device error";
    case SHARP_COLL_EINVAL: return "Invalid argument";
    case SHARP_COLL_EJOB_CREATE: return "Cannot create SHARP job";
    case SHARP_COLL_ETREE_INFO: return "SHArP tree information not usable";
    case SHARP_COLL_ENOTREE: return "No SHArP tree available";
    case SHARP_COLL_EGROUP_ID: return "Wrong SHArP group id";
    case SHARP_COLL_EOOB: return "Out-of-band function failed";
    case SHARP_COLL_EGROUP_MCAST: return "SHArP Group multicast error";
    case SHARP_COLL_EGROUP_TRIM: return "SHArP Group trim error";
    case SHARP_COLL_ELOCK_FAILED: return "Streaming Tree lock failed";
    case SHARP_COLL_ELOCK_DENIED: return "Streaming Tree lock denied";
    case SHARP_COLL_ENO_RESOURCE: return "Resource not available";
    default: return "Unknown error";
  }
}

}  // namespace sumac::client
