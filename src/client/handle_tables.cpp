#include "client/handle_tables.hpp"

namespace sumac::client {
namespace {

struct Tables {
  ContextTable contexts;
  CommTable comms;
};
Tables* all_tables = nullptr;

/// The tables live as long as the library, because some callers finalize in exit handlers, when static objects are gone
/// already.
Tables& tables() {
  static Tables* const made = all_tables = new Tables;
  return *made;
}
[[gnu::destructor]] void free_tables() { delete all_tables; }

}  // namespace

ContextTable& contexts() { return tables().contexts; }
CommTable& comms() { return tables().comms; }

Comm* comm_of(const sharp_coll_comm* handle) noexcept { return comms().find(handle); }

Context* context_of(const sharp_coll_context* handle) noexcept {
  Context* context = contexts().find(handle);
  return context != nullptr && context->is_mine() ? context : nullptr;
}

sharp_coll_comm* give_handle(std::unique_ptr<Comm> comm) {
  sharp_coll_comm* handle = comms().put(comm.get());
  if (handle != nullptr) static_cast<void>(comm.release());
  return handle;
}

std::unique_ptr<Comm> take_back(const sharp_coll_comm* handle) {
  std::unique_ptr<Comm> comm(comms().find(handle));
  comms().remove(handle);
  return comm;
}

}  // namespace sumac::client
