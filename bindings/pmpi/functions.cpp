#include "bindings/pmpi/functions.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace sumac::pmpi {

Functions mpi, behind;
Optional optional;
bool functions_found = false, any_behind = false;

namespace {

void* mpi_library = RTLD_NEXT;  ///< The handle through which dlsym() finds the MPI's symbols.

/// Returns the address at which the object that holds `address` is mapped.
void* object_of(const void* address) {
  Dl_info info{};
  return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_ours(const void* address) {
  static void* const ours = object_of(reinterpret_cast<const void*>(&object_of));
  return object_of(address) == ours;
}

/// Looks in one loaded object and what it needs; returns the handle if MPI is there.
void* mpi_in(const char* name) {
  void* handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const void* found = ::dlsym(handle, "PMPI_Comm_split");
  if (found != nullptr && !is_ours(found)) return handle;  // Kept open: the MPI must stay.
  ::dlclose(handle);
  return nullptr;
}

/// Python loads its MPI for itself alone: it is in the reach of the module that called us.
void* mpi_of(const void* caller) {
  Dl_info info{};
  if (::dladdr(caller, &info) != 0 && info.dli_fname != nullptr)
    if (void* handle = mpi_in(info.dli_fname)) return handle;
  void* handle = nullptr;
  ::dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* found) {
        *static_cast<void**>(found) = mpi_in(each->dlpi_name);
        return *static_cast<void**>(found) != nullptr ? 1 : 0;
      },
      &handle);
  return handle;
}

void* symbol(const char* name) {
  void* address = ::dlsym(mpi_library, name);
  return is_ours(address) ? nullptr : address;
}

template <class Function>
void take(Function& own, const char* name) {
  own = reinterpret_cast<Function>(symbol(name));
}

/// A profiling library's MPI_X is in another object than the MPI's PMPI_X.
template <class Function>
void take_behind(Function& theirs, const char* name, Function own) {
  void* address = ::dlsym(RTLD_NEXT, name);
  if (address == nullptr || is_ours(address)) return;
  if (object_of(address) == object_of(reinterpret_cast<const void*>(own))) return;
  theirs = reinterpret_cast<Function>(address);
  any_behind = true;
}

struct Abi {
  const char *mpi_is, *library;
};
constexpr Abi kOpenMpi{"is Open MPI", "libsumac_mpi_openmpi.so"}, kMpich{"has MPICH's ABI", "libsumac_mpi_mpich.so"},
    kStandard{"has MPI's standard ABI", "libsumac_mpi_abi.so"};

bool is_loaded(const char* name) {
  void* handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

/// The three ABIs share the functions' names, and two of them the library's. Open MPI alone has variables for its
/// handles; a library of the standard ABI has a file name of its own. Returns the user's remedy if the program's MPI has
/// another ABI than this library.
std::string check_abi() {
#if defined(OPEN_MPI)
  constexpr const Abi& kOurs = kOpenMpi;
#elif defined(MPI_ABI_VERSION)
  constexpr const Abi& kOurs = kStandard;
#else
  constexpr const Abi& kOurs = kMpich;
#endif
  Dl_info info{};
  const bool named = ::dladdr(symbol("PMPI_Comm_split"), &info) != 0 && info.dli_fname != nullptr;
  const Abi& theirs = symbol("ompi_mpi_comm_world") != nullptr                        ? kOpenMpi
                      : named && std::strstr(info.dli_fname, "libmpi_abi") != nullptr ? kStandard
                                                                                      : kMpich;
  if (&theirs == &kOurs) return {};
  if (is_loaded(theirs.library))
    return fmt::format("the program's MPI {}, and {} is loaded for it: take {} out of LD_PRELOAD", theirs.mpi_is,
                       theirs.library, kOurs.library);
  return fmt::format("the program's MPI {}: LD_PRELOAD {} instead of {}", theirs.mpi_is, theirs.library, kOurs.library);
}

void fill() {
#define SUMAC_PMPI_TAKE(name) take(mpi.name, "PMPI_" #name);
  SUMAC_PMPI_INTERPOSED(SUMAC_PMPI_TAKE)
  SUMAC_PMPI_CALLED(SUMAC_PMPI_TAKE)
#undef SUMAC_PMPI_TAKE
  take(optional.Comm_revoke, "PMPIX_Comm_revoke");
  take(optional.Comm_is_revoked, "PMPIX_Comm_is_revoked");
  take(optional.Request_get_status_all, "PMPI_Request_get_status_all");
  take(optional.Request_get_status_any, "PMPI_Request_get_status_any");
  take(optional.Request_get_status_some, "PMPI_Request_get_status_some");
#if defined(OPEN_MPI)
#define SUMAC_PMPI_TAKE(X, Name, name, coll, S) \
  if (mpi.Name##_init == nullptr) take(mpi.Name##_init, "PMPIX_" #Name "_init");
  SUMAC_EACH_COLLECTIVE(SUMAC_PMPI_TAKE, )
  SUMAC_EACH_LEFT(SUMAC_PMPI_TAKE, )
#undef SUMAC_PMPI_TAKE
#endif
#define SUMAC_PMPI_TAKE(name) take_behind(behind.name, "MPI_" #name, mpi.name);
  SUMAC_PMPI_INTERPOSED(SUMAC_PMPI_TAKE)
#undef SUMAC_PMPI_TAKE
}

void find_mpi(const void* caller) {
  if (symbol("PMPI_Comm_split") == nullptr) mpi_library = mpi_of(caller);
  if (mpi_library == nullptr) {
    std::fprintf(stderr,
                 "sumac: a function of MPI was called, but no MPI library is loaded: link the program with its MPI's "
                 "shared library\n");
    std::abort();
  }
  // Handles of one ABI do not even pass through functions of another: they have another size.
  if (const auto why = check_abi(); !why.empty()) {
    std::fprintf(stderr, "sumac: %s\n", why.c_str());
    std::exit(1);
  }
  fill();
  functions_found = true;
}

}  // namespace

void find_functions(const void* caller) {
  static std::once_flag once;
  std::call_once(once, find_mpi, caller);
}

/// A program may hold the variable itself, as a copy that the loader made: it comes before the MPI's.
void* mpi_variable(const char* name) noexcept {
  void* address = ::dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : symbol(name);
}

}  // namespace sumac::pmpi
