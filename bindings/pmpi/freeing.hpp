#pragma once
// The program's own callbacks may use an object of the MPI while it is being freed.

namespace sumac::pmpi {

/// Lives around the call of the MPI that frees a communicator or a type. The program's callbacks may use the object there after its
/// record has gone, and the MPI would tell nobody when a new one ends: then the new one ends with this object.
template <class Handle, class Record>
class Freeing {
 public:
  explicit Freeing(Handle handle) : handle_(handle), outer_(innermost) { innermost = this; }
  ~Freeing() {
    innermost = outer_;
    if (made_again != nullptr) forget(handle_, *made_again);
  }
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;

  /// Returns null if this thread is not freeing the object.
  static Freeing* of(Handle handle) {
    Freeing* found = innermost;
    while (found != nullptr && found->handle_ != handle) found = found->outer_;
    return found;
  }

  Record* made_again = nullptr;

 private:
  inline static thread_local Freeing* innermost = nullptr;
  Handle handle_;
  Freeing* outer_;  ///< A callback may free another object.
};

}  // namespace sumac::pmpi
