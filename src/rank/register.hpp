#pragma once
// The registers of a C library's handles: a handle that was destroyed is told from one that lives.
#include <memory>
#include <mutex>
#include <unordered_map>

namespace sumac::rank {

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

}  // namespace sumac::rank
