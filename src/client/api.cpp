// The C interface: checks arguments, turns exceptions into codes and handles into objects; all other work is done
// elsewhere.
#ifndef SUMAC_CLIENT_INSIDE  // A binding that contains this file exports none of it.
#pragma GCC visibility push(default)
#endif
#include <sharp/api/sharp_coll.h>
#include <sharp/api/sumac_ext.h>
#ifndef SUMAC_CLIENT_INSIDE
#pragma GCC visibility pop
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/c_text.hpp"
#include "client/comm.hpp"
#include "client/context.hpp"
#include "client/handle_tables.hpp"
#include "client/memory_registry.hpp"
#include "client/options.hpp"
#include "client/reduction.hpp"
#include "client/tree/pays.hpp"

// Only for callers: a program may define a symbol of this name itself, and then this library would see the program's.
const struct sharp_coll_config sharp_coll_default_config = {"", 128, -1, 0, {0, 0, 0}};

namespace {

using namespace sumac;
using namespace sumac::client;

/// The log of messages that have no context.
Logger& process_log() {
  static Logger log(Logger::Form::library, log_level_from_environment());
  return log;
}

/// No exception leaves the library.
template <class F>
int guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return SHARP_COLL_ENOMEM;
  } catch (const std::exception& unexpected) {
    SUMAC_ERROR(process_log(), "unexpected: {}", unexpected.what());
    return SHARP_COLL_ERROR;
  }
}

/// Reports a handle that is not alive, mostly one used after destroy. NULL is not worth a line: callers know that they
/// did not make it.
int stranger(const void* handle, const char* what) {
  if (handle != nullptr) SUMAC_ERROR(process_log(), "{}: destroyed before, or never made: {}", what, handle);
  return SHARP_COLL_EINVAL;
}

/// Runs `body` for a context or an object that belongs to it; a child of fork() does not inherit either.
template <class F>
int within_context(Context& context, F&& body) {
  if (!context.is_mine()) {
    SUMAC_ERROR(process_log(), "a child of fork() can't use its parent's context; make one with sharp_coll_init");
    return SHARP_COLL_ERROR;
  }
  return static_cast<int>(body(context));
}

template <class F>
int with_context(sharp_coll_context* handle, F&& body) noexcept {
  return guarded([&] {
    Context* context = contexts().find(handle);
    return context == nullptr ? stranger(handle, "context") : within_context(*context, body);
  });
}

template <class F>
int with_comm(sharp_coll_comm* handle, F&& body) noexcept {
  return guarded([&] {
    Comm* comm = comms().find(handle);
    if (comm == nullptr) return stranger(handle, "communicator");
    return within_context(comm->context(), [&](Context& context) { return body(context, *comm); });
  });
}

int misused(const char* function) {
  SUMAC_ERROR(process_log(), "{}: this request was freed before, or never made", function);
  return SHARP_COLL_EINVAL;
}

/// Runs `body` for a living request, without the lock.
template <class F>
int with_request(const char* function, void* handle, F&& body) noexcept {
  Request* request = request_table().find(handle);
  Context* context = request == nullptr ? nullptr : request->context;
  if (context == nullptr) return guarded([&] { return misused(function); });
  return guarded([&] {
    return within_context(*context, [&](Context& alive) {
      {
        auto guard = alive.lock();
        if (request->state == Request::State::free || request->dropped) return misused(function);
      }
      return static_cast<int>(body(alive, *request));
    });
  });
}

/// Logs a refused call of the user's. "Not supported" is the answer to a client's question, so it is no error.
int refused(const Context& context, const Failure& why) {
  if (why.status == SHARP_COLL_ENOT_SUPP || why.status == SHARP_COLL_ENO_RESOURCE)
    SUMAC_DEBUG(context.log(), "{}", why.text);
  else if (why.status != SHARP_COLL_ERROR)
    SUMAC_ERROR(context.log(), "{}", why.text);
  return why.status;
}

