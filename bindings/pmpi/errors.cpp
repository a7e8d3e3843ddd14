#include "bindings/pmpi/errors.hpp"

#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>

#include "bindings/pmpi/communicator.hpp"
#include "rank/failure.h"
#include "rank/say.h"

namespace sumac::pmpi {

namespace {
/// Codes live until MPI_Finalize, so a program that goes on failing for ever new reasons finally gets MPI_ERR_OTHER.
constexpr std::size_t kReasonsMax = 32;

std::mutex lock;
std::map<std::string, int> codes;

/// Returns what MPI_Error_string would. MPICH 4.0 has another text for codes that a program adds to a class of MPI's own.
std::string words_of(int code) {
  {
    const std::lock_guard guard(lock);
    for (const auto& [words, known] : codes)
      if (known == code) return words;
  }
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

int error_code(const std::string& words) {
  const std::string text = words.substr(0, MPI_MAX_ERROR_STRING - 1);
  const std::lock_guard guard(lock);
  if (const auto known = codes.find(text); known != codes.end()) return known->second;
  int code = MPI_ERR_OTHER;
  if (codes.size() == kReasonsMax || mpi.Add_error_code(MPI_ERR_OTHER, &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
  (void)mpi.Add_error_string(code, text.c_str());
  codes.emplace(text, code);
  return code;
}

int failed(Lane& lane, int coll, int status) {
  if (status == SUMAC_TEAM_NO_MEMORY) return MPI_ERR_NO_MEM;
  Communicator& communicator = *lane.owner;
  return error_code(sumac_team_failure(lane.team, static_cast<sumac_coll>(coll), communicator.rank,
                                       name_of(communicator).c_str(), &communicator.is_broken));
}

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
