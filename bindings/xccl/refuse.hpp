#pragma once
// A status of the interface, and the one line that says more than it.
#pragma GCC visibility push(default)
#include <api/xccl.h>
#include <ucc/api/ucc.h>
#pragma GCC visibility pop

#include <memory>
#include <string>

#include "rank/guarded.hpp"
#include "rank/register.hpp"
#include "rank/say.h"

namespace sumac::xccl {

using rank::Register;

xccl_status_t status_of(ucc_status_t status) noexcept;
ucc_status_t status_of(xccl_status_t status) noexcept;

/// Prints the line, each different one once in a process: a program may repeat a refused call for ever.
inline xccl_status_t refuse(xccl_status_t status, const std::string& line) {
  sumac_say_failure(("xccl: " + line).c_str());
  return status;
}

template <class Use>
xccl_status_t guarded(Use use) noexcept {
  return rank::guarded<xccl_status_t>(use, XCCL_ERR_NO_MEMORY, XCCL_ERR_NO_RESOURCE);
}

/// Null, and a line, if the program's handle is none, or none any more.
template <class Object>
std::shared_ptr<Object> find(const Object* handle, const char* kind) {
  auto found = Register<Object>::own().find(handle);
  if (!found)
    (void)refuse(XCCL_ERR_INVALID_PARAM, std::string("a handle of a ") + kind + " that is none, or has ended");
  return found;
}

}  // namespace sumac::xccl
