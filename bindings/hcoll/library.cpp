// Its begin and its end.
#include "bindings/hcoll/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/host_name.hpp"
#include "bindings/hcoll/context.hpp"
#include "client/fork_guard.hpp"
#include "rank/served.h"

#pragma GCC visibility push(default)
rte_comm_fns_t hcoll_rte_functions = {};
rte_ec_handle_t rte_ec_any_source = {-1, nullptr};
/// It may be called before the begin and after the end.
int (*hcoll_progress_fn)() = &sumac::hcoll::progress;
#pragma GCC visibility pop

namespace sumac::hcoll {

Library& library() noexcept {
  static Library own;
  return own;
}

void drive(void*) noexcept {
  if (library().may_drive.load(std::memory_order_relaxed)) hcoll_rte_functions.rte_progress_fn();
}

const sumac_runtime& runtime() noexcept {
  static const sumac_runtime own = [] {
    const sumac_process& process = *sumac_process_own();
    sumac_runtime made{};
    made.next = "MPI";
    made.settings = &process.settings;
    made.options = &process.options;
    made.name = [](const sumac_record* record, char name[SUMAC_NAME_BYTES]) {
      std::snprintf(name, SUMAC_NAME_BYTES, "%s", static_cast<const Team*>(record)->name.c_str());
    };
    made.threads = library().has_threads;
    made.asked = hcoll_is_asked_for() != 0;
    made.drive = &drive;
    return made;
  }();
  return own;
}

int check_process(const char* function) noexcept {
  const bool is_initialized = library().is_initialized;
  if (is_initialized && client::same_process(library().mark)) return HCOLL_SUCCESS;
  return guarded([&] {
    const std::string name = function;
    return is_initialized ? refuse(HCOLL_ERR_NOT_AVAILABLE, name + ": a forked process can't use its parent's contexts")
                          : refuse(HCOLL_ERR_NOT_INITIALIZED, name + ": call hcoll_init_with_opts() before");
  });
}

const char* why_off() noexcept {
  if (sumac_process_own()->settings.enable == 0) return "SUMAC_ENABLE=0";
  const char* const by = sumac_served_by();
  return by == nullptr ? "" : by;
}

namespace {

/// Null, or a function that the client has not given.
const char* missing_function(const rte_comm_fns_t& given) noexcept {
  if (given.send_fn == nullptr) return "send_fn";
  if (given.recv_fn == nullptr) return "recv_fn";
  if (given.test_fn == nullptr) return "test_fn";
  if (given.get_ec_handles_fn == nullptr) return "get_ec_handles_fn";
  if (given.rte_group_size_fn == nullptr) return "rte_group_size_fn";
  if (given.rte_my_rank_fn == nullptr) return "rte_my_rank_fn";
  if (given.rte_progress_fn == nullptr) return "rte_progress_fn";
  return nullptr;
}

/// Its table of types has the fault; 5.0 has not.
bool is_open_mpi_4() {
  auto* const get_version = reinterpret_cast<int (*)(char*, int*)>(::dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
  char text[8192] = "";  // At least MPI_MAX_LIBRARY_VERSION_STRING of any MPI.
  int length = 0;
  return get_version != nullptr && get_version(text, &length) == 0 && std::strstr(text, "Open MPI v4.") != nullptr;
}

int wait_for_message(rte_request_handle_t* request) {
  int is_done = 0;
  int status = HCOLL_SUCCESS;
  while ((status = hcoll_rte_functions.test_fn(request, &is_done)) == HCOLL_SUCCESS && is_done == 0)
    hcoll_rte_functions.rte_progress_fn();
  return status;
}

/// Tags that hcoll_init() takes.
hcoll_init_opts_t default_options{100, 10000, 0, 0};

int initialize(const hcoll_init_opts_t& options) {
  Library& own = library();
  if (own.mark != 0 && !client::same_process(own.mark))
    forget_contexts();
  else if (own.is_initialized)
    return HCOLL_SUCCESS;
  if (const char* missing = missing_function(hcoll_rte_functions))
    return refuse(HCOLL_ERR_BAD_PARAM, std::string("hcoll_init_with_opts: hcoll_rte_functions has no ") + missing);
  if (options.base_tag > 0 && options.max_tag < options.base_tag)
    return refuse(HCOLL_ERR_BAD_PARAM, "hcoll_init_with_opts: max_tag is below base_tag, so there is no tag");
  hcoll_rte_functions.rte_wait_completion_fn = &wait_for_message;
  own.tag = static_cast<std::uint32_t>(options.base_tag);
  own.has_threads = options.enable_thread_support != 0;
  own.mistakes_long = is_open_mpi_4();
  own.mark = client::process_mark();
  sumac_say_as(host_name().c_str(), 0);
  (void)sumac_process_own();  // Its mistakes are told now.
  offer_collectives(options.base_tag);
  own.may_drive = true;
  own.is_initialized = true;
  return HCOLL_SUCCESS;
}

}  // namespace
}  // namespace sumac::hcoll

using sumac::hcoll::guarded;
using sumac::hcoll::refuse;

extern "C" {

const char* hcoll_get_version() { return HCOLL_VERNO_STRING; }

int hcoll_read_init_opts(hcoll_init_opts_t** opts) {
  if (opts == nullptr) return HCOLL_ERR_BAD_PARAM;
  *opts = new (std::nothrow) hcoll_init_opts_t(sumac::hcoll::default_options);
  return *opts == nullptr ? HCOLL_ERR_OUT_OF_RESOURCE : HCOLL_SUCCESS;
}

void hcoll_free_init_opts(hcoll_init_opts_t* opts) { delete opts; }

int hcoll_init_with_opts(hcoll_init_opts_t** opts) {
  if (opts == nullptr || *opts == nullptr) return HCOLL_ERR_BAD_PARAM;
  (*opts)->mem_hook_needed = 0;
  return guarded([&] { return sumac::hcoll::initialize(**opts); });
}

int hcoll_init() {
  return guarded([] { return sumac::hcoll::initialize(sumac::hcoll::default_options); });
}

int hcoll_set_runtime_tag_offset(int base_tag, int max_tag) {
  sumac::hcoll::default_options.base_tag = base_tag;
  sumac::hcoll::default_options.max_tag = max_tag;
  return HCOLL_SUCCESS;
}

/// The client's objects may be gone in part: none of its functions is called.
int hcoll_finalize() {
  auto& own = sumac::hcoll::library();
  if (!own.is_initialized) return refuse(HCOLL_ERR_NOT_INITIALIZED, "hcoll_finalize: it is not initialized");
  own.may_drive = false;
  own.is_initialized = false;
  if (!sumac::client::same_process(own.mark)) return HCOLL_SUCCESS;
  return guarded([] {
    if (const int open = sumac::hcoll::posted.exchange(0); open > 0)
      (void)refuse(HCOLL_ERROR, fmt::format("hcoll_finalize: {} operations are under way, and never complete", open));
    sumac::hcoll::end_contexts(true);
    return HCOLL_SUCCESS;
  });
}

// ---- what this library does not need of a client ----

int hcoll_check_mem_release_cb_needed() { return 0; }
void hcoll_mem_unmap(void*, size_t, void*, int) {}
int hcoll_rte_p2p_disabled_notify() { return HCOLL_SUCCESS; }

}  // extern "C"