/// Refuses a call at this member. If the other members may be waiting for it, they learn of the refusal.
tl::unexpected<Failure> refuse(Comm& comm, const Failure& why) {
  if (why.is_alike || comm.refuse()) return tl::unexpected(why);
  return failure(SHARP_COLL_ENO_RESOURCE, "{} operations are outstanding: complete some first", proto::kOperationsMax);
}

/// Waits, then frees the request.
int wait_and_free(Context& context, Request& request) {
  context.wait_until([&] { return request.state != Request::State::pending; });
  auto guard = context.lock();
  const int status = request.status;
  context.drop_request(request);
  return status;
}

/// `post` returns a request (it is called with the lock held).
template <class Post>
int blocking(Context& context, Comm& comm, Post&& post) {
  for (;;) {
    Outcome<Request*> posted;
    bool is_full = false;
    {
      auto guard = context.lock();
      posted = post();
      // Asked while the lock is held, because other threads complete operations as well.
      is_full = !posted && posted.error().status == SHARP_COLL_ENO_RESOURCE && !comm.has_room();
    }
    if (posted) return wait_and_free(context, **posted);
    if (!is_full) return refused(context, posted.error());
    context.wait_until([&] { return comm.has_room(); });  // The user's nonblocking operations use all slots.
  }
}

template <class Post>
int nonblocking(Context& context, Comm& comm, void** handle, Post&& post) {
  auto guard = context.lock();
  if (handle == nullptr)
    return refused(context, refuse(comm, Failure{SHARP_COLL_EINVAL, "there is no place for the handle"}).value());
  *handle = nullptr;  // Callers test and free the handle that a failed post left behind.
  Outcome<Request*> posted = post();
  if (!posted) return refused(context, posted.error());
  *handle = (*posted)->handle();
  return SHARP_COLL_SUCCESS;
}

/// `read` makes an operation from the caller's spec.
template <class Spec>
using Reader = Outcome<Reduction> (*)(const Spec&, const Ways&);

template <class Spec>
Outcome<Request*> post(Context& context, Comm& comm, const Spec* spec, Reader<Spec> read) {
  if (spec == nullptr) return refuse(comm, Failure{SHARP_COLL_EINVAL, "the spec is NULL"});
  const auto& shape = comm.shape();
  const Ways ways{.can_stream = shape.stream_window > 0,
                  .stream_threshold = context.job().settings.sat_threshold,
                  .rank = comm.rank(),
                  .size = comm.size(),
                  .payload_per_ost = shape.payload_per_ost,
                  .groups = comm.groups(),
                  .enable_cuda = context.config().enable_cuda};
  try {
    auto operation = read(*spec, ways);
    if (!operation) return refuse(comm, operation.error());
    if (operation->staging && operation->staging->cuda)  // The first copies begin.
      if (auto begun = operation->staging->cuda->advance(); !begun) return refuse(comm, begun.error());
    return comm.post(*std::move(operation));
  } catch (const std::bad_alloc&) {
    return refuse(comm, Failure{SHARP_COLL_ENOMEM, "out of memory for the copy of an operation's buffers"});
  }
}

template <class Spec>
int do_blocking(sharp_coll_comm* comm, const Spec* spec, Reader<Spec> read) noexcept {
  return with_comm(comm, [&](Context& context, Comm& group) {
    return blocking(context, group, [&] { return post(context, group, spec, read); });
  });
}

template <class Spec>
int do_nonblocking(sharp_coll_comm* comm, const Spec* spec, void** handle, Reader<Spec> read) noexcept {
  return with_comm(comm, [&](Context& context, Comm& group) {
    return nonblocking(context, group, handle, [&] { return post(context, group, spec, read); });
  });
}

void put_text(const std::shared_ptr<const std::string>& from, char* text, std::size_t text_bytes) {
  if (text != nullptr) copy_text(from ? std::string_view(*from) : std::string_view(), text, text_bytes);
}

