#include "bindings/ucc/refuse.hpp"

namespace sumac::ucc {

ucc_status_t status_of(Errc code) noexcept {
  switch (code) {
    case Errc::ok: return UCC_OK;
    case Errc::invalid: return UCC_ERR_INVALID_PARAM;
    case Errc::unsupported: return UCC_ERR_NOT_SUPPORTED;
    case Errc::not_found: return UCC_ERR_NOT_FOUND;
    case Errc::timeout: return UCC_ERR_TIMED_OUT;
    case Errc::no_memory: return UCC_ERR_NO_MEMORY;
    case Errc::exhausted: return UCC_ERR_NO_RESOURCE;
    default: return UCC_ERR_NO_MESSAGE;
  }
}

ucc_status_t refuse(ucc_status_t status, const std::string& line) {
  sumac_say_failure(("ucc: " + line).c_str());
  return status;
}

}  // namespace sumac::ucc

extern "C" {

const char* ucc_status_string(ucc_status_t status) {
  switch (status) {
    case UCC_OK: return "Success";
    case UCC_INPROGRESS: return "Operation in progress";
    case UCC_OPERATION_INITIALIZED: return "Operation initialized";
    case UCC_ERR_NOT_SUPPORTED: return "Operation is not supported";
    case UCC_ERR_NOT_IMPLEMENTED: return "Operation is not implemented";
    case UCC_ERR_INVALID_PARAM: return "Invalid parameter";
    case UCC_ERR_NO_MEMORY: return "Out of memory";
    case UCC_ERR_NO_RESOURCE: return "No resources are available";
    case UCC_ERR_NO_MESSAGE: return "The team is broken";
    case UCC_ERR_NOT_FOUND: return "Not found";
    case UCC_ERR_TIMED_OUT: return "Timed out";
    case UCC_ERR_IO_ERROR: return "Input or output failed";
    default: return "Unknown status";
  }
}

void ucc_get_version(unsigned* major_version, unsigned* minor_version, unsigned* release_number) {
  *major_version = UCC_API_MAJOR;
  *minor_version = UCC_API_MINOR;
  *release_number = 0;
}

const char* ucc_get_version_string() { return UCC_VERSION_STRING; }

}  // extern "C"
