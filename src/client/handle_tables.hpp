#pragma once
// The tables of the contexts and communicators that callers of the C interface hold by handles.
#include <sharp/api/sharp_coll.h>

#include <memory>

#include "client/comm.hpp"
#include "client/context.hpp"
#include "client/handles.hpp"

namespace sumac::client {

using ContextTable = HandleTable<Context, sharp_coll_context, HandleKind::context>;
using CommTable = HandleTable<Comm, sharp_coll_comm, HandleKind::comm>;

ContextTable& contexts();
CommTable& comms();

/// Finds the communicator behind a handle of the C interface. Null: no living communicator has this handle.
Comm* comm_of(const sharp_coll_comm* handle) noexcept;
/// Does the same for a context; null also for that of a parent process.
Context* context_of(const sharp_coll_context* handle) noexcept;
/// Gives the communicator a handle of the C interface. Null, and it is gone, if there are too many.
sharp_coll_comm* give_handle(std::unique_ptr<Comm> comm);
/// Takes the handle back. Null: no living communicator has it.
std::unique_ptr<Comm> take_back(const sharp_coll_comm* handle);

}  // namespace sumac::client