/// Returns 1 complete, 0 pending, negative failed; also makes progress. An invalid handle counts as complete, so that
/// no caller waits for it.
int request_state(const char* function, void* handle, char* text, std::size_t text_bytes) noexcept {
  Request* request = request_table().find(handle);
  Context* context = request == nullptr ? nullptr : request->context;
  if (context == nullptr) {
    guarded([&] { return misused(function); });
    return 1;
  }
  return guarded([&] {
    return within_context(*context, [&](Context& alive) -> int {
      const auto is_pending = [&] {
        auto guard = alive.lock();
        return request->state == Request::State::pending;
      };
      if (is_pending()) alive.look();
      auto guard = alive.lock();
      switch (request->state) {
        case Request::State::pending:
          if (!request->dropped) return 0;
          break;
        case Request::State::complete: return 1;
        case Request::State::failed: put_text(request->why, text, text_bytes); return request->status;
        case Request::State::free: break;
      }
      misused(function);
      return 1;
    });
  });
}

/// Structures of the extensions begin with their size in the caller's view: fill no more than that.
template <class T, class F>
int fill_sized(T* to, F&& fill) {
  if (to == nullptr || to->struct_bytes < sizeof(std::size_t)) return SHARP_COLL_EINVAL;
  T full{};
  full.struct_bytes = to->struct_bytes;
  fill(full);
  std::memcpy(to, &full, std::min(sizeof(T), full.struct_bytes));
  return SHARP_COLL_SUCCESS;
}

std::uint64_t word_of(const sharp_coll_context* handle) { return reinterpret_cast<std::uint64_t>(handle); }

}  // namespace

