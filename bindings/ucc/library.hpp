#pragma once
// A library handle, and the registers of handles: a handle that was destroyed is told from one that lives.
#include <memory>
#include <mutex>
#include <unordered_map>

#include "bindings/ucc/refuse.hpp"
#include "rank/start.h"

struct ucc_lib_info {
  unsigned api_minor = UCC_API_MINOR;  ///< The headers that the program was compiled with have it.
  ucc_thread_mode_t thread_mode = UCC_THREAD_SINGLE;
  ucc_coll_sync_type_t sync_type = UCC_NO_SYNC_COLLECTIVES;
  std::string prefix;  ///< Its variables begin with it: "OMPI".
};

namespace sumac::ucc {

/// Objects by their handles. What is found stays while the caller keeps it.
template <class Object>
class Register {
 public:
  Object* add(std::shared_ptr<Object> object) {
    const std::lock_guard guard(lock_);
    Object* const handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<Object> find(const Object* handle) {
    const std::lock_guard guard(lock_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> take(const Object* handle) {
    const std::lock_guard guard(lock_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  /// Never freed: threads may outlive main().
  static Register& own() {
    static Register& object = *new Register;
    return object;
  }

 private:
  std::mutex lock_;
  std::unordered_map<const Object*, std::shared_ptr<Object>> objects_;
};

/// Null, and a line, if there is none.
std::shared_ptr<ucc_lib_info> find(ucc_lib_h handle);

/// The variables of this process; null, and a line, if one is wrong or SUMAC_ENABLE=0.
const sumac_process* process();

}  // namespace sumac::ucc
