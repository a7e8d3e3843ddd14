#include "bindings/pmpi/errors.hpp"

#include <cctype>
#include <cstdlib>

#include "bindings/pmpi/communicator.hpp"
#include "rank/error_codes.hpp"
#include "rank/say.h"

namespace sumac::pmpi {

namespace {
/// Returns what MPI_Error_string would. MPICH 4.0 has another text for codes that a program adds to a class of MPI's own.
std::string words_of(int code) {
  if (const char* ours = sumac_error_words(code); ours != nullptr) return ours;
  char words[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  (void)mpi.Error_string(code, words, &length);
  return words;
}

[[noreturn]] void end_processes(MPI_Comm doomed, MPI_Comm comm, int code, const std::string& function,
                                const char* handler) {
  SUMAC_SAY("an error occurred in %s on communicator %s: %s; %s ends the job", function.c_str(), name_of(comm).c_str(),
            words_of(code).c_str(), handler);
  (void)mpi.Abort(doomed, code);
  std::abort();
}

}  // namespace

std::string function_of(int coll, sumac_form form) {
  char name[40];
  sumac_profile_name(coll, form, name);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return std::string("MPI_") + name;
}

int raise(MPI_Comm comm, int code, const std::string& function) {
  MPI_Errhandler handler{};
  if (mpi.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) handler = MPI_ERRORS_ARE_FATAL;
  if (handler == MPI_ERRORS_ARE_FATAL) end_processes(MPI_COMM_WORLD, comm, code, function, "MPI_ERRORS_ARE_FATAL");
#if defined(MPI_ERRORS_ABORT)
  if (handler == MPI_ERRORS_ABORT) end_processes(comm, comm, code, function, "MPI_ERRORS_ABORT");
#endif
  (void)mpi.Comm_call_errhandler(comm, code);
  if (handler != MPI_ERRORS_RETURN) (void)mpi.Errhandler_free(&handler);
  return code;
}

}  // namespace sumac::pmpi