extern "C" {

int sharp_coll_init(struct sharp_coll_init_spec* spec, struct sharp_coll_context** ctx) {
  return guarded([&]() -> int {
    process_log().set_level(log_level_from_environment());
    if (spec == nullptr || ctx == nullptr) return SHARP_COLL_EINVAL;
    if (spec->world_size < 1 || spec->world_rank < 0 || spec->world_rank >= spec->world_size) return SHARP_COLL_EINVAL;
    if (spec->world_size > 1 && (spec->oob_colls.bcast == nullptr || spec->oob_colls.gather == nullptr))
      return SHARP_COLL_EINVAL;
    if (spec->job_id == 0) {
      SUMAC_ERROR(process_log(), "sharp_coll_init: job_id is 0: give each job a number of its own");
      return SHARP_COLL_EINVAL;
    }
    auto context = Context::make(*spec);
    if (!context) return context.error().status;
    *ctx = contexts().put(context->get());
    if (*ctx == nullptr) return SHARP_COLL_ENO_RESOURCE;
    static_cast<void>(context->release());
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_finalize(struct sharp_coll_context* ctx) {
  return with_context(ctx, [&](Context& context) {
    comms().remove_if([&](Comm& comm) { return &comm.context() == &context; });
    contexts().remove(ctx);
    deregister_all(word_of(ctx));
    context.finalize();
    delete &context;
    cuda::trim();
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_caps_query(struct sharp_coll_context* ctx, struct sharp_coll_caps* caps) {
  return with_context(ctx, [&](Context& context) {
    if (caps == nullptr) return SHARP_COLL_EINVAL;
    const Job& job = context.job();
    *caps = {};
    caps->sharp_pkt_version = 1;
    for (unsigned type = 0; type < kDtypeCount; ++type) {
      caps->support_mask.dtypes |= std::uint64_t{1} << type;
      if (is_integer(static_cast<Dtype>(type))) caps->support_mask.tag_dtypes |= std::uint64_t{1} << type;
    }
    caps->support_mask.reduce_ops = (std::uint64_t{1} << kOpCount) - 1;
    caps->support_mask.feature_mask = SHARP_FEATURE_LLT;
    if (job.settings.enable_sat && job.granted.quota.stream_window > 0) {
      caps->support_mask.feature_mask |= SHARP_FEATURE_SAT;
      if (job.settings.lock_batch != 0) caps->support_mask.feature_mask |= SHARP_FEATURE_SAT_EXCLUSIVE_LOCK;
    }
    if (job.reproducible()) caps->support_mask.feature_mask |= SHARP_FEATURE_REPRODUCIBLE;
    caps->resources.max_osts = static_cast<int>(job.granted.quota.osts);
    caps->resources.user_data_per_ost = static_cast<int>(job.granted.quota.payload_per_ost);
    caps->resources.max_groups = static_cast<int>(job.granted.quota.max_groups);
    caps->resources.max_group_channels = static_cast<int>(job.granted.quota.max_group_channels);
    caps->resources.osts_per_group = static_cast<int>(job.group_osts());
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_progress(struct sharp_coll_context* ctx) {
  return with_context(ctx, [](Context& context) {
    context.look();
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_comm_init(struct sharp_coll_context* ctx, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** comm) {
  return with_context(ctx, [&](Context& context) -> int {
    if (spec == nullptr || comm == nullptr || spec->size < 1 || spec->rank < 0 || spec->rank >= spec->size)
      return SHARP_COLL_EINVAL;
    if (spec->size > 1 && !context.has_oob()) return SHARP_COLL_EINVAL;
    auto made = Comm::make(context, *spec, context.oob_colls());
    if (made) {
      *comm = give_handle(std::move(*made));
      return *comm == nullptr ? SHARP_COLL_ENO_RESOURCE : SHARP_COLL_SUCCESS;
    }
    tell_of_no_group(context, spec->rank == 0 || made.error().status == SHARP_COLL_EOOB, made.error());
    return made.error().status;
  });
}

int sharp_coll_comm_destroy(struct sharp_coll_comm* comm) {
  return with_comm(comm, [&](Context&, Comm& dying) {
    comms().remove(comm);
    return destroy(std::unique_ptr<Comm>(&dying)) ? SHARP_COLL_SUCCESS : SHARP_COLL_ERROR;
  });
}

int sharp_coll_do_barrier(struct sharp_coll_comm* comm) {
  return with_comm(comm, [](Context& context, Comm& group) {
    return blocking(context, group, [&] { return group.post_barrier(); });
  });
}

int sharp_coll_do_barrier_nb(struct sharp_coll_comm* comm, void** handle) {
  return with_comm(comm, [&](Context& context, Comm& group) {
    return nonblocking(context, group, handle, [&] { return group.post_barrier(); });
  });
}

int sharp_coll_do_allreduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec) {
  return do_blocking<sharp_coll_reduce_spec>(comm, spec, read_allreduce);
}
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle) {
  return do_nonblocking<sharp_coll_reduce_spec>(comm, spec, handle, read_allreduce);
}

int sharp_coll_do_reduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec) {
  return do_blocking<sharp_coll_reduce_spec>(comm, spec, read_reduce);
}
int sharp_coll_do_reduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle) {
  return do_nonblocking<sharp_coll_reduce_spec>(comm, spec, handle, read_reduce);
}

int sharp_coll_do_reduce_scatter(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec) {
  return do_blocking<sharp_coll_reduce_spec>(comm, spec, read_reduce_scatter);
}
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle) {
  return do_nonblocking<sharp_coll_reduce_spec>(comm, spec, handle, read_reduce_scatter);
}

int sharp_coll_do_allgather(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec) {
  return do_blocking<sharp_coll_gather_spec>(comm, spec, read_allgather);
}
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec, void** handle) {
  return do_nonblocking<sharp_coll_gather_spec>(comm, spec, handle, read_allgather);
}

int sharp_coll_do_bcast(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec) {
  return do_blocking<sharp_coll_bcast_spec>(comm, spec, read_bcast);
}
int sharp_coll_do_bcast_nb(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec, void** handle) {
  return do_nonblocking<sharp_coll_bcast_spec>(comm, spec, handle, read_bcast);
}

int sharp_coll_req_test(void* handle) {
  if (handle == nullptr) return 1;
  const int state = request_state("sharp_coll_req_test", handle, nullptr, 0);
  // A failed operation must not look complete (its caller would use the buffer), and this call has no value for
  // "failed".
  return state == 1 ? 1 : 0;
}

int sharp_coll_req_wait(void* handle) {
  if (handle == nullptr) return SHARP_COLL_SUCCESS;
  return with_request("sharp_coll_req_wait", handle,
                      [](Context& context, Request& request) { return wait_and_free(context, request); });
}

int sharp_coll_req_free(void* handle) {
  if (handle == nullptr) return SHARP_COLL_SUCCESS;
  return with_request("sharp_coll_req_free", handle, [](Context& context, Request& request) {
    auto guard = context.lock();
    context.drop_request(request);
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_reg_mr(struct sharp_coll_context* ctx, void* buf, size_t size, void** mr) {
  if (mr == nullptr || (buf == nullptr && size > 0)) return SHARP_COLL_EINVAL;
  if (contexts().find(ctx) == nullptr) return guarded([&] { return stranger(ctx, "context"); });
  // Finds out the kind of the memory now, because an allgather later has only this handle.
  *mr = register_memory(word_of(ctx), cuda::is_device(buf) ? MemoryKind::cuda : MemoryKind::host);
  return *mr != nullptr ? SHARP_COLL_SUCCESS : SHARP_COLL_ENO_RESOURCE;
}

int sharp_coll_reg_mr_v2(struct sharp_coll_context* ctx, void* buf, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr) {
  // The NCCL plugin passes a GPU's memory by descriptor and address, and the address is enough to stage it. For other
  // memory behind a descriptor we do not know how the host can reach it.
  const bool has_fd =
      params != nullptr && (params->field_mask & SHARP_COLL_REG_FIELD_DMABUF_FD) != 0 && params->dmabuf_fd >= 0;
  if (has_fd && !cuda::is_device(buf)) return SHARP_COLL_ENOT_SUPP;
  return sharp_coll_reg_mr(ctx, buf, size, mr);
}

// Memory hooks call this, so it logs nothing and takes no lock, whatever the arguments.
int sharp_coll_dereg_mr(struct sharp_coll_context* ctx, void* mr) {
  if (contexts().find(ctx) == nullptr) return SHARP_COLL_EINVAL;
  return mr == nullptr || deregister_memory(word_of(ctx), mr) ? SHARP_COLL_SUCCESS : SHARP_COLL_EINVAL;
}

// exec_name is never read: older callers pass two arguments, and then the third is the register's old content.
int sharp_coll_print_config(FILE* stream, enum config_print_flags flags, const char*) {
  return guarded([&]() -> int {
    if (stream == nullptr) return SHARP_COLL_EINVAL;
    const auto config = load_client_config();
    if (!config) {
      SUMAC_ERROR(process_log(), "{}", config.error().context);
      return SHARP_COLL_EINVAL;
    }
    if ((flags & SHARP_COLL_CONFIG_PRINT_HEADER) != 0) std::fputs("#\n# SHARP_COLL configuration\n#\n", stream);
    if ((flags & (SHARP_COLL_CONFIG_PRINT_CONFIG | SHARP_COLL_CONFIG_PRINT_DOC)) != 0) {
      const DumpStyle style{
          .doc = (flags & SHARP_COLL_CONFIG_PRINT_DOC) != 0,
          .hidden = (flags & SHARP_COLL_CONFIG_PRINT_HIDDEN) != 0 || config->defaults == Defaults::of_2018};
      std::fputs(dump<ClientConfig>(client_options(), *config, style).c_str(), stream);
    }
    return std::fflush(stream) == 0 ? SHARP_COLL_SUCCESS : SHARP_COLL_ERROR;
  });
}

const char* sharp_coll_strerror(int error) { return status_text(error); }

int sharp_coll_dump_stats(struct sharp_coll_context* ctx) {
  return with_context(ctx, [](Context& context) {
    auto guard = context.lock();
    context.log().write(LogLevel::info, __FILE__, __LINE__, "",
                        fmt::format("statistics of rank {}: {}", context.world_rank(), context.stats_text()));
    return SHARP_COLL_SUCCESS;
  });
}

int sharp_coll_log_early_init(void) {
  return guarded([] {
    process_log().set_level(log_level_from_environment());
    return SHARP_COLL_SUCCESS;
  });
}

int sumac_req_status(void* handle, char* text, size_t text_bytes) {
  put_text(nullptr, text, text_bytes);
  return handle == nullptr ? 1 : request_state("sumac_req_status", handle, text, text_bytes);
}

int sumac_req_sleep(void* handle, int us) {
  return guarded([&] {
    Request* request = request_table().find(handle);
    Context* context = request == nullptr ? nullptr : request->context;
    if (context == nullptr) return 1;
    return within_context(*context, [&](Context& alive) -> int {
      return alive.sleep(std::array{static_cast<const Request*>(request)}, Micros{std::max(us, 0)}) ? 1 : 0;
    });
  });
}

int sumac_comm_error(struct sharp_coll_comm* comm, char* text, size_t text_bytes) {
  put_text(nullptr, text, text_bytes);
  return with_comm(comm, [&](Context& context, Comm& group) {
    auto guard = context.lock();
    const auto& end = group.end();
    put_text(end, text, text_bytes);
    return end ? SHARP_COLL_ERROR : SHARP_COLL_SUCCESS;
  });
}

int sumac_coll_wait_fd(struct sharp_coll_context* ctx) {
  return with_context(ctx, [](Context& context) { return context.wake_fd(); });
}

int sumac_coll_arm(struct sharp_coll_context* ctx) {
  return with_context(ctx, [](Context& context) {
    auto guard = context.lock();
    return context.arm();
  });
}

int sumac_coll_enable_threads(struct sharp_coll_context* ctx) {
  return with_context(ctx, [](Context& context) { return context.enable_threads(); });
}

int sumac_coll_set_bell(struct sharp_coll_context* ctx, int event_fd) {
  return with_context(ctx, [event_fd](Context& context) -> int {
    auto guard = context.lock();
    context.set_bell(event_fd);
    return SHARP_COLL_SUCCESS;
  });
}

int sumac_comm_leave_nb(struct sharp_coll_comm* comm, void** handle) {
  if (handle == nullptr) return SHARP_COLL_EINVAL;
  *handle = nullptr;
  return with_comm(comm, [&](Context& context, Comm& group) {
    auto guard = context.lock();
    if (group.is_leaving() || group.outstanding() > 0) return SHARP_COLL_EINVAL;
    Request* request = context.take_request();
    if (request == nullptr) return SHARP_COLL_ENO_RESOURCE;
    request->comm = &group;
    request->is_leave = true;
    *handle = request->handle();
    group.leave(request);
    return SHARP_COLL_SUCCESS;
  });
}

int sumac_comm_query_info(struct sharp_coll_comm* comm, struct sumac_comm_info* info) {
  return with_comm(comm, [&](Context& context, Comm& group) {
    auto guard = context.lock();
    return fill_sized(info, [&](struct sumac_comm_info& full) { group.fill(full); });
  });
}

int sumac_comm_explain(struct sharp_coll_comm* comm, char* text, size_t text_bytes) {
  put_text(nullptr, text, text_bytes);
  return with_comm(comm, [&](Context& context, Comm& group) {
    put_text(std::make_shared<const std::string>(cost::explain(ways_of(context.job(), group.size()))), text,
             text_bytes);
    return SHARP_COLL_SUCCESS;
  });
}

int sumac_coll_query_stats(struct sharp_coll_context* ctx, struct sumac_coll_stats* stats) {
  return with_context(ctx, [&](Context& context) {
    auto guard = context.lock();
    return fill_sized(stats, [&](struct sumac_coll_stats& full) { context.fill(full); });
  });
}

}  // extern "C"
